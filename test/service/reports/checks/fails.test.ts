/**
 * Each check of each template has a log on which it fails, and one on which it is NOT SHOWN. A check without an entry here
 * does not compile, and fails the first test.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { reportTemplateIds, type ReportTemplateId } from '../../../../src/contract/report-words.ts';
import type { Report } from '../../../../src/core/reports/model.ts';
import { factNames } from '../../../../src/service/events/facts.ts';
import {
  checks,
  commonChecks,
  periodOver,
  tableCheck,
  type CheckId,
} from '../../../../src/service/reports/checks/names.ts';
import { templates } from '../../../../src/service/reports/templates/list.ts';
import type { ReportSource } from '../../../../src/service/reports/templates/source.ts';
import type { StoreReader } from '../../../../src/store/port/store.ts';
import { answerText } from '../../../../src/core/proofs/answer.ts';
import { answer } from '../../../core/proofs/asked.ts';
import { startService, type TestService } from '../../../support/hosted.ts';
import { fill, holdClock, later, type Filled } from '../templates/filled.ts';
import { builtOver, hostileLog, type Hostile } from './hostile.ts';
import { built, rowsOf } from '../templates/world.ts';

let service: TestService;
let known: Filled;
let hostile: Hostile;
beforeAll(async () => {
  holdClock();
  service = await startService();
  const tenant = await service.signUp('ada');
  known = await fill(tenant);
  hostile = await hostileLog(service, await service.signUp('eve'));
  // makes an index of the log, which later checkpoints cover
  await built(service.services, [known.projectId, 'policy-changes']);
  // a whole month ends after the last entries, and one more entry follows
  later(40 * 86_400_000);
  await tenant.call('POST', '/events', { body: { ...late, timestamp: new Date(Date.now()).toISOString() } });
});
afterAll(async () => {
  vi.restoreAllMocks();
  await service.end();
});
const late = { runId: 'late', eventType: 'agent.step', actor: { id: 'a' }, action: 'x' };

type Members = Partial<Omit<ReportSource, 'reader'>> & { reader?: Partial<StoreReader> };
/** Which log, by which template, and what is otherwise about it. */
type Case = readonly [log: 'known' | 'hostile', template: ReportTemplateId, members?: () => Members];

const store = (): TestService['services']['store'] => service.services.store;
const ofRun = (runId: string) => (): Members => ({ runId });
const answering = (count: number | null): ReportSource['host'] => ({
  // of a report's answers the bytes are attached, and read for who signed them
  answer: async () =>
    count === null ? null : { bytes: Buffer.from(answerText(answer(['run', 'r']))), count },
  bundle: async () => Buffer.from('{}'),
});
const silent = { service: 'agent', firstSeenMs: 1, lastSeenMs: 1 + 8 * 86_400_000 };
const planes = {
  planes: async () => [{ planeId: 'dpl_1', name: 'p', createdMs: 1, revokedMs: null }] as never,
  reports: async () =>
    [
      {
        epoch: 1,
        sequence: 2,
        reportId: 'rpt_1',
        receivedMs: known.startMs + 1,
        month: '2026-11',
        link: 'ROLLBACK',
        attestation: 'none',
        totals: {},
      },
    ] as never,
} satisfies Partial<StoreReader>;

