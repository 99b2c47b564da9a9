/**
 * Reads of approvals; the caller's clock decides their status.
 * Proven by `test/store/suite/governance/approvals.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { endOfTime } from '../port/bounds.ts';
import type { StoredApproval, StoreReader } from '../port/store.ts';
import { decoder, selected } from '../rules/columns.ts';
import { approvalColumns, approvalOf, type ApprovalRow } from '../rules/approval-row.ts';
import { both, firstOf, rowsOf, type Param, type Queries, type Sql } from './queries.ts';

const members = selected(approvalColumns);
const openMs = limits.approvalHours * 3_600_000;

const one = both<ApprovalRow>(`SELECT ${members} FROM approval WHERE project = $1 AND approval_id = $2`);

const ofCall = both<ApprovalRow>(
  `SELECT ${members} FROM approval WHERE project = $1 AND call_key = $2
   ORDER BY requested_ms DESC, approval_id DESC LIMIT 1`,
);

/** One statement per set of conditions, so that each engine uses the fitting index. */
const pages = new Map<string, Sql<ApprovalRow>>();

function pageOf(conditions: string): Sql<ApprovalRow> {
  let page = pages.get(conditions);
  if (page === undefined) {
    page = both<ApprovalRow>(
      `SELECT ${members} FROM approval WHERE project = $1 AND (requested_ms, approval_id) < ($2, $3) ${conditions}
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
  if (status === 'used') parts.push('AND used_ms IS NOT NULL');
  if (status === 'pending') parts.push(`AND outcome IS NULL AND expires_ms > ${value(atMs)}`);
  if (status === 'expired') parts.push(`AND outcome IS NULL AND expires_ms <= ${value(atMs)}`);
  return { sql: parts.join(' '), values };
}

export function approvalReads(
  queries: Queries,
): Pick<StoreReader, 'approval' | 'approvalOfCall' | 'approvals'> {
  const decoded = decoder(approvalColumns, queries.text);
  const readApproval = (row: ApprovalRow): StoredApproval => approvalOf(decoded(row));
  return {
    approval: async (projectId, approvalId) =>
      firstOf(await rowsOf(queries, projectId, one, approvalId), readApproval),
    approvalOfCall: async (projectId, callKey) =>
      firstOf(await rowsOf(queries, projectId, ofCall, callKey), readApproval),
    approvals: async (projectId, filter, { after, limit }) => {
      const { sql: conditions, values } = conditionsOf(filter);
      const position = [after?.ms ?? endOfTime, after?.id ?? '', limit];
      const rows = await rowsOf(queries, projectId, pageOf(conditions), ...position, ...values);
      return rows.map(readApproval);
    },
  };
}
