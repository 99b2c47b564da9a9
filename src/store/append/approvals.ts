/**
 * The checks of the effects on approvals, the same for both engines: opened by an escalation, decided once and
 * in time, used once and in time by the call that was approved.
 * Proven by `test/store/suite/governance/approvals.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { GovernanceEffect, StoredApproval } from '../port/store.ts';

type EffectOf<Kind extends GovernanceEffect['kind']> = Extract<GovernanceEffect, { kind: Kind }>;

export type ApprovalState = Pick<StoredApproval, 'expiresMs' | 'decision' | 'used'>;

/** The rows of one project that these effects read and write. */
export interface ApprovalRows {
  openApproval(approval: StoredApproval): void;
  approval(approvalId: string): ApprovalState | null;
  /** The id of the newest approval with this key; null if there is none. */
  newestOfCall(callKey: string): string | null;
  decideApproval(effect: EffectOf<'decideApproval'>): void;
  useApproval(effect: EffectOf<'useApproval'>): void;
}

const openMs = limits.approvalHours * 3_600_000;
const mostWaitSeconds = 86_400;

/**
 * CLOCK_BEHIND where the approval would be expired when it is opened. Its end counts from the clock: from the log, which
 * may be years ahead, it would be open for years. `serverMs`: the time of the log, which never runs backwards.
 */
export function openApproval(
  rows: ApprovalRows,
  { approval, newest }: EffectOf<'openApproval'>,
  serverMs: number,
): void {
  const { approvalId, requestedMs, expiresMs, decision, used, callKey } = approval;
  if (expiresMs - requestedMs > openMs || decision !== null || used !== null) {
    throw new Error(
      `expected an undecided approval that is open for at most ${openMs} ms, got ${approvalId}`,
    );
  }
  if (serverMs >= expiresMs) throw clockBehind({ requestedMs, serverMs });
  const found = callKey === null ? null : rows.newestOfCall(callKey);
  if (found !== newest) {
    throw new GovError(
      'CONFLICT',
      `expected no newer approval of this call than ${newest ?? 'none'}, got ${found ?? 'none'}; evaluate again`,
    );
  }
  rows.openApproval(approval);
}

function clockBehind({ requestedMs, serverMs }: { requestedMs: number; serverMs: number }): GovError {
  const opensMs = serverMs - openMs + 1;
  const waitSeconds = Math.ceil((opensMs - requestedMs) / 1000);
  return new GovError(
    'CLOCK_BEHIND',
    `expected a log less than ${limits.approvalHours} hours ahead of the clock, got one at ${formatTimestamp(serverMs)} and a clock at ${formatTimestamp(requestedMs)}: an approval would be expired when it is opened; set the clock right, or wait until ${formatTimestamp(opensMs)}`,
    { retryAfterSeconds: Math.min(waitSeconds, mostWaitSeconds) },
  );
}

/**
 * `serverMs`: as in `openApproval`. A clock that was moved back opens no expired approval again.
 */
export function decideApproval(
  rows: ApprovalRows,
  effect: EffectOf<'decideApproval'>,
  serverMs: number,
): void {
  const { approvalId, atMs } = effect;
  const approval = known(rows, approvalId);
  if (approval.decision !== null) {
    const { outcome, by, atMs: when } = approval.decision;
    throw new GovError(
      'CONFLICT',
      `expected a pending approval, got ${approvalId}, ${outcome} by ${by} at ${formatTimestamp(when)}`,
    );
  }
  if (Math.max(atMs, serverMs) >= approval.expiresMs) {
    const since = formatTimestamp(approval.expiresMs);
    const next =
      atMs >= approval.expiresMs
        ? 'evaluate again to open another one'
        : `the log is at ${formatTimestamp(serverMs)} and the clock is behind it: set the clock right, or wait`;
    throw new GovError(
      'CONFLICT',
      `expected a pending approval, got ${approvalId}, expired at ${since}; ${next}`,
    );
  }
  rows.decideApproval(effect);
}

/** `serverMs`: as in `decideApproval`. */
export function useApproval(rows: ApprovalRows, effect: EffectOf<'useApproval'>, serverMs: number): void {
  const { approvalId, atMs } = effect;
  const { decision, used, expiresMs } = known(rows, approvalId);
  const refuse = (got: string): never => {
    throw new GovError(
      'CONFLICT',
      `expected an approved, unused approval, got ${approvalId}, ${got}; evaluate again`,
    );
  };
  if (decision?.outcome !== 'approved') return refuse(decision?.outcome ?? 'undecided');
  if (used !== null) return refuse(`used by ${used.evaluationId} at ${formatTimestamp(used.atMs)}`);
  if (Math.max(atMs, serverMs) >= expiresMs) return refuse(`expired at ${formatTimestamp(expiresMs)}`);
  rows.useApproval(effect);
}

function known(rows: ApprovalRows, approvalId: string): ApprovalState {
  const approval = rows.approval(approvalId);
  if (approval !== null) return approval;
  throw new GovError('NOT_FOUND', `expected an approval of this project, got ${approvalId}`);
}