/** Where each check fails. */
const failing: Readonly<Record<CheckId, Case>> = {
  recorded: ['hostile', 'ai-act-logging'],
  namesSystem: ['known', 'ai-act-logging'],
  keptSixMonths: [
    'known',
    'ai-act-logging',
    () => ({ settings: { retentionDays: 182, legalHold: false, contentCapture: 'hashes' } }),
  ],
  answered: ['hostile', 'decisions-exceptions'],
  tookTime: ['hostile', 'ai-act-logging'],
  notOwnRequest: ['hostile', 'decisions-exceptions'],
  runWhole: ['known', 'run-evidence', () => ({ runId: 'r1', host: answering(1) })],
  runProved: ['known', 'run-evidence', () => ({ runId: 'r1', host: answering(6) })],
  runObeyed: ['known', 'run-evidence', ofRun('r1')],
  runGoverned: ['known', 'run-evidence', ofRun('r1')],
  runBalanced: ['hostile', 'run-evidence', ofRun('recorded')],
  fieldsKept: ['known', 'run-evidence', ofRun('r2')],
  secondPerson: ['known', 'policy-changes'],
  hasReason: ['known', 'policy-changes'],
  callDecided: ['known', 'tool-access'],
  grantsUsed: ['hostile', 'tool-access'],
  planesWhole: ['hostile', 'integrity-completeness'],
  usageWhole: ['hostile', 'integrity-completeness'],
  ackedKept: ['hostile', 'integrity-completeness'],
  clockSteady: ['hostile', 'integrity-completeness'],
  sourcesSend: [
    'known',
    'integrity-completeness',
    () => ({
      reader: {
        factsFrom: async (_project, prefix) =>
          prefix === factNames.service ? [{ name: prefix, value: JSON.stringify(silent) }] : [],
      },
    }),
  ],
  allGoverned: ['known', 'integrity-completeness'],
  bypassesShut: ['hostile', 'integrity-completeness'],
  balanced: ['hostile', 'integrity-completeness'],
  clientClocks: ['hostile', 'integrity-completeness'],
  indexCovers: [
    'known',
    'integrity-completeness',
    () => ({
      ...withIndexLeaves(2),
      reader: {
        leavesOf: async (projectId, filter, page) =>
          (await store().leavesOf(projectId, filter, page)).map((leaf) =>
            filter.type === 'gov.index/1'
              ? { ...leaf, record: leaf.record.replace(/"size":[0-9]+/, '"size":3') }
              : leaf,
          ),
      },
    }),
  ],
  sameResult: ['hostile', 'replay-drift'],
  noGraveDrift: ['known', 'replay-drift'],
  runsProved: ['known', 'incident-bundle', () => ({ host: answering(0) })],
  meterSigned: ['known', 'usage-statement', () => ({ keys: [] })],
  daysAddUp: [
    'known',
    'usage-statement',
    () => ({
      reader: {
        leaves: async (projectId, tree, range) =>
          (await store().leaves(projectId, tree, range)).map((leaf) => ({
            ...leaf,
            record: tree === 'metering' ? leaf.record.replace('"units":1', '"units":2') : leaf.record,
          })),
      },
    }),
  ],
  quotasAgree: [
    'known',
    'usage-statement',
    () => ({
      startMs: 0,
      endMs: Date.now() - 5 * 86_400_000,
      reader: { usage: async (...of) => ({ ...(await store().usage(...of)), audit_event: 999 }) },
    }),
  ],
  planesLinked: ['known', 'usage-statement', () => ({ reader: planes })],
  valuesGone: [
    'hostile',
    'retention-deletion',
    () => ({
      reader: {
        leaf: async (projectId, index) => {
          const leaf = await store().leaf(projectId, index);
          const { before } = hostile;
          return leaf === null || index !== before.index
            ? leaf
            : { ...leaf, disclosures: before.disclosures };
        },
      },
    }),
  ],
  prunedRoots: ['hostile', 'retention-deletion'],
  holdKept: ['hostile', 'retention-deletion'],
};

/** An index that follows the log by so many leaves, until the test ends. */
function withIndexLeaves(indexLeaves: number): object {
  const before = limits.indexLeaves;
  Object.assign(limits, { indexLeaves });
  onTestFinished(() => void Object.assign(limits, { indexLeaves: before }));
  return {};
}

/** Where a check has nothing to examine: a period in which nothing was recorded. */
const nothing = { startMs: 1000, endMs: 2000 };

const statusIn = (report: { readonly contents: Pick<Report, 'checks'> }, name: string) =>
  report.contents.checks.find((check) => check.name === name)?.status;
const periodOf = (log: Case[0]) =>
  log === 'known' ? { startMs: known.startMs, endMs: known.endMs } : { startMs: 0 };
