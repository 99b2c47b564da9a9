/**
 * `fsck`: checks one report of a data plane after the other; `planes.ts` reads them.
 * Proven by `test/store/fsck/tamper-reports.test.ts`.
 */
import type { UsageReport } from '../../../contract/telemetry.ts';
import { checkReportBy, identitiesSince } from '../../../core/planes/former-keys.ts';
import { sha256 } from '../../../core/hash.ts';
import { canonicalize, readJson, type Json } from '../../../core/json/parse.ts';
import { checkSuccession, reportHash, reportMonth } from '../../../core/planes/usage-report.ts';
import type { FormerKeys } from '../../../core/planes/identity.ts';
import type { Check } from '../check.ts';
import type { PlaneRow, ReportRow } from '../../rules/plane-row.ts';
import { columnCheck } from '../columns.ts';
import { recordedGaps } from './gaps.ts';
import { receiptCheck } from './receipts.ts';

export interface ReportsOf {
  readonly no: number;
  readonly planeId: string;
  readonly position: string;
  readonly projectId: string;
  readonly plane: PlaneRow | undefined;
}

/**
 * Called with each report of a plane, by epoch and sequence. Returns the report in its body, or null if the
 * body is not one.
 */
export type ReportCheck = (row: ReportRow) => UsageReport | null;

export function reportCheck(check: Check, reports: ReportsOf): ReportCheck {
  const { position, projectId, plane } = reports;
  const compare = columnCheck(check, 'report_mismatch');
  const checkReceipt = receiptCheck(check, recordedGaps(check, reports));
  let before: { readonly row: ReportRow; readonly report: UsageReport } | null = null;
  return (row) => {
    const at = `${position}/report/${row.epoch}/${row.sequence}`;
    const digest = sha256(row.body);
    if (!digest.equals(row.digest)) {
      const [expected, got] = [row.digest.toString('hex'), digest.toString('hex')];
      check.problem(at, 'report_altered', { expected: `a body of SHA-256 ${expected}`, got });
    }
    const parsed = parsedReport(row.body);
    if (parsed === null) {
      check.problem(at, 'report_altered', { expected: 'a usage report', got: row.body.slice(0, 64) });
      return null;
    }
    const { report, columns } = parsed;
    const { plane_id, report_id, epoch, sequence, tree_size, month, challenge_id } = row;
    const named = { plane_id, report_id, epoch, sequence, tree_size, month, challenge_id };
    const stored = { ...named, project_id: projectId, totals: canonical(row.totals) };
    compare(at, stored, { ...columns, ...challengeOf(row) });
    if (check.deep) {
      const signed = plane === undefined ? null : signedFault(report, plane);
      if (signed !== null)
        check.problem(at, 'report_altered', { expected: 'the body that the plane signed', got: signed });
      const link = linkOf(before, row, report);
      if (row.link !== 'unknown' && row.link !== link)
        check.problem(at, 'report_mismatch', { expected: `link ${link}`, got: `link ${row.link}` });
    }
    checkReceipt(at, row, report);
    before = { row, report };
    return report;
  };
}

function parsedReport(body: string) {
  try {
    // the service stored only valid reports; an altered one throws below, or differs
    const report = readJson(body) as unknown as UsageReport;
    const { log, totals } = report;
    const columns = {
      project_id: report.projectId,
      plane_id: report.dataPlaneId,
      report_id: report.reportId,
      epoch: log.epoch,
      sequence: report.sequence,
      tree_size: log.treeSize,
      totals: canonicalize(totals),
      month: reportMonth(report),
    };
    return { report, columns };
  } catch {
    return null;
  }
}

/** The id of the challenge according to its own text. */
function challengeOf({ challenge }: ReportRow): { readonly challenge_id?: string } {
  if (challenge === null) return {};
  try {
    return { challenge_id: String((readJson(challenge) as { challengeId?: Json }).challengeId) };
  } catch {
    return { challenge_id: 'of a challenge that is not JSON' };
  }
}

function canonical(json: string): string {
  try {
    return canonicalize(readJson(json));
  } catch {
    return json;
  }
}

/** Null if the report is consistent and a current or former enrolled key of the plane signed it. */
function signedFault(report: UsageReport, plane: PlaneRow): string | null {
  const { origin, audit_origin: auditOrigin } = plane;
  const { verifier_key: verifierKey, audit_verifier_key: auditVerifierKey } = plane;
  if (origin === null || auditOrigin === null || verifierKey === null || auditVerifierKey === null)
    return 'a report of a plane that is not enrolled';
  try {
    const formerKeys = JSON.parse(plane.former_keys ?? '[]') as FormerKeys[];
    const identity = { origin, auditOrigin, verifierKey, auditVerifierKey, formerKeys };
    // any of its keys may have signed: clocks of several processes may differ about the time of a change
    const fault = checkReportBy(report, identitiesSince(identity, 0));
    return fault === null ? null : `${fault.fault} at ${fault.pointer}: ${fault.detail}`;
  } catch {
    return 'a text that is not a usage report';
  }
}

/** The link that follows from the previous report, if that one is stored. */
function linkOf(
  before: { readonly row: ReportRow; readonly report: UsageReport } | null,
  { epoch, sequence }: ReportRow,
  report: UsageReport,
): ReportRow['link'] {
  if (sequence === 1) return 'linked';
  if (before === null || before.row.epoch !== epoch || before.row.sequence !== sequence - 1) return 'unknown';
  try {
    return checkSuccession(before.report, reportHash(before.row.body), report)?.fault ?? 'linked';
  } catch {
    return 'unknown';
  }
}
