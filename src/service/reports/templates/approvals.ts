/**
 * Approvals as the log has them: opened by an evaluation, decided by `gov.approval/1`, used by `gov.use/1`. The state is that
 * at the newest entry of the tree, not that of today. Proven by `test/service/reports/templates/contents.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { ApprovalStatus } from '../../../contract/approvals.ts';
import { openApproval, openUse } from '../../../core/decided/approval.ts';
import { escalationReason, openEvaluation, type OpenEvaluation } from '../../../core/decided/evaluation.ts';
import { openLeaf } from '../../../core/decided/leaf.ts';
import type { ReportCell } from '../../../core/reports/model.ts';
import { parseTimestamp } from '../../../core/time.ts';
import type { Examination } from '../checks/verdict.ts';
import { leavesIn, leavesOf } from './read.ts';
import { count, isIn, timeText, type Period } from './period.ts';
import { columns, type ReportSource, type TableSpec } from './source.ts';
import { Rows } from './rows.ts';

export interface ApprovalCase {
  readonly approvalId: string;
  readonly runId: string;
  readonly evaluationId: string;
  readonly question: string;
  readonly requestedMs: number;
  readonly requestedBy: string;
  readonly expiresMs: number;
  status: ApprovalStatus;
  approver: string | null;
  /** The enrolled approver whose signature the log keeps; null for a decision that rests on a key alone. */
  signedBy: string | null;
  decidedMs: number | null;
  /** Null without a comment, or where it was erased. */
  comment: string | null;
  usedMs: number | null;
}

export const approvalTable: TableSpec = {
  id: 'approvals',
  title: 'Approvals',
  lists: 'Approvals that were requested or decided in the period',
  columns: columns({
    approvalId: 'Approval',
    runId: 'Run',
    status: ['Status', 'status'],
    requestedAt: ['Requested', 'time'],
    requestedBy: 'Requested by',
    decidedAt: ['Decided', 'time'],
    approver: 'Decided by',
    openFor: ['Open for', 'duration'],
    comment: 'Comment',
    usedAt: ['Used', 'time'],
    question: 'Question',
    remark: 'Remark',
  }),
  rest: 'gov approvals list has all of them.',
};

/** Ends the scope of a table of approvals. */
export const asOfNewest = 'Their state is that at the newest entry below the checkpoint.';

/** Approvals of the period, in the order of their requests. `more`: those beyond `limits.reportGroups`. */
export async function approvalsIn(
  source: ReportSource,
  period: Period,
  runId: string | null = null,
): Promise<{ readonly cases: readonly ApprovalCase[]; readonly more: number }> {
  const cases = new Map<string, ApprovalCase>();
  let more = 0;
  const open = (evaluation: OpenEvaluation): ApprovalCase | null => {
    const { approval } = evaluation;
    if (approval === null) return null;
    const known = cases.get(approval.id);
    if (known !== undefined) return known;
    if (cases.size >= limits.reportGroups) {
      more += 1;
      return null;
    }
    const made = caseOf(evaluation, approval, period.asOfMs);
    cases.set(approval.id, made);
    return made;
  };
  for await (const leaf of leavesIn(source, { type: 'gov.evaluation/1', runId }, period))
    open(openEvaluation(leaf));
  const since = { from: period.from };
  for await (const leaf of leavesOf(source, { type: 'gov.approval/1', runId }, since)) {
    const decided = openApproval(leaf);
    const known =
      cases.get(decided.id) ??
      (isIn(period, leaf.index, parseTimestamp(decided.at) ?? 0)
        ? await earlier(source, decided.evaluationId, open)
        : null);
    if (known === null) continue;
    known.status = decided.outcome;
    known.approver = decided.approver;
    known.signedBy = decided.signed?.approverId ?? null;
    known.decidedMs = parseTimestamp(decided.at);
    known.comment = decided.reason ?? null;
  }
  for await (const leaf of leavesOf(source, { type: 'gov.use/1', runId }, since)) {
    const { id, at } = openUse(leaf);
    const known = cases.get(id);
    if (known !== undefined) known.usedMs = parseTimestamp(at);
  }
  const sorted = [...cases.values()].toSorted(
    (a, b) => a.requestedMs - b.requestedMs || (a.approvalId < b.approvalId ? -1 : 1),
  );
  return { cases: sorted, more };
}

/** An approval that was requested before the period and decided in it. */
async function earlier(
  { reader, projectId, treeSize }: ReportSource,
  evaluationId: string,
  open: (evaluation: OpenEvaluation) => ApprovalCase | null,
): Promise<ApprovalCase | null> {
  const leaf = await reader.leafOf(projectId, 'gov.evaluation/1', evaluationId);
  return leaf === null || leaf.index >= treeSize ? null : open(openEvaluation(openLeaf(leaf)));
}