const projectOf = (log: Case[0]): string => (log === 'known' ? known : hostile).projectId;

describe('each check of the templates', () => {
  const ids = Object.keys(checks) as CheckId[];

  it('has a log on which it must fail', () => {
    expect(Object.keys(failing).toSorted()).toEqual(ids.toSorted());
  });

  it.each(ids.map((id) => [checks[id], ...failing[id]] as const))(
    '“%s” fails on a log that breaks it',
    async (name, log, template, members = () => ({})) => {
      const of = [projectOf(log), template] as const;
      const report = await builtOver(service.services, of, { ...periodOf(log), ...members() });
      expect(statusIn(report, name)).toBe('fail');
    },
  );

  it.each(ids.map((id) => [checks[id], ...failing[id]] as const))(
    '“%s” is not shown where nothing was recorded',
    async (name, log, template) => {
      const runId = template === 'run-evidence' ? 'mistyped' : null;
      const report = await built(service.services, [projectOf(log), template], { ...nothing, runId });
      const check = report.contents.checks.find((each) => each.name === name);
      expect(check).toMatchObject({ status: 'not_shown', detail: expect.stringMatching(/\w/) });
    },
  );
});

it('a data plane that fell silent is not shown to lack no report', async () => {
  const of = [known.projectId, 'integrity-completeness'] as const;
  const said = async (endMs: number) => {
    const report = await builtOver(service.services, of, { ...periodOf('known'), endMs, reader: planes });
    return [statusIn(report, checks.usageWhole), statusIn(report, checks.planesWhole)];
  };
  expect(await said(known.endMs)).toEqual(['pass', 'pass']);
  expect(await said(Date.now())).toEqual(['not_shown', 'not_shown']);
});

it('a source that sent for a short time is not shown to send: it cannot be silent yet', async () => {
  const sources = [
    { service: 'young', firstSeenMs: known.startMs, lastSeenMs: known.startMs + 60_000 },
    { service: 'steady', firstSeenMs: 1, lastSeenMs: Number.MAX_SAFE_INTEGER },
  ];
  const said = async (services: readonly object[]) => {
    const reader: Partial<StoreReader> = {
      factsFrom: async (_project, prefix) =>
        prefix === factNames.service
          ? services.map((each) => ({ name: prefix, value: JSON.stringify(each) }))
          : [],
    };
    const of = [known.projectId, 'integrity-completeness'] as const;
    const report = await builtOver(service.services, of, { ...periodOf('known'), reader });
    return report.contents.checks.find(({ name }) => name === checks.sourcesSend);
  };
  const young = '1 service has sent for less than 24 h';
  expect(await said(sources)).toMatchObject({ status: 'not_shown', detail: expect.stringContaining(young) });
  expect(await said(sources.slice(0, 1))).toMatchObject({
    status: 'not_shown',
    detail: expect.stringContaining(young),
  });
  expect(await said(sources.slice(1))).toMatchObject({ status: 'pass' });
});

it('an instance that sent once, a long time ago, is not listed as one that sends', async () => {
  const instance = {
    service: 'job',
    instance: 'i1',
    kept: 1,
    repeated: 0,
    rejected: 0,
    missing: 0,
    offsetMs: 0,
  };
  const seen = (ms: number) => ({ ...instance, firstSeenMs: ms, lastSeenMs: ms });
  const statuses = async (state: object) => {
    const reader: Partial<StoreReader> = {
      factsFrom: async (_project, prefix) =>
        prefix === factNames.source ? [{ name: prefix, value: JSON.stringify(state) }] : [],
    };
    const of = [known.projectId, 'integrity-completeness'] as const;
    return rowsOf(
      await builtOver(service.services, of, { ...periodOf('known'), reader }),
      'sources',
      'status',
    );
  };
  expect(await statuses(seen(known.startMs))).toEqual([{ status: 'no longer sends' }]);
  expect(await statuses(seen(Date.now()))).toEqual([{ status: 'sends' }]);
});

