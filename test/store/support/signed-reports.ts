/** Reports that a plane really signed, kept as a service keeps them: what a whole check of a store believes. */
import type { UsageReport } from '../../../src/contract/telemetry.ts';
import { sha256 } from '../../../src/core/hash.ts';
import { canonicalize } from '../../../src/core/json/parse.ts';
import { reportMonth } from '../../../src/core/planes/usage-report.ts';
import type { EventContext } from '../../../src/service/access/project-events.ts';
import { planeChanged } from '../../../src/service/planes/events.ts';
import type { Store, StoredPlane, StoredReport } from '../../../src/store/port/store.ts';
import type { Effect } from '../../../src/store/port/store.ts';
import { plane as identity, TestPlane as Sender } from '../../core/planes/log.ts';
import { answer, challenge, enrolled, keep, plane, save, saveReport } from './data-planes.ts';
import { genesis, projectOf, startMs } from './fixture.ts';
import { unmetered } from './governance.ts';
import { telling } from './tenants.ts';

/** The project and the plane that reports of `test/core/planes/log.ts` name. */
export const project = '00000000000000000000000001';
export const planeId = `dpl_${project}`;
export const projectId = `prj_${project}`;

function kept(report: UsageReport, more: Partial<StoredReport> = {}): StoredReport {
  const body = canonicalize(report);
  const { epoch, treeSize } = report.log;
  return {
    planeId,
    epoch,
    sequence: report.sequence,
    reportId: `${report.reportId}`,
    body,
    digest: sha256(body),
    receivedMs: startMs,
    month: reportMonth(report),
    treeSize,
    totals: report.totals,
    link: report.sequence === 1 ? 'linked' : 'unknown',
    cosignature: '',
    attestation: 'not_sampled',
    challenge: null,
    answer: null,
    ...more,
  };
}

/** Reports of epoch 0: two of November, two of December; and one of epoch 1, whose ids go on. */
function signed(): UsageReport[] {
  const sender = new Sender();
  const reports = [sender.work(9).report()];
  sender.work(5);
  sender.nowMs = Date.UTC(2026, 11, 1);
  reports.push(sender.report(), sender.work(7).report(), sender.work(3).report());
  const restored = new Sender({ seed: 'restored', epoch: 1 });
  const again = restored.work(4).report();
  return [...reports, { ...again, reportId: again.reportId.replace(/1$/, '9') }];
}

/** A change of a plane with the event that tells of it. */
export const told = (change: Parameters<typeof planeChanged>[0], changed: StoredPlane, by: EventContext) =>
  unmetered([planeChanged(change, changed, by)], [save(changed)], { projectId });

/** The third report comes last; the first one is answered for. */
export async function reported(store: Store): Promise<void> {
  await store.createProject(projectOf(project), genesis(project));
  const { origin, auditOrigin, verifierKey, auditVerifierKey } = identity;
  const known = enrolled('1', { origin, auditOrigin, verifierKey, auditVerifierKey });
  const [first, second, third, fourth, other] = signed() as [
    UsageReport,
    UsageReport,
    UsageReport,
    UsageReport,
    UsageReport,
  ];
  const asked = { attestation: 'pending', challenge: challenge('a') } as const;
  const link = (sequence: number): Effect => ({
    kind: 'linkReport',
    planeId,
    epoch: 0,
    sequence,
    link: 'linked',
  });
  const effects: Effect[] = [
    saveReport(kept(first, asked)),
    saveReport(kept(fourth)),
    saveReport(kept(second)),
    saveReport(kept(other)),
    saveReport(kept(third)),
    link(2),
    link(3),
    {
      kind: 'answerChallenge',
      planeId,
      reportId: first.reportId,
      attestation: 'verified',
      answer: answer('a'),
    },
  ];
  const registered = plane('1', { planeId, projectId, name: 'plane 1', createdBy: 'operator' });
  const joined = { ...registered, enrolled: known, tokenUsedMs: known.atMs, revision: 2 };
  await store.append(told('registered', registered, telling));
  await store.append(told('enrolled', joined, { ...telling, nowMs: known.atMs }));
  for (const effect of effects) await keep(store, [effect], projectId);
}
