/** What the task of a report gets: what a template reads, and names, colors, logo and paper. Proven by
 * `test/service/reports/worker.test.ts`.
 */
import { formatTimestamp, parseTimestamp } from '../../core/time.ts';
import type { ReportTaskInput } from '../call/report-work.ts';
import { defaultSettings, settingsOf, type StoredSettings } from '../call/settings.ts';
import type { Services } from '../port/services.ts';
import { openOwn } from '../log/checkpoints.ts';
import { brandingOf } from './branding/brand.ts';
import type { StoredReport } from './stored.ts';

export async function taskInput(
  services: Services,
  of: {
    readonly projectId: string;
    readonly executionId: string;
    readonly stored: StoredReport;
    readonly checkpoint: string;
  },
): Promise<ReportTaskInput> {
  const { projectId, executionId, stored, checkpoint } = of;
  const { witnesses, hosting, now } = services;
  const { parameters, title, locale, timezone, formats } = stored;
  const tree = openOwn(checkpoint);
  return {
    reportTemplateId: stored.reportTemplateId,
    template: stored.template ?? null,
    projectId,
    startMs: parseTimestamp(parameters.startTime) ?? 0,
    endMs: parseTimestamp(parameters.endTime) ?? 0,
    runId: parameters.runId ?? null,
    treeSize: tree.size,
    keys: services.verifierKeys(tree.origin),
    checkpoint,
    timezone,
    installation: hosting === null ? 'plane' : 'service',
    witnesses: { keys: witnesses?.verifierKeys ?? [], quorum: witnesses?.quorum ?? 0 },
    executionId,
    title,
    parameters,
    locale,
    generatedAt: formatTimestamp(now()),
    formats,
    ...(await brandingOf(services, projectId)),
    ...(await namesOf(services, projectId)),
  };
}

/** Names and settings of the project. A plane knows no names, and its configuration decides its settings. */
async function namesOf(
  { store, planeSettings }: Services,
  projectId: string,
): Promise<Pick<ReportTaskInput, 'organization' | 'projectName' | 'settings'>> {
  const project = await store.project(projectId);
  const organizationId = project?.organizationId ?? '';
  const [organization, known] = await Promise.all([
    store.organization(organizationId),
    store.storedProject(organizationId, projectId),
  ]);
  const settings: StoredSettings =
    planeSettings === undefined && known !== null
      ? settingsOf(known)
      : { ...defaultSettings, ...planeSettings?.() };
  const { retentionDays, legalHold, contentCapture } = settings;
  return {
    organization: organization?.name ?? null,
    projectName: known?.name ?? null,
    settings: { retentionDays, legalHold, contentCapture },
  };
}
