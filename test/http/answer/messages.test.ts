import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

const fault = async (path: string): Promise<string> =>
  (await plane.call('GET', path)).body.errors[0].detail as string;

describe('what a problem says', () => {
  it('a problem about a limit says the expected and the actual value', async () => {
    expect(await fault('/runs?limit=-1')).toBe('expected an integer ≥ 1, got -1');
    expect(await fault('/runs?limit=0')).toBe('expected an integer ≥ 1, got 0');
    expect(await fault('/runs?limit=1e1')).toBe('expected an integer ≥ 1, got "1e1"');
  });

  it('a problem about an offset whose plus sign arrived as a space says how to write it', async () => {
    expect(await fault('/events?runId=a&startTime=2026-01-01T00:00:00+01:00')).toContain('%2B');
    expect(await fault('/events?runId=a&startTime=yesterday')).not.toContain('%2B');
    const { status } = await plane.call('GET', '/events?runId=a&startTime=2026-01-01T00:00:00%2B01:00');
    expect(status).toBe(200);
  });

  it('a problem about a body that is too large says the limit, and the size when it was declared', async () => {
    const raw = Buffer.alloc(limits.bodyBytes + 1, 0x20);
    const { body } = await plane.call('POST', '/events', { raw });
    expect([body.code, body.limit]).toEqual(['PAYLOAD_TOO_LARGE', limits.bodyBytes]);
    expect(body.detail).toContain(`at most ${limits.bodyBytes} bytes, got ${limits.bodyBytes + 1}`);
  });

  it('a problem about a time too far ahead says the latest valid time and the actual one', async () => {
    const timestamp = new Date(Date.now() + 3 * 24 * 3600 * 1000).toISOString();
    const { body } = await plane.call('POST', '/events', { body: event({ timestamp }) });
    expect(body.errors[0].detail).toContain(`got ${timestamp}`);
    expect(body.errors[0].detail).toMatch(/^expected \d{4}-\d\d-\d\dT\S+Z at the latest/);
  });

  it('a problem about an id is the same for a malformed, a too long and an unknown one', async () => {
    const unknown: Record<string, string> = {
      '/events/': 'evt_01jzzzzzzzzzzzzzzzzzzzzzzz',
      '/proofs/': 'prf_01jzzzzzzzzzzzzzzzzzzzzzzz',
      '/jobs/': 'job_01jzzzzzzzzzzzzzzzzzzzzzzz',
      '/graphs/': 'nobody',
    };
    for (const [path, id] of Object.entries(unknown)) {
      const details = new Set<string>();
      for (const each of [id, '-x', 'x'.repeat(300)]) {
        const { status, body } = await plane.call('GET', path + each);
        expect(status).toBe(404);
        details.add(body.detail as string);
      }
      expect([...details]).toEqual([`no ${path.slice(1, -2)} of this project has this id`]);
    }
  });
});
