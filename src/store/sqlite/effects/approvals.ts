/**
 * Approvals: an escalated evaluation opens one, and one decision closes it. The caller's clock decides the
 * status: without a decision an approval is pending until it expires.
 * Proven by `test/store/suite/governance/approvals.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { approvalColumns, approvalOf, type ApprovalRow } from '../../rules/approval-row.ts';
import type { EffectRows } from '../../append/effects.ts';
import type { StoreReader } from '../../port/store.ts';
import type { Current } from './current.ts';
import type { Connection, Value } from '../../file/connection.ts';
import { endOfTime } from '../../port/bounds.ts';
import type { ProjectNumber } from '../read/leaves.ts';
import type { Prepare } from '../../file/statement.ts';

const openMs = limits.approvalHours * 3_600_000;

export function approvalReads(
  db: Connection,
  numberOf: ProjectNumber,
): Pick<StoreReader, 'approval' | 'approvals'> {
  const one = db.prepare<Value[], ApprovalRow>(
    `SELECT ${approvalColumns} FROM approval WHERE project = ? AND approval_id = ?`,
  );
  const page = pageStatements(db);
  return {
    approval: async (projectId, approvalId) => {
      const row = one.get(numberOf(projectId), approvalId);
      return row === undefined ? null : approvalOf(row);
    },
    approvals: async (projectId, filter, { after, limit }) => {
      const [some, judged] = [extent(filter), condition(filter)];
      const position = [after?.ms ?? endOfTime, after?.id ?? ''];
      return page(`${some.sql} ${judged.sql}`)
        .all(numberOf(projectId), ...some.values, ...judged.values, ...position, limit)
        .map(approvalOf);
    },
  };
}

/** One statement per set of conditions, so that SQLite chooses the fitting index for each. */
function pageStatements(db: Connection) {
  const select = (conditions: string) =>
    db.prepare<Value[], ApprovalRow>(
      `SELECT ${approvalColumns} FROM approval WHERE project = ? ${conditions} AND (requested_ms, approval_id) < (?, ?)
       ORDER BY requested_ms DESC, approval_id DESC LIMIT ?`,
    );
  const statements = new Map<string, ReturnType<typeof select>>();
  return (conditions: string): ReturnType<typeof select> => {
    let statement = statements.get(conditions);
    if (statement === undefined) statements.set(conditions, (statement = select(conditions)));
    return statement;
  };
}

type Filter = Parameters<StoreReader['approvals']>[1];
type Condition = { readonly sql: string; readonly values: readonly Value[] };

/**
 * Limits the rows that are scanned. No approval stays open longer than `openMs`, so pending ones are recent.
 */
function extent({ runId, status, atMs }: Filter): Condition {
  if (runId !== undefined) return { sql: 'AND run_id = ?', values: [runId] };
  if (status === 'pending') return { sql: 'AND requested_ms > ?', values: [atMs - openMs] };
  return { sql: '', values: [] };
}

function condition({ status, atMs }: Filter): Condition {
  if (status === undefined) return { sql: '', values: [] };
  switch (status) {
    case 'approved':
    case 'denied':
      return { sql: 'AND outcome = ?', values: [status] };
    case 'pending':
      return { sql: 'AND outcome IS NULL AND expires_ms > ?', values: [atMs] };
    case 'expired':
      return { sql: 'AND outcome IS NULL AND expires_ms <= ?', values: [atMs] };
  }
}

/** Writes rows of approvals of the current project. */
export function approvalRows(
  prepare: Prepare,
  current: Current,
): Pick<EffectRows, 'openApproval' | 'approval' | 'decideApproval'> {
  const insert = prepare(
    'open approval',
    `INSERT INTO approval (project, approval_id, evaluation_id, run_id, reason, requested_ms, requested_by,
       expires_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const find = prepare<ApprovalRow>(
    'find approval',
    `SELECT ${approvalColumns} FROM approval WHERE project = ? AND approval_id = ?`,
  );
  const decide = prepare(
    'decide approval',
    `UPDATE approval SET outcome = ?, decided_by = ?, comment = ?, decided_ms = ?
     WHERE project = ? AND approval_id = ?`,
  );
  return {
    openApproval: ({ approvalId, evaluationId, runId, reason, requestedMs, requestedBy, expiresMs }) => {
      const texts = [approvalId, evaluationId, runId, reason];
      insert.run(current.project, ...texts, requestedMs, requestedBy, expiresMs);
    },
    approval: (approvalId) => {
      const row = find.get(current.project, approvalId);
      return row === undefined ? null : approvalOf(row);
    },
    decideApproval: ({ approvalId, outcome, by, comment, atMs }) => {
      decide.run(outcome, by, comment, atMs, current.project, approvalId);
    },
  };
}
