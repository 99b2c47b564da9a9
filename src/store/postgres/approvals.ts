/** Reads of approvals; their status is judged by the caller's clock. Proven by `test/store/suite/approvals.ts`. */
import type { ApprovalOutcome } from '../../contract/approvals.ts';
import { limits } from '../../contract/limits.ts';
import type { StoredApproval, StoreReader } from '../port.ts';
import { endOfTime } from '../bounds.ts';
import type { Database } from './database.ts';
import type { ProjectNumber } from './readleaves.ts';
import { read, readOrNull } from './texts.ts';
import { sql, step, type Param, type Sql } from './wire.ts';

const openMs = limits.approvalHours * 3_600_000;

interface ApprovalRow {
  approval_id: string;
  evaluation_id: string;
  run_id: string;
  reason: string;
  requested_ms: number;
  requested_by: string;
  expires_ms: number;
  outcome: ApprovalOutcome | null;
  decided_by: string | null;
  comment: string | null;
  decided_ms: number | null;
}

const columns = `approval_id, evaluation_id, run_id, reason, requested_ms, requested_by, expires_ms, outcome,
  decided_by, comment, decided_ms`;

const one = sql<ApprovalRow>(`SELECT ${columns} FROM approval WHERE project = $1 AND approval_id = $2`);

/** One statement for each set of conditions, so that each goes by the index that fits it. */
const pages = new Map<string, Sql<ApprovalRow>>();

function pageOf(conditions: string): Sql<ApprovalRow> {
  let page = pages.get(conditions);
  if (page === undefined) {
    page = sql<ApprovalRow>(
      `SELECT ${columns} FROM approval WHERE project = $1 AND (requested_ms, approval_id) < ($2, $3) ${conditions}
       ORDER BY requested_ms DESC, approval_id DESC LIMIT $4`,
    );
    pages.set(conditions, page);
  }
  return page;
}

type Filter = Parameters<StoreReader['approvals']>[1];

/** `$5` is the run, `$6` the time, each used where its condition stands. */
function conditionsOf({ status, runId, atMs }: Filter): { readonly sql: string; readonly values: Param[] } {
  const values: Param[] = [];
  const value = (added: Param): string => `$${values.push(added) + 4}`;
  const parts: string[] = [];
  if (runId !== undefined) parts.push(`AND run_id = ${value(runId)}`);
  // none is open for longer than the limit, so what is pending was asked for lately
  else if (status === 'pending') parts.push(`AND requested_ms > ${value(atMs - openMs)}`);
  if (status === 'approved' || status === 'denied') parts.push(`AND outcome = ${value(status)}`);
  if (status === 'pending') parts.push(`AND outcome IS NULL AND expires_ms > ${value(atMs)}`);
  if (status === 'expired') parts.push(`AND outcome IS NULL AND expires_ms <= ${value(atMs)}`);
  return { sql: parts.join(' '), values };
}

export function approvalReads(
  database: Database,
  numberOf: ProjectNumber,
): Pick<StoreReader, 'approval' | 'approvals'> {
  return {
    approval: async (projectId, approvalId) => {
      const project = await numberOf(projectId);
      const [{ rows }] = await database.read({ project }, [step(one, project, approvalId)]);
      return rows[0] === undefined ? null : approvalOf(rows[0]);
    },
    approvals: async (projectId, filter, { after, limit }) => {
      const project = await numberOf(projectId);
      const { sql: conditions, values } = conditionsOf(filter);
      const position = [after?.ms ?? endOfTime, after?.id ?? '', limit];
      const wanted = step(pageOf(conditions), project, ...position, ...values);
      return (await database.read({ project }, [wanted]))[0].rows.map(approvalOf);
    },
  };
}

const approvalOf = (row: ApprovalRow): StoredApproval => {
  const { outcome, decided_by: by, decided_ms: atMs } = row;
  const comment = readOrNull(row.comment);
  return {
    approvalId: row.approval_id,
    evaluationId: row.evaluation_id,
    runId: row.run_id,
    reason: read(row.reason),
    requestedMs: row.requested_ms,
    requestedBy: row.requested_by,
    expiresMs: row.expires_ms,
    decision: outcome === null || by === null || atMs === null ? null : { outcome, by, comment, atMs },
  };
};
