/** The bundle of a run whose graph is stored in several parts: nodes and edges are sent in parts, too. */
import { expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { parseTrust } from '../../../src/core/note/trust.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import { event, startPlane } from '../../support/serving.ts';
import { endOf } from '../support/filled.ts';

it('the bundle of a run with a large graph is sent in parts and verified', { timeout: 300_000 }, async () => {
  const plane = await startPlane();
  try {
    const keys = (await plane.call('GET', '/log/key')).text.trim().split('\n');
    const trust = parseTrust(`${keys.map((key) => `log ${key}\n`).join('')}quorum none\n`);
    const count = 2 * limits.graphPartItems + 500;
    for (let from = 0; from < count; from += 500) {
      const events = Array.from({ length: 500 }, (_, at) =>
        event({ runId: 'graph', actor: { name: `agent ${(from + at) % 700}` }, metadata: { at: from + at } }),
      );
      await plane.call('POST', '/events/batch', { body: { events } });
    }
    const { body } = await plane.call('POST', '/proofs', { body: { runId: 'graph', async: true } });
    const job = await endOf(plane.call, body.jobId);
    expect(job.status).toBe('completed');
    const answer = await plane.call('GET', `/proofs/${job.result.proofId}/bundle?events=disclosed`);
    expect(answer.body.graph.nodes.length).toBeGreaterThan(2 * limits.graphPartItems);
    expect(answer.body.graph.edges.length).toBeGreaterThan(4 * limits.graphPartItems);
    const verdict = verifyBundle(answer.bytes, trust);
    expect(verdict).toMatchObject({
      verified: true,
      layers: [{ basis: 'recomputed' }, { basis: 'recomputed' }, { basis: 'attested' }],
    });
    expect(verdict.checks.find(({ id }) => id === 'graph_derivation')?.result).toBe('passed');
  } finally {
    await plane.end();
  }
});
