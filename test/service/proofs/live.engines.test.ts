/** Proofs and seals of a run that is written to all the time: nothing waits, and nothing is refused. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseTrust } from '../../../src/core/note/trust.ts';
import { readStatement } from '../../../src/core/proofs/statement.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

/** Evaluates tool calls of a run, two at a time, while `work` runs. Each of them is answered with 200. */
async function beside<Result>(runId: string, work: () => Promise<Result>): Promise<Result> {
  const over = new AbortController();
  const statuses = new Set<number>();
  const write = async (): Promise<void> => {
    for (let at = 0; !over.signal.aborted; at++) {
      const body = { runId, tool: { name: 'ledger.pay' }, arguments: { at } };
      statuses.add((await plane.call('POST', '/mcp/tools/evaluate', { body })).status);
    }
  };
  const writing = [1, 2].map(write);
  const result = await work().finally(() => over.abort());
  await Promise.all(writing);
  expect([...statuses]).toEqual([200]);
  return result;
}

const record = async (runId: string): Promise<void> => {
  const events = Array.from({ length: 20 }, (_, n) => event({ runId, metadata: { n } }));
  await plane.call('POST', '/events/batch', { body: { events } });
};

/** The verdicts of both verifiers on a proof, and what its layer says of its graph. */
async function judged(proofId: string) {
  const keys = (await plane.call('GET', '/log/key')).text.trim().split('\n');
  const trust = parseTrust(`${keys.map((key) => `log ${key}\n`).join('')}quorum none\n`);
  const answer = await plane.call('GET', `/proofs/${proofId}/bundle?events=disclosed`);
  const offline = verifyBundle(answer.bytes, trust);
  const online = (await plane.call('POST', '/proofs/verify', { body: { proofId } })).body;
  const { layerStatements, mediaType, graph } = answer.body;
  const statement = readStatement(layerStatements.causal_consistency)!;
  const { claims, evidence } = statement;
  const recomputed = offline.layers.find(({ name }) => name === 'causal_consistency')?.basis;
  const verdicts = { offline: offline.verified, online: online.verified, recomputed };
  return { verdicts, claims, evidence, mediaType, hasLeaf: graph.leaf !== undefined };
}

const version = (number: number): string => `application/vnd.gov.proof.v${number}+json`;
const verified = { offline: true, online: true, recomputed: 'recomputed' };

describe('a run that is written to', () => {
  it('every proof of it is made and verifies, with the graph of its events below S', async () => {
    await record('live');
    const proofs = await beside('live', async () => {
      const made = [];
      for (let at = 0; at < 6; at++) {
        made.push(await plane.call('POST', '/proofs', { body: { runId: 'live' } }));
      }
      return made;
    });
    expect(proofs.map(({ status }) => status)).toEqual(proofs.map(() => 201));
    const formats = new Set<string>();
    for (const { body } of proofs) {
      const { verdicts, claims, evidence, mediaType, hasLeaf } = await judged(body.proofId);
      expect(verdicts).toEqual(verified);
      expect(claims['events']).toBe(evidence.runEvents);
      formats.add(mediaType);
      if (mediaType !== version(3)) continue;
      expect([claims['graphIndex'], claims['through'], hasLeaf]).toEqual([null, evidence.treeSize, false]);
      break;
    }
    expect([...formats]).toContain(version(3));
  });

  it('a proof of it after the writing has the format of before', async () => {
    const { body } = await plane.call('POST', '/proofs', { body: { runId: 'live' } });
    const { verdicts, claims, mediaType, hasLeaf } = await judged(body.proofId);
    expect(verdicts).toEqual(verified);
    expect(claims['through']).toBeUndefined();
    expect([mediaType, hasLeaf]).toEqual([version(2), true]);
  });

  it('its graph is sealed at once, and later proofs are about the sealed graph', async () => {
    await record('sealed');
    const answers = await beside('sealed', async () => {
      const made = [];
      for (let at = 0; at < 4; at++) made.push(await plane.call('POST', '/graphs/sealed/commit'));
      made.push(await plane.call('POST', '/proofs', { body: { runId: 'sealed' } }));
      return made;
    });
    const proof = answers.pop()!;
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect([answers[0]?.status, proof.status]).toEqual([200, 201]);
    const { verdicts, claims } = await judged(proof.body.proofId);
    expect(verdicts).toEqual(verified);
    expect(claims['rootHash']).toBe(answers[0]?.body.rootHash);
  });

  it('an asynchronous proof of it completes', async () => {
    await record('async');
    const job = await beside('async', async () => {
      const body = { runId: 'async', async: true };
      const { jobId } = (await plane.call('POST', '/proofs', { body })).body;
      for (;;) {
        const { body: job } = await plane.call('GET', `/jobs/${jobId}`);
        if (job.status !== 'pending' && job.status !== 'processing') return job;
      }
    });
    expect([job.status, job.errorSummary]).toEqual(['completed', null]);
    expect((await judged(job.result.proofId)).verdicts).toEqual(verified);
  });
});
