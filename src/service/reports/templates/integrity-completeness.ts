/** Template `integrity-completeness`: whether the log is whole, was watched, and what went wrong with recording. */
import { limits } from '../../../contract/limits.ts';
import { isSilent, type ServiceState, type SourceState } from '../../../core/intake/otlp/sources.ts';
import { splitNote } from '../../../core/note/signed.ts';
import { openOwn } from '../../log/checkpoints.ts';
import { factNames } from '../../events/facts.ts';
import { coverageRows, coverageTable, type Covered } from './coverage.ts';
import { indexCheck, integrityChecks } from '../checks/integrity.ts';
import { Draft, factsOf } from './draft.ts';
import { count, timeText } from './period.ts';
import { planeReports } from '../counts/plane-reports.ts';
import { partyText, systemEvents, textOf } from './read.ts';
import { Rows } from './rows.ts';
import { notShown } from './shown.ts';
import { columns, type ReportSource, type TableSpec, type Template } from './source.ts';
import { tallyOf, type Tally } from './tally.ts';

const faultTable: TableSpec = {
  id: 'faults',
  title: 'Faults and gaps',
  lists:
    'Events of the service in the period that say that recording, clocks, reports or access failed; faults first, each part in log order',
  columns: columns({
    leaf: ['Leaf', 'number'],
    recordedAt: ['Recorded', 'time'],
    eventType: 'What happened',
    subject: 'Subject',
    detail: 'Detail',
  }),
};

const checkpointTable: TableSpec = {
  id: 'checkpoints',
  title: 'Signed checkpoints',
  lists: 'Stored checkpoints of the log in the period, newest first',
  columns: columns({
    treeSize: ['Leaves', 'number'],
    rootHash: ['Root', 'hash'],
    signatures: ['Signatures', 'number'],
  }),
};

const sourceTable: TableSpec = {
  id: 'sources',
  title: 'Sources of telemetry',
  lists: 'Programs that sent telemetry; silent ones and those with missing records first, each part by name',
  columns: columns({
    service: 'Service',
    instance: 'Instance',
    status: ['Status', 'status'],
    firstSeen: ['First seen', 'time'],
    lastSeen: ['Last seen', 'time'],
    kept: ['Records kept', 'number'],
    repeated: ['Sent again', 'number'],
    rejected: ['Rejected', 'number'],
    missing: ['Missing', 'number'],
    clockOffset: ['Clock offset', 'duration'],
  }),
};

const quietTable: TableSpec = {
  id: 'quiet-times',
  title: 'Longest times without an entry',
  lists: 'The ten longest times in the period in which the log recorded nothing, longest first',
  columns: columns({
    from: ['From', 'time'],
    to: ['To', 'time'],
    lasted: ['Lasted', 'duration'],
  }),
};

const alarmTable: TableSpec = {
  ...coverageTable,
  id: 'coverage-alarms',
  title: 'Tool calls that raise an alarm',
  lists:
    'Tool calls of runs of the period that ran without a decision or after a denial, or that a source lacks',
};

/** Events that say that something failed. The others of the table say that it works again, or that a person acted. */
export const faultTypes: ReadonlySet<string> = new Set([
  'clock.jumped',
  'telemetry.gap_detected',
  'telemetry.report_refused',
  'telemetry.challenge_expired',
  'integrity.violation',
  'attestation.failed',
  'attestation.contradicted',
  'export.failed',
  'config.change.refused',
  'quota.exceeded',
  'authentication.failed',
  'authorization.failed',
]);
const notes = new Set(['clock.corrected', 'telemetry.reported_late', 'log.pruned', 'erasure.executed']);

