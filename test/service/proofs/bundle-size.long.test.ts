/** Maker and verifier of bundles have one bound: what a verifier would not read is refused before it is made. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { parseTrust } from '../../../src/core/note/trust.ts';
import { verifyBundle } from '../../../src/core/proof/verify.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

/** A disclosed text takes 4/3 of its bytes, as base64url. */
const text = 'x'.repeat(240_000);
const textsOver = Math.ceil(limits.bundleBytes / ((text.length * 4) / 3));

async function add(runId: string, count: number): Promise<void> {
  for (let from = 0; from < count; from += 50) {
    const events = Array.from({ length: Math.min(50, count - from) }, () =>
      event({ runId, metadata: { text } }),
    );
    const { body } = await plane.call('POST', '/events/batch', { body: { events } });
    const { results } = body as { results: { status: string }[] };
    expect(results.every(({ status }) => status === 'accepted')).toBe(true);
  }
}

describe('the bundle of a large run', () => {
  it('the bundle of a large run is made up to the limit, and refused beyond it with an alternative', async () => {
    const keys = (await plane.call('GET', '/log/key')).text.trim().split('\n');
    const trust = parseTrust(`${keys.map((key) => `log ${key}\n`).join('')}quorum none\n`);
    const bundleOf = async (runId: string, events: string) => {
      const { body } = await plane.call('POST', '/proofs', { body: { runId } });
      return plane.call('GET', `/proofs/${body.proofId}/bundle?events=${events}`);
    };
    await add('large', textsOver - 10);
    const made = await bundleOf('large', 'disclosed');
    expect(made.status).toBe(200);
    const bytes = Buffer.from(made.text);
    expect(bytes.length).toBeGreaterThan(limits.bundleBytes * 0.9);
    expect(verifyBundle(bytes, trust)).toMatchObject({ verified: true, code: null });

    await add('large', 12);
    const refused = await bundleOf('large', 'disclosed');
    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({
      code: 'VALIDATION_ERROR',
      limit: limits.bundleBytes,
      detail: expect.stringContaining('events=records'),
    });
    const records = await bundleOf('large', 'records');
    expect(verifyBundle(Buffer.from(records.text), trust)).toMatchObject({ verified: true });
  }, 300_000);
});