it('an incident of more entries than are looked at says at least', async () => {
  const before = limits.reportRows;
  Object.assign(limits, { reportRows: 1 }); // of at most 2 entries
  onTestFinished(() => void Object.assign(limits, { reportRows: before }));
  const { contents } = await built(service.services, [known.projectId, 'incident-bundle'], periodOf('known'));
  const labels = contents.figures.map(({ label, value }) => `${label}: ${value}`);
  expect(labels).toContain('Failures in the period, at least: 2');
  expect(labels).toContain('Affected runs, at least: 1');
  expect(JSON.stringify(contents.sections)).toContain('more entries were not looked at');
});

describe('the checks that each report has', () => {
  const members = () => ({ ...periodOf('known'), runId: null });

  it.each([
    [commonChecks.rowsFromLog, () => ({ treeSize: 5 })],
    [commonChecks.logSigned, () => ({ keys: [] })],
    [
      commonChecks.witnessed,
      () => ({ witnesses: { keys: service.services.verifierKeys('w.example'), quorum: 1 } }),
    ],
  ] as const)('“%s” fails where it does not hold', async (name, broken) => {
    const of = [known.projectId, 'executive-summary'] as const;
    const report = await builtOver(service.services, of, { ...members(), ...broken() });
    expect(statusIn(report, name)).toBe('fail');
  });

  it.each([
    ['integrity-completeness', commonChecks.rowsFromLog, () => ({ startMs: 0, treeSize: 5 })],
    ['tool-access', commonChecks.logSigned, () => ({ keys: [] })],
  ] as const)('of %s take back what rests on “%s”, which failed', async (template, name, broken) => {
    const report = await builtOver(service.services, [known.projectId, template], {
      ...members(),
      ...broken(),
    });
    const { checks: all } = report.contents;
    expect(all.filter(({ status, name: at }) => status === 'pass' && at !== commonChecks.logSigned)).toEqual(
      [],
    );
    expect(all).toContainEqual(
      expect.objectContaining({ status: 'not_shown', detail: `It rests on “${name}”, which failed.` }),
    );
  });

  it('are not shown for a log without a leaf and without witnesses', async () => {
    const of = [known.projectId, 'executive-summary'] as const;
    const report = await builtOver(service.services, of, { ...members(), treeSize: 0 });
    for (const name of Object.values(commonChecks))
      expect([name, statusIn(report, name)]).toEqual([name, 'not_shown']);
  });

  it('of the period say that it is not over, and never that it passed', async () => {
    const report = await built(service.services, [known.projectId, 'executive-summary'], { startMs: 0 });
    expect(statusIn(report, periodOver)).toBe('not_shown');
  });

  /** Their rows are no list of the log, so nothing shows or refutes them. */
  const unlisted: ReadonlySet<ReportTemplateId> = new Set(['incident-bundle', 'executive-summary']);

  it.each(reportTemplateIds.filter((id) => !unlisted.has(id)))(
    'of the main table of %s fail where the log contradicts it, and are not shown without an index',
    async (id) => {
      const name = tableCheck(templates[id].tables[0].title);
      const runId = id === 'run-evidence' ? 'r1' : null;
      const over = (host: ReportSource['host'], more: Members = {}) =>
        builtOver(service.services, [known.projectId, id], { ...members(), runId, host, ...more });
      const isUnits = id === 'usage-statement';
      const broken = isUnits ? { keys: [] } : id === 'integrity-completeness' ? { startMs: 0 } : {};
      expect(statusIn(await over(answering(0), broken), name)).toBe('fail');
      const unsigned = isUnits ? { reader: { checkpointFrom: async () => null } } : {};
      expect(statusIn(await over(answering(null), unsigned), name)).toBe('not_shown');
    },
  );

  it.each([...unlisted])('of the main table of %s are not shown, whatever the log answers', async (id) => {
    const name = tableCheck(templates[id].tables[0].title);
    for (const count of [0, null]) {
      const over = { ...members(), host: answering(count) };
      expect(statusIn(await builtOver(service.services, [known.projectId, id], over), name)).toBe(
        'not_shown',
      );
    }
  });
});
