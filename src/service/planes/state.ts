/**
 * What is held of a data plane where a report of it comes: the report itself, its neighbours, the epoch. Reads alone.
 * Proven by `test/service/planes/reports.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { TelemetryFault, UsageReport } from '../../contract/telemetry.ts';
import { readJson } from '../../core/json/parse.ts';
import { checkSuccession, reportHash, type Fault } from '../../core/plane/usage-report.ts';
import type { PlaneEpoch, StoredPlane, StoredReport } from '../../store/port/store.ts';
import type { Services } from '../dependencies.ts';

/** A report that came, with its bytes. */
export interface Came {
  readonly plane: StoredPlane;
  readonly report: UsageReport;
  /** JCS of it. */
  readonly canonical: string;
}

export interface Neighbourhood {
  /** Null where nothing of the epoch is held. */
  readonly epoch: PlaneEpoch | null;
  /** The report before, where it is held. */
  readonly previous: StoredReport | null;
  /** Where that one is not held: the nearest one before it that is. */
  readonly earlier: StoredReport | null;
  /** Links that the report settles: of the one after it, and of older ones that were left. */
  readonly links: readonly Link[];
}

export interface Link {
  readonly report: StoredReport;
  readonly link: 'linked' | TelemetryFault;
  /** Null where it is linked. */
  readonly fault: Fault | null;
}

/** A stored report; it was checked before it was stored. */
export const parsedReport = ({ body }: Pick<StoredReport, 'body'>): UsageReport =>
  readJson(body) as unknown as UsageReport;

/**
 * The report that is held under the id or the place of the one that came; REPORT_CONFLICT where it is another one. Cost:
 * two reads.
 */
export async function sameReport(
  { store }: Pick<Services, 'store'>,
  { plane: { projectId, planeId }, report, canonical }: Came,
): Promise<StoredReport | null> {
  const { reportId, sequence } = report;
  const { epoch } = report.log;
  const byId = await store.report(projectId, planeId, reportId);
  const same = byId ?? (await store.reportAt(projectId, planeId, { epoch, sequence }));
  if (same === null || same.body === canonical) return same;
  const what = byId === null ? `sequence ${sequence} of epoch ${epoch}` : `report ${reportId}`;
  throw new GovError(
    'REPORT_CONFLICT',
    `expected ${what} as it is held, got another content; a report is sent again as it was, byte for byte`,
  );
}

/** Cost: two reads where reports come in order, up to twice `limits.reportsLinked` and one more where they do not. */
export async function neighbourhood(
  services: Services,
  came: Came,
  epoch: PlaneEpoch | null,
): Promise<Neighbourhood> {
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

async function nearestBefore({ store }: Services, { plane, report }: Came): Promise<StoredReport | null> {
  const after = { epoch: report.log.epoch, sequence: report.sequence };
  const [nearest] = await store.reports(plane.projectId, plane.planeId, { after, limit: 1 });
  return nearest?.epoch === after.epoch ? nearest : null;
}

/** Of reports whose neighbours came at once, in several processes: neither saw the other. */
async function leftLinks({ store }: Services, { plane, report }: Came): Promise<Link[]> {
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
