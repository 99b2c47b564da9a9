/** Usage reports of data planes that a service received in the period. They are stored beside the log. */
import { limits } from '../../../contract/limits.ts';
import type { StoredPlane, StoredReport } from '../../../store/port/store.ts';
import type { Period } from '../templates/period.ts';
import type { ReportSource } from '../templates/source.ts';

const pageRows = 100;

interface PlaneReport {
  readonly planeId: string;
  readonly name: string;
  readonly report: StoredReport;
}

/** By plane, then in the order of the reports. None on a data plane, which receives no report. */
export async function* planeReports(source: ReportSource): AsyncGenerator<PlaneReport, void, undefined> {
  for await (const { planeId, name } of planesOf(source))
    for await (const report of reportsOf(source, planeId)) yield { planeId, name, report };
}

const silentMs = limits.reportPlaneSilentHours * 3_600_000;

/** How many reports arrived in the period, and how many planes were silent at its end, or at the newest entry. */
export async function planeSilence(
  source: ReportSource,
  { endMs, asOfMs }: Period,
): Promise<{ readonly reports: number; readonly silent: number }> {
  const untilMs = Math.min(endMs, asOfMs);
  let [reports, silent] = [0, 0];
  for await (const { planeId, createdMs, revokedMs } of planesOf(source)) {
    let newestMs = Math.max(createdMs, source.startMs);
    for await (const { receivedMs } of reportsOf(source, planeId)) {
      reports += 1;
      newestMs = Math.max(newestMs, receivedMs);
    }
    if ((revokedMs ?? Infinity) > untilMs && untilMs - newestMs > silentMs) silent += 1;
  }
  return { reports, silent };
}

async function* planesOf(source: ReportSource): AsyncGenerator<StoredPlane, void, undefined> {
  const { reader, projectId, breathe, installation } = source;
  if (installation === 'plane') return;
  for (let after: { ms: number; id: string } | undefined; ;) {
    const page = { limit: pageRows, ...(after === undefined ? {} : { after }) };
    const planes = await reader.planes(projectId, page);
    for (const plane of planes) {
      yield plane;
      await breathe();
    }
    const last = planes.at(-1);
    if (planes.length < pageRows || last === undefined) return;
    after = { ms: last.createdMs, id: last.planeId };
  }
}

async function* reportsOf(
  { reader, projectId, startMs, endMs }: ReportSource,
  planeId: string,
): AsyncGenerator<StoredReport, void, undefined> {
  for (let after: { epoch: number; sequence: number } | undefined; ;) {
    const page = { limit: pageRows, ...(after === undefined ? {} : { after }) };
    const reports = await reader.reports(projectId, planeId, page);
    for (const report of reports) {
      if (report.receivedMs >= startMs && report.receivedMs <= endMs) yield report;
    }
    const last = reports.at(-1);
    if (reports.length < pageRows || last === undefined) return;
    after = { epoch: last.epoch, sequence: last.sequence };
  }
}