export const integrityCompleteness: Template = {
  title: 'Integrity and completeness',
  summary: 'Whether the log is whole and was witnessed, what is missing, and which sources or clocks failed',
  tables: [faultTable, checkpointTable, sourceTable, quietTable, alarmTable],
  build: async (source) => {
    const draft = await Draft.of(source);
    const tally = await tallyOf(source, draft.period);
    const { rows, kinds } = await faultRows(draft);
    const checkpoints = await checkpointRows(draft);
    const sources = await sourceRows(draft);
    const covered = await coverageRows(source, {
      spec: alarmTable,
      runIds: [...tally.runs.keys()],
      onlyAlarms: true,
    });
    const failed = [...kinds].filter(([type]) => faultTypes.has(type)).reduce((sum, [, n]) => sum + n, 0);
    const longest = tally.quiet[0];

    draft.figure('faults', 'Faults and gaps that the log recorded', failed);
    draft.figure('leaves', 'Leaves of the log at the checkpoint', source.treeSize);
    draft.figure('events', 'Events recorded in the period', tally.events);
    const atLeast = covered.leftOut > 0 ? ', at least' : '';
    draft.figure('alarms', `Tool calls that raise an alarm${atLeast}`, covered.alarms);
    draft.figure('silent', 'Silent sources', sources.silent);
    draft.figure(
      'missing',
      `Telemetry records that are missing${atLeast}`,
      sources.missing + covered.missing,
    );
    draft.figure('clock', 'Jumps of the clock of the service', kinds.get('clock.jumped') ?? 0);
    draft.figure('skewed', 'Events whose own time is more than 5 min off', tally.skewed);
    draft.figure(
      'quiet',
      'Longest time without an entry',
      longest === undefined ? null : longest.toMs - longest.fromMs,
      'duration',
    );
    let reported = 0;
    for await (const _report of planeReports(source)) reported += 1;
    integrityChecks(draft, { kinds, tally, covered, sources, reported });
    await indexCheck(draft);

    draft.section(
      'The log',
      {
        text: 'Each entry is a leaf of one Merkle tree. The checkpoint signs its root, so no entry below it can change or disappear without notice.',
      },
      { table: faultTable.id },
      { table: checkpointTable.id },
    );
    draft.section(
      'Clocks',
      factsOf({
        'Client clock ahead, at most': [tally.mostAheadMs, 'duration'],
        'Client clock behind, at most': [tally.mostBehindMs, 'duration'],
      }),
      { text: 'Imported recordings are older than their import, so their times look behind.' },
    );
    draft.section('Sources', { table: sourceTable.id }, { table: quietTable.id });
    draft.section(
      'What ran ungoverned',
      { text: 'Sources of a run are compared. A call that all of them leave out cannot be found.' },
      { table: alarmTable.id },
    );
    await tables(draft, { rows, checkpoints, sources, tally, covered });
    return draft.built([
      'Sources and checkpoints are states of the store, not leaves of the log. They are as they were when the report was made.',
    ]);
  },
};

async function faultRows(
  draft: Draft,
): Promise<{ readonly rows: Rows; readonly kinds: Map<string, number> }> {
  const rows = new Rows(faultTable);
  const kinds = new Map<string, number>();
  for await (const event of systemEvents(draft.source, draft.period)) {
    const { eventType, serverTimestamp } = event.clear;
    const isFault = faultTypes.has(eventType);
    if (!isFault && !notes.has(eventType)) continue;
    kinds.set(eventType, (kinds.get(eventType) ?? 0) + 1);
    const subject = partyText(event.members.get('resource'));
    rows.add([event.index, serverTimestamp, eventType, subject, textOf(event.metadata)], isFault);
  }
  return { rows, kinds };
}

async function checkpointRows({
  source,
  period,
}: Draft): Promise<{ readonly rows: Rows; readonly more: boolean }> {
  const { reader, projectId } = source;
  const rows = new Rows(checkpointTable);
  let note: string | null = source.checkpoint;
  for (let n = 0; note !== null && n < limits.reportCheckpoints; n++) {
    const { size, root } = openOwn(note);
    if (size <= period.from) return { rows, more: false };
    if (size <= period.to)
      rows.add([size, Buffer.from(root).toString('base64'), splitNote(note).signatures.length]);
    note = await reader.checkpointBelow(projectId, 'audit', size);
  }
  return { rows, more: note !== null };
}

interface Sources {
  readonly rows: Rows;
  /** Services that sent telemetry, and those of them that fell silent. */
  readonly services: number;
  readonly silent: number;
  readonly missing: number;
}

const pageFacts = 500;