function caseOf(
  evaluation: OpenEvaluation,
  approval: NonNullable<OpenEvaluation['approval']>,
  asOfMs: number,
): ApprovalCase {
  const expiresMs = parseTimestamp(approval.expiresAt) ?? 0;
  return {
    approvalId: approval.id,
    runId: evaluation.runId,
    evaluationId: evaluation.id,
    question: escalationReason(evaluation.decisions),
    requestedMs: parseTimestamp(evaluation.evaluatedAt) ?? 0,
    requestedBy: approval.requestedBy,
    expiresMs,
    status: expiresMs <= asOfMs ? 'expired' : 'pending',
    approver: null,
    signedBy: null,
    decidedMs: null,
    comment: null,
    usedMs: null,
  };
}

const openForMs = ({ decidedMs, requestedMs }: ApprovalCase): number | null =>
  decidedMs === null ? null : Math.max(0, decidedMs - requestedMs);

const quickMs = limits.reportQuickApprovalSeconds * 1000;

/** Whether the approval came faster than a person could have read the request. */
const isQuick = (each: ApprovalCase): boolean =>
  each.status === 'approved' && (openForMs(each) ?? quickMs) < quickMs;

function remarkOf(each: ApprovalCase): string | null {
  if (each.approver !== null && each.approver === each.requestedBy)
    return 'The credential that requested it decided it.';
  if (isQuick(each)) return `Approved in less than ${limits.reportQuickApprovalSeconds} s.`;
  if (each.status === 'expired') return 'Nobody decided it in time.';
  return null;
}

export function approvalRows(spec: TableSpec, cases: readonly ApprovalCase[]): Rows {
  const rows = new Rows(spec);
  for (const each of cases) {
    const remark = remarkOf(each);
    const row: ReportCell[] = [
      each.approvalId,
      each.runId,
      each.status,
      timeText(each.requestedMs),
      each.requestedBy,
      timeText(each.decidedMs),
      each.approver,
      openForMs(each),
      each.comment,
      timeText(each.usedMs),
      each.question,
      remark,
    ];
    rows.add(row, remark !== null || each.status === 'denied');
  }
  return rows;
}

export interface ApprovalFigures {
  readonly total: number;
  readonly byStatus: Readonly<Record<ApprovalStatus, number>>;
  /** Milliseconds; null without a decided one. */
  readonly medianMs: number | null;
  readonly quick: number;
  /** Decided by the credential that requested them. */
  readonly own: number;
  /** Decided with the signature of an enrolled approver. */
  readonly signed: number;
}

export function figuresOf(cases: readonly ApprovalCase[]): ApprovalFigures {
  const byStatus = { pending: 0, approved: 0, denied: 0, expired: 0 };
  for (const { status } of cases) byStatus[status] += 1;
  const times = cases.flatMap((each) => openForMs(each) ?? []).toSorted((a, b) => a - b);
  const own = cases.filter(({ approver, requestedBy }) => approver === requestedBy).length;
  return {
    total: cases.length,
    byStatus,
    medianMs: times[Math.floor((times.length - 1) / 2)] ?? null,
    quick: cases.filter(isQuick).length,
    own,
    signed: cases.filter(({ signedBy }) => signedBy !== null).length,
  };
}

/** Requests that wait for a decision at the newest entry, and those decided. */
export const openOf = ({ byStatus }: ApprovalFigures): number => byStatus.pending;
export const decidedOf = ({ byStatus }: ApprovalFigures): number => byStatus.approved + byStatus.denied;

/** The checks of human oversight, which several reports have. Nobody is called a person here: a credential decides. */
export const oversightChecks = ['answered', 'tookTime', 'notOwnRequest'] as const;

export function oversightOf(
  figures: ApprovalFigures,
  more: number,
): Readonly<Record<(typeof oversightChecks)[number], Examination>> {
  const { total, byStatus, quick, own } = figures;
  const decided = decidedOf(figures);
  const open = openOf(figures);
  const rest = more === 0 ? null : `${count(more, 'request was', 'requests were')} not read.`;
  return {
    answered: {
      examined: total,
      failed: byStatus.expired,
      detail: `${open} of ${count(total, 'request')} still open, ${byStatus.expired} expired without an answer, ${decided} answered.`,
      none: 'No approval was requested or decided in the period.',
      missing: open === 0 ? rest : 'An open request has no answer yet.',
    },
    tookTime: {
      examined: byStatus.approved,
      failed: quick,
      detail: `Faster approvals: ${quick} of ${byStatus.approved}.`,
      none: 'Nothing was approved in the period.',
      missing: rest,
    },
    notOwnRequest: {
      examined: decided,
      failed: own,
      detail: `The credential that requested it decided ${own} of ${count(decided, 'request')}. Two credentials may be of one person.`,
      none: 'No request was decided in the period.',
      missing: rest,
    },
  };
}
