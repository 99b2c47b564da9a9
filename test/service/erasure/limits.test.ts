/** Limits of erasure that need long names or many erasures: at n and n + 1. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { parseTrust } from '../../../src/core/note/checkpoint.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import { digestsOf, erasing } from '../../store/support/erasing.ts';
import { exportEnd } from '../support/filled.ts';

let service: TestService;
let tenant: Tenant;
let projectId = '';
beforeAll(async () => {
  service = await startService();
  tenant = await service.signUp('ada');
  ({ projectId } = (await call('GET', '/auth/identity')).body);
});
afterAll(() => service.end());
const call = (method: string, path: string, body?: unknown) =>
  tenant.call(method, path, body === undefined ? {} : { body });
const erase = (body: object) => call('POST', '/erasures', body);

describe('an erasure', () => {
  it('an erasure accepts a field with the longest pointer, which no event has', async () => {
    const { eventId } = (await call('POST', '/events', event())).body;
    const codes = async (chars: number) => {
      const answer = await erase({
        eventId,
        fields: [`/metadata/${'x'.repeat(chars - '/metadata/'.length)}`],
      });
      return [
        answer.status,
        answer.body.errors.map((each: Record<string, string>) => [each['pointer'], each['code']]),
      ];
    };
    expect(await codes(limits.erasurePointerChars)).toEqual([400, [['/fields/0', 'NOT_ALLOWED']]]);
    expect(await codes(limits.erasurePointerChars + 1)).toEqual([400, [['/fields/0', 'TOO_LONG']]]);
  });

  it('an erasure reads the longest request of another credential', async () => {
    const { eventId } = (await call('POST', '/events', event())).body;
    const asked = (chars: number) => erase({ eventId, dryRun: true, request: 'r'.repeat(chars) });
    expect((await asked(limits.erasureRequestChars)).status).toBe(200);
    const longer = await asked(limits.erasureRequestChars + 1);
    expect([longer.status, longer.body.errors]).toEqual([
      400,
      [expect.objectContaining({ pointer: '/request', code: 'TOO_LONG' })],
    ]);
  });
});

describe('events of a run that lost fields to many erasures', () => {
  const most = limits.bundleErasures;
  const runId = 'erased-often';
  let proofId = '';
  let indexes: number[] = [];
  /** Takes one field of the event at this place of the run, by an erasure of its own. */
  const eraseOne = async (at: number): Promise<void> => {
    const { store } = service.services;
    const leaf = (await store.leaf(projectId, indexes[at]!))!;
    const digest = digestsOf(leaf).get('/action')!;
    const erasure = erasing([{ index: leaf.index, digests: [digest] }], { projectId });
    expect((await store.append(erasure)).outcome).toBe('stored');
  };
  beforeAll(async () => {
    for (let from = 0; from <= most; from += limits.batchEvents) {
      const count = Math.min(limits.batchEvents, most + 1 - from);
      const events = Array.from({ length: count }, () => event({ runId }));
      expect((await call('POST', '/events/batch', { events })).status).toBeLessThan(300);
    }
    const { store } = service.services;
    const leaves = await store.runLeaves(projectId, runId, {
      fromSeq: 0,
      beforeIndex: 1e9,
      limit: most + 1,
      bodies: false,
    });
    indexes = leaves.map(({ index }) => index);
    expect(indexes).toHaveLength(most + 1);
    proofId = (await call('POST', '/proofs', { runId })).body.proofId;
    await Promise.all(Array.from({ length: most }, (_, at) => eraseOne(at)));
  });
  const bundle = () => call('GET', `/proofs/${proofId}/bundle?events=disclosed`);
  const exported = async () => {
    const body = { resource: 'audit_events', format: 'json', includeProof: true, filters: { runId } };
    return exportEnd(tenant.call, (await call('POST', '/exports', body)).body.exportId);
  };

  it(
    `a run with ${most} erasures is disclosed, and one with one more is not`,
    { timeout: 180_000 },
    async () => {
      const whole = await bundle();
      expect(whole.status).toBe(200);
      expect(whole.body.erasures.leaves).toHaveLength(most);
      const keys = (await call('GET', '/log/key')).text.trim().split('\n');
      const trust = parseTrust(`${keys.map((key) => `log ${key}\n`).join('')}quorum none\n`);
      const offline = (text: string) => verifyBundle(Buffer.from(text), trust);
      expect(offline(whole.text)).toMatchObject({ verified: true, digests: { erased: most, missing: 0 } });
      const { erasures } = whole.body;
      const leaves = [...erasures.leaves, erasures.leaves.at(-1)];
      const more = JSON.stringify({ ...whole.body, erasures: { ...erasures, leaves } });
      expect(offline(more).checks[0]).toMatchObject({
        code: 'MALFORMED_BUNDLE',
        detail: `bundle /erasures/leaves: expected at most ${most} items, got ${most + 1}`,
      });
      expect(await exported()).toMatchObject({ status: 'completed', rowCount: most + 1 });

      await eraseOne(most);
      const refused = await bundle();
      expect([refused.status, refused.body.detail]).toEqual([
        400,
        expect.stringContaining(`at most ${most} erasures to disclose, got ${most + 1}`),
      ]);
      expect((await call('GET', `/proofs/${proofId}/bundle?events=records`)).status).toBe(200);
      expect(await exported()).toMatchObject({
        status: 'failed',
        errorSummary: expect.stringContaining(`at most ${most} erasures`),
      });
    },
  );
});
