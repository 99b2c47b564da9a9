/**
 * Reads of approvals; the caller's clock decides their status.
 * Proven by `test/store/suite/governance/approvals.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { approvalColumns, approvalOf, type ApprovalRow } from '../../rules/approval-row.ts';
import type { StoredApproval, StoreReader } from '../../port/store.ts';
import { endOfTime } from '../../port/bounds.ts';
import type { Database } from '../connection/database.ts';
import type { ProjectNumber } from '../read/leaves.ts';
import { read, readOrNull } from './texts.ts';
import { sql, step, type Param, type Sql } from '../../read/queries.ts';

const openMs = limits.approvalHours * 3_600_000;

const one = sql<ApprovalRow>(
  `SELECT ${approvalColumns} FROM approval WHERE project = $1 AND approval_id = $2`,
);

/** One statement per set of conditions, so that PostgreSQL uses the fitting index for each. */
const pages = new Map<string, Sql<ApprovalRow>>();

function pageOf(conditions: string): Sql<ApprovalRow> {
  let page = pages.get(conditions);
  if (page === undefined) {
    page = sql<ApprovalRow>(
      `SELECT ${approvalColumns} FROM approval WHERE project = $1 AND (requested_ms, approval_id) < ($2, $3) ${conditions}
       ORDER BY requested_ms DESC, approval_id DESC LIMIT $4`,
    );
    pages.set(conditions, page);
  }
  return page;
}

type Filter = Parameters<StoreReader['approvals']>[1];

/** Builds the conditions of a filter; their parameters start at `$5`, in the order of use. */
function conditionsOf({ status, runId, atMs }: Filter): { readonly sql: string; readonly values: Param[] } {
  const values: Param[] = [];
  const value = (added: Param): string => `$${values.push(added) + 4}`;
  const parts: string[] = [];
  if (runId !== undefined) parts.push(`AND run_id = ${value(runId)}`);
  // no approval stays open longer than `openMs`, so pending ones are recent
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
      return rows[0] === undefined ? null : readApproval(rows[0]);
    },
    approvals: async (projectId, filter, { after, limit }) => {
      const project = await numberOf(projectId);
      const { sql: conditions, values } = conditionsOf(filter);
      const position = [after?.ms ?? endOfTime, after?.id ?? '', limit];
      const wanted = step(pageOf(conditions), project, ...position, ...values);
      return (await database.read({ project }, [wanted]))[0].rows.map(readApproval);
    },
  };
}

/** Decodes the texts that people wrote. */
const readApproval = (row: ApprovalRow): StoredApproval =>
  approvalOf({ ...row, reason: read(row.reason), comment: readOrNull(row.comment) });
