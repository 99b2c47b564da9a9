/**
 * Writes of approvals.
 * Proven by `test/store/suite/governance/approvals.ts`.
 */
import type { GovernanceEffect, StoredApproval } from '../port/store.ts';
import { approvalColumns } from '../rules/approval-row.ts';
import { insert, update, type Writer } from './statement.ts';

type EffectOf<Kind extends GovernanceEffect['kind']> = Extract<GovernanceEffect, { kind: Kind }>;

const open = insert(approvalColumns, [
  'approvalId',
  'evaluationId',
  'runId',
  'reason',
  'requestedMs',
  'requestedBy',
  'expiresMs',
  'callKey',
]);
const decide = update(approvalColumns, {
  set: ['outcome', 'decidedBy', 'comment', 'decidedMs'],
  by: ['approvalId'],
});
const use = update(approvalColumns, { set: ['usedBy', 'usedMs'], by: ['approvalId'] });

export const approvalWrites = <Done>(run: Writer<Done>) => ({
  openApproval: (opened: StoredApproval) => run(open, opened),
  decideApproval: ({ approvalId, outcome, by, comment, atMs }: EffectOf<'decideApproval'>) =>
    run(decide, { approvalId, outcome, decidedBy: by, comment, decidedMs: atMs }),
  useApproval: ({ approvalId, evaluationId, atMs }: EffectOf<'useApproval'>) =>
    run(use, { approvalId, usedBy: evaluationId, usedMs: atMs }),
});
