/** Stories of a run that the layer `policy_compliance` judges. */
import type { EvaluatedCall } from '../../../src/core/decided/evaluation.ts';
import {
  type DecidedLeaf,
  type EvaluatedLeaf,
  PolicyCompliance,
  type UseLeaf,
} from '../../../src/core/proofs/compliance.ts';
import { Approvers } from '../../../src/core/approvals/signature.ts';
import type { LayerResult } from '../../../src/core/proofs/statement.ts';

export const set = { policySetHash: `sha256:${'a'.repeat(64)}`, policyIndex: 3 };
export const decisions = { n: 1, root: `sha256:${'b'.repeat(64)}` };
export const untold = { actor: null, tool: null, argumentsHash: null };
export const search = { actor: null, tool: 'search', argumentsHash: 'sha256:00' };
export const approval = { id: 'apr_1', requestedBy: 'key_1', expiresAt: '2026-01-02T00:00:00.000Z' };
export const evaluated = (members: Partial<EvaluatedLeaf> = {}): EvaluatedLeaf => ({
  index: 10,
  id: 'pev_1',
  ...set,
  combined: 'allow',
  approval,
  decisions,
  inForce: set,
  recomputes: true,
  whole: true,
  call: search,
  expiresMs: Infinity,
  ...members,
});

export interface Story {
  readonly evaluations?: readonly Partial<EvaluatedLeaf>[];
  readonly approvals?: readonly (readonly [
    index: number,
    evaluationId: string,
    outcome?: 'approved' | 'denied',
    decided?: Partial<DecidedLeaf>,
  ])[];
  readonly uses?: readonly (readonly [index: number, evaluationId: string, use?: Partial<UseLeaf>])[];
  readonly calls?: readonly (readonly [
    index: number,
    evaluationId: string | null,
    active?: boolean,
    call?: EvaluatedCall,
    serverMs?: number,
  ])[];
}

export const noApprovers = { origin: 'log.example', runId: 'run-1', approvers: new Approvers() };

export function judge({ evaluations = [], approvals = [], uses = [], calls = [] }: Story): LayerResult {
  const compliance = new PolicyCompliance(noApprovers);
  for (const each of evaluations) compliance.evaluation(evaluated(each));
  for (const [index, evaluationId, outcome = 'approved', decided = {}] of approvals) {
    const at = '2026-01-01T23:59:59.999Z';
    compliance.approval({ index, evaluationId, outcome, id: 'apr_1', approver: 'key_2', at, ...decided });
  }
  for (const [index, evaluationId, use = {}] of uses) {
    compliance.use({ index, evaluationId, id: 'apr_1', at: '2026-01-01T12:00:00.000Z', ...use });
  }
  for (const [index, evaluationId, policyActive = true, call = search, serverMs = 0] of calls) {
    compliance.governed({ index, evaluationId, policyActive, call, serverMs });
  }
  return compliance.finish();
}
export const failed = (story: Story): string[] =>
  judge(story)
    .checks.filter(({ pass }) => !pass)
    .map(({ id }) => id);