async function sourceRows({ source, period }: Draft): Promise<Sources> {
  const silent = new Set<string>();
  let services = 0;
  for await (const state of factsOfKind<ServiceState>(source, factNames.service)) {
    services += 1;
    if (isSilent(state, period.asOfMs)) silent.add(state.service);
  }
  const states: SourceState[] = [];
  for await (const state of factsOfKind<SourceState>(source, factNames.source)) states.push(state);
  const rows = new Rows(sourceTable);
  let missing = 0;
  for (const state of states.toSorted(
    (a, b) => order(a.service, b.service) || order(a.instance ?? '', b.instance ?? ''),
  )) {
    const { service, instance, firstSeenMs, lastSeenMs, kept, repeated, rejected, offsetMs } = state;
    const isQuiet = silent.has(service);
    missing += state.missing;
    const seen = [timeText(firstSeenMs), timeText(lastSeenMs)];
    const counts = [kept, repeated, rejected, state.missing, offsetMs];
    rows.add(
      [service, instance, isQuiet ? 'silent' : 'sends', ...seen, ...counts],
      isQuiet || state.missing > 0,
    );
  }
  return { rows, services, silent: silent.size, missing };
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

async function* factsOfKind<State>(
  { reader, projectId }: ReportSource,
  prefix: string,
): AsyncGenerator<State, void, undefined> {
  let after: string | undefined;
  for (let read = 0; read < limits.sourcesWatched; read += pageFacts) {
    const page = { limit: pageFacts, ...(after === undefined ? {} : { after }) };
    const facts = await reader.factsFrom(projectId, prefix, page);
    // the service wrote these texts itself
    for (const { value } of facts) yield JSON.parse(value) as State;
    if (facts.length < pageFacts) return;
    after = facts.at(-1)?.name;
  }
}

async function tables(
  draft: Draft,
  of: {
    rows: Rows;
    checkpoints: { rows: Rows; more: boolean };
    sources: Sources;
    tally: Tally;
    covered: Covered;
  },
): Promise<void> {
  const rest = 'gov export create --resource audit_events --run gov.system has the events.';
  draft.table(of.rows.table(`${faultTable.lists}.`, await faultsShown(draft, of.tally), { rest }));
  const more = of.checkpoints.more ? ` Only the newest ${limits.reportCheckpoints} are looked at.` : '';
  draft.table(
    of.checkpoints.rows.table(
      `${checkpointTable.lists}.${more}`,
      notShown('Checkpoints are stored beside the log. Each one can be checked against the newest.'),
      { rest: 'The log has all of them.' },
    ),
  );
  draft.table(
    of.sources.rows.table(
      `${sourceTable.lists}, as known when the report was made.`,
      notShown('The state of sources is not in the log.'),
      { rest: 'gov sources list has all of them.' },
    ),
  );
  const quiet = new Rows(quietTable);
  for (const { fromMs, toMs } of of.tally.quiet) quiet.add([timeText(fromMs), timeText(toMs), toMs - fromMs]);
  draft.table(
    quiet.table(`${quietTable.lists}.`, notShown('Its rows follow from all entries of the period.'), {
      rest: '',
    }),
  );
  const { covered } = of;
  const left =
    covered.leftOut === 0
      ? ''
      : ` ${count(covered.leftOut, 'run was', 'runs were')} left out: the report compares at most ${limits.reportCoverageRuns} runs and ${limits.reportCoverageEvents} events, and no run with pruned events.`;
  draft.table(
    covered.rows.table(
      `${alarmTable.lists}.${left}`,
      notShown('Verdicts follow from the events of each run.'),
      { rest: 'gov runs coverage shows those of a run.' },
    ),
  );
}

/** One answer of the log for each type of fault: it shows those that happened, and that the others did not. */
async function faultsShown(
  { evidence }: Draft,
  { types, serviceTypes }: Tally,
): Promise<ReturnType<typeof notShown>> {
  const listed = [...faultTypes, ...notes];
  const byClients = listed.filter((type) => types.has(type));
  if (byClients.length > 0)
    return notShown(`Clients recorded events of the type ${byClients.join(', ')} too, which are not rows.`);
  const lists = listed.map((type) => ({ key: ['type', type], rows: serviceTypes.get(type) ?? 0 }));
  return evidence.shows('faults', lists);
}
