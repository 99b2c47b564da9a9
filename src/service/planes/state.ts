/**
 * Reads the stored state around a new report: the report itself, its neighbours, its epoch. Writes nothing.
 * Proven by `test/service/planes/reports.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { TelemetryFault, UsageReport } from '../../contract/telemetry.ts';
import { readJson } from '../../core/json/parse.ts';
import { checkSuccession, reportHash, type Fault } from '../../core/planes/usage-report.ts';
import type { PlaneEpoch, StoredPlane, StoredReport } from '../../store/port/store.ts';
import type { Services } from '../port/services.ts';

/** A new report with its bytes. */
export interface NewReport {
  readonly plane: StoredPlane;
  readonly report: UsageReport;
  /** The report in RFC 8785 form. */
  readonly canonical: string;
}

export interface ReportLinks {
  /** Null where the epoch has no stored report. */
  readonly epoch: PlaneEpoch | null;
  /** The preceding report, where it is stored. */
  readonly previous: StoredReport | null;
  /** Where it is not: the nearest stored report before it. */
  readonly earlier: StoredReport | null;
  /** Links that the report completes: of its successor, and of older reports that were left open. */
  readonly links: readonly Link[];
}

interface Link {
  readonly report: StoredReport;
  readonly link: 'linked' | TelemetryFault;
  /** Null where it is linked. */
  readonly fault: Fault | null;
}

/** A stored report; it was checked before it was stored. */
export const parsedReport = ({ body }: Pick<StoredReport, 'body'>): UsageReport =>
  readJson(body) as unknown as UsageReport;

/**
 * The stored report with the same id or the same place. REPORT_CONFLICT where its content differs. Cost: two
 * reads.
 */
export async function sameReport(
  { store }: Pick<Services, 'store'>,
  { plane: { projectId, planeId }, report, canonical }: NewReport,
): Promise<StoredReport | null> {
  const { reportId, sequence } = report;
  const { epoch } = report.log;
  const byId = await store.report(projectId, planeId, reportId);
  const same = byId ?? (await store.reportAt(projectId, planeId, { epoch, sequence }));
  if (same === null || same.body === canonical) return same;
  const what = byId === null ? `sequence ${sequence} of epoch ${epoch}` : `report ${reportId}`;
  throw new GovError(
    'REPORT_CONFLICT',
    `expected the stored content of ${what}, got another; send a report again byte for byte`,
  );
}

/**
 * Cost: two reads where reports come in order, up to twice `limits.reportsLinked` and one more where they do
 * not.
 */
export async function neighbourhood(
  services: Services,
  came: NewReport,
  epoch: PlaneEpoch | null,
): Promise<ReportLinks> {
  const { projectId, planeId } = came.plane;
  const { sequence, log } = came.report;
  const at = async (place: number): Promise<StoredReport | null> =>
    epoch === null || place < 1 || place > epoch.newestSequence
      ? null
      : services.store.reportAt(projectId, planeId, { epoch: log.epoch, sequence: place });
  const [previous, next] = await Promise.all([at(sequence - 1), at(sequence + 1)]);
  const isGap = epoch !== null && previous === null && sequence > 1;
  const earlier = isGap ? await nearestBefore(services, came) : null;
  const own = next?.link === 'unknown' ? [linkOf(came.report, reportHash(came.canonical), next)] : [];
  const left = epoch === null || epoch.firstUnlinked === null ? [] : await leftLinks(services, came);
  const links = [...own, ...left.filter(({ report }) => report.sequence !== sequence + 1)];
  return { epoch, previous, earlier, links: links.slice(0, limits.reportsLinked) };
}

async function nearestBefore(
  { store }: Services,
  { plane, report }: NewReport,
): Promise<StoredReport | null> {
  const after = { epoch: report.log.epoch, sequence: report.sequence };
  const [nearest] = await store.reports(plane.projectId, plane.planeId, { after, limit: 1 });
  return nearest?.epoch === after.epoch ? nearest : null;
}

/** Links of reports whose neighbours arrived at once in several processes, so that neither saw the other. */
async function leftLinks({ store }: Services, { plane, report }: NewReport): Promise<Link[]> {
  const { projectId, planeId } = plane;
  const { epoch } = report.log;
  const unlinked = await store.unlinked(projectId, planeId, epoch, limits.reportsLinked);
  const links = await Promise.all(
    unlinked.map(async (each) => {
      const before = await store.reportAt(projectId, planeId, { epoch, sequence: each.sequence - 1 });
      return before === null ? [] : [linkOf(parsedReport(before), reportHash(before.body), each)];
    }),
  );
  return links.flat();
}

function linkOf(previous: UsageReport, previousHash: string, report: StoredReport): Link {
  const fault = checkSuccession(previous, previousHash, parsedReport(report));
  return { report, link: fault?.fault ?? 'linked', fault };
}
