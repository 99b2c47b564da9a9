import { describe, expect, it } from 'vitest';
import { draftEvaluation } from '../../../src/core/decided/evaluation.ts';
import { draftErasure } from '../../../src/core/decided/erasure.ts';
import { draftPrune } from '../../../src/core/decided/prune.ts';
import { withdrawnResult } from '../../../src/core/replay/withdrawn.ts';
import { draftReplay } from '../../../src/core/decided/replay.ts';
import { draftRiskDecision } from '../../../src/core/decided/risk-decision.ts';
import { graphEnd, graphMiddle, graphStart } from '../../../src/core/exports/row.ts';
import { edgeRow } from '../../../src/core/graphs/rows.ts';
import { sha256Text } from '../../../src/core/hash.ts';
import { canonicalize, type Json } from '../../../src/core/json/parse.ts';
import { draftLeaf } from '../../../src/core/events/record.ts';
import { artifactOf, erasure, events, faults, verifyText, type Asked } from './log.ts';
import type { ProofLog } from '../proofs/log.ts';

describe('exports of other resources', () => {
  const decided = {
    id: 'rsk_1',
    runId: 'r',
    action: 'allow',
    score: 0.25,
    deterministicInputsHash: sha256Text('i'),
    configHash: sha256Text('c'),
    evaluatedAt: '2026-01-05T09:00:00.000Z',
    wouldBeAction: null,
    factors: [{ name: 'f', weight: 1, value: 0.25, contribution: 0.25 }],
    inputs: { signals: {} },
  } as const;
  const evaluated = {
    id: 'pev_1',
    runId: 'r',
    policySource: 'active',
    policyCount: 0,
    policyIds: null,
    policySetHash: sha256Text('p'),
    policyIndex: null,
    combined: 'allow',
    approval: null,
    evaluatedAt: '2026-01-05T09:00:00.000Z',
    decisions: [],
    shadow: [],
    checkpoint: { context: { a: 1 } },
    readSet: null,
  } as const;
  const result = '{"replayId":"rpl_1","steps":[]}';

  function filled(): { log: ProofLog; exports: Record<string, Asked> } {
    const log = events();
    log.append(draftRiskDecision(decided, log.salt));
    log.append(draftEvaluation(evaluated, log.salt));
    const replay = log.append(
      draftReplay(
        {
          replayId: 'rpl_1',
          runId: 'r',
          kind: 'decisions',
          treeSize: 4,
          steps: 0,
          replayed: 0,
          notReplayable: 0,
          mismatches: { n: 0, root: sha256Text('') },
          warnings: 0,
          driftCount: 0,
          at: '2026-01-05T09:00:00.000Z',
          snapshot: null,
          drift: null,
          result: sha256Text(result),
        },
        log.salt,
      ),
    );
    const bundle = log.prove('r');
    const proof = canonicalize(bundle.proof as unknown as Json);
    const graph = bundle.graph!;
    const edges = graph.edges.map(([source, target, type]) =>
      edgeRow({ source: graph.nodes[source]!.id, target: graph.nodes[target]!.id, type }),
    );
    const { rootHash } = JSON.parse(graph.leaf!.record) as { rootHash: string };
    const nodes = graph.nodes.map((node) => canonicalize({ ...node }));
    const row = graphStart({ runId: 'r', rootHash }) + nodes.join() + graphMiddle + edges.join() + graphEnd;
    return {
      log,
      exports: {
        risk_decisions: { resource: 'risk_decisions' },
        policy_evaluations: { resource: 'policy_evaluations' },
        replays: { resource: 'replays', stored: new Map([[replay, result]]) },
        compliance_proofs: {
          resource: 'compliance_proofs',
          stored: new Map([[bundle.proofLeaf.index, proof]]),
        },
        causal_graphs: { resource: 'causal_graphs', stored: new Map([[graph.leaf!.index, row]]) },
      },
    };
  }

  it.each(Object.keys(filled().exports))(
    'an export of %s is verified, and is not verified with a changed byte',
    { timeout: 120_000 },
    async (name) => {
      const { log, exports } = filled();
      const original = Buffer.from(artifactOf(log, exports[name]));
      const verdict = await verifyText(original);
      expect(faults(verdict)).toEqual([]);
      expect(verdict.manifest?.rowCount).toBe(1);
      const from = original.indexOf('\n') + 1;
      const to = original.indexOf('\n', from);
      const changed = Buffer.from(original);
      for (let at = from; at < to; at++) {
        changed[at] = original[at]! ^ (1 << (at % 8));
        if ((await verifyText(changed)).verified)
          expect(original.toString('utf8', at - 20, at + 20)).toBe('seen');
        changed[at] = original[at]!;
      }
    },
  );

  it('a leaf without committed values has null disclosures in an export, not an empty list', async () => {
    const { log, exports } = filled();
    const original = artifactOf(log, exports['compliance_proofs']);
    expect(original).toContain('"disclosures":null}');
    const verdict = await verifyText(original.replace('"disclosures":null}', '"disclosures":[]}'));
    expect(verdict.code).toBe('ROW_MISMATCH');
  });

  const replayed = {
    replayId: 'rpl_2',
    runId: 'r',
    kind: 'decisions',
    treeSize: 4,
    steps: 2,
    replayed: 0,
    notReplayable: 1,
    mismatches: { n: 0, root: sha256Text('') },
    warnings: 0,
    driftCount: 0,
    at: '2026-01-05T09:00:00.000Z',
    snapshot: null,
    drift: null,
    result: sha256Text(result),
  } as const;
  const prune = {
    minIndex: 2,
    rootAtMinIndex: sha256Text('root'),
    archiveHash: sha256Text('archive'),
    archiveSize: 1,
    reasonCode: 'operator',
    prunedAt: '2026-01-05T09:00:00.000Z',
  };
  /** Events of run r stand at 1 and 5, one of run s at 3. */
  it.each([
    ['an erasure in the run', 'decisions', 1, 1, null, false],
    ['an erasure in another run', 'decisions', 3, 3, 'DISCLOSURE_MISSING', false],
    ['an erasure of which no leaf is enclosed', 'decisions', 1, null, 'DISCLOSURE_MISSING', false],
    ['an erasure of something else', 'decisions', 3, 1, 'DISCLOSURE_MISSING', false],
    ['an erasure in the run compared with', 'run', 3, 3, null, true],
    ['a pruning', 'decisions', null, null, null, true],
  ] as const)(
    'the verification of an export checks whether %s explains a withdrawn replay result',
    async (_name, kind, target, shown, code, told) => {
      const log = events();
      const replay = log.append(draftReplay({ ...replayed, kind }, log.salt));
      const leaf =
        target === null ? draftPrune(prune) : draftErasure(erasure([{ index: target, digests: ['x'] }]));
      const by = log.append(leaf);
      const asked = {
        resource: 'replays',
        stored: new Map([[replay, withdrawnResult({ ...replayed, kind }, by)]]),
        enclosed: { erasures: [by], withdrawn: shown === null ? [] : [shown] },
      } as const;
      const verdict = await verifyText(artifactOf(log, asked));
      expect([verdict.verified, verdict.code]).toEqual([code === null, code]);
      expect(verdict.notes.some((note) => note.startsWith('NOT PROVED WITHDRAWN'))).toBe(told);
      // nor by a leaf before it
      const before = { ...asked, stored: new Map([[replay, withdrawnResult({ ...replayed, kind }, 2)]]) };
      expect((await verifyText(artifactOf(log, before))).verified).toBe(false);
    },
  );

  it('an export of replays gets a verdict for any content of leaves and rows', async () => {
    const warning = withdrawnResult(replayed, 1);
    for (const row of [
      warning,
      `{"warnings":["${'steps showed values that leaf '}1"]}`,
      '{"a":steps showed values that leaf }',
    ]) {
      const log = events();
      const committed: [string, string][] = [['/result', sha256Text(row)]];
      const bare = { runId: 'r', id: 'rpl_3', committed, salt: log.salt };
      const replay = log.append(draftLeaf('gov.replay/1', { replayId: 'rpl_3' }, bare));
      const asked = { resource: 'replays', stored: new Map([[replay, row]]) } as const;
      const verdict = await verifyText(artifactOf(log, asked));
      expect(typeof verdict.verified).toBe('boolean');
    }
  });
});
