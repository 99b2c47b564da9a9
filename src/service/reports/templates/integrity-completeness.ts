/** Template `integrity-completeness`: whether the log is whole, was watched, and what went wrong with recording. */
import { limits } from '../../../contract/limits.ts';
import {
  isSilent,
  isWatched,
  type ServiceState,
  type SourceState,
} from '../../../core/intake/otlp/sources.ts';
import { splitNote } from '../../../core/note/signed.ts';
import { openOwn } from '../../log/checkpoints.ts';
import { factNames } from '../../events/facts.ts';
import { bypassesIn, bypassTable } from '../counts/bypasses.ts';
import { increase, order, totalOf } from '../counts/by-name.ts';
import { coverageRows, coverageTable } from './coverage.ts';
import { indexOf, integrityOf } from '../checks/integrity.ts';
import { factsOf, type Draft } from './draft.ts';
import { count, timeText } from './period.ts';
import { planeSilence } from '../counts/plane-reports.ts';
import { partyText, systemEvents, textOf } from './read.ts';
import { Rows } from './rows.ts';
import { notShown } from './shown.ts';
import { columns, type ReportSource, type TableSpec } from './source.ts';
import { tallyOf, type Tally } from '../counts/tally.ts';
import { template } from './sections.ts';

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
  rest: 'gov export create --resource audit_events --run gov.system has the events.',
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
  unshown: 'Checkpoints are stored beside the log. Each one can be checked against the newest.',
  rest: 'The log has all of them.',
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
  unshown: 'The state of sources is not in the log.',
  rest: 'gov sources list has all of them.',
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
  unshown: 'Its rows follow from all entries of the period.',
};

const alarmTable: TableSpec = {
  ...coverageTable,
  id: 'coverage-alarms',
  title: 'Tool calls that raise an alarm',
  lists:
    'Tool calls of runs of the period that ran without a decision or after a denial, or that a source lacks',
  unshown: 'Verdicts follow from the events of each run.',
  rest: 'gov runs coverage shows those of a run.',
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

export const integrityCompleteness = template({
  title: 'Integrity and completeness',
  summary: 'Whether the log is whole and was witnessed, what is missing, and which sources or clocks failed',
  choices:
    'Sources and checkpoints are states of the store, not leaves of the log. They are as they were when the report was made.',
  sections: {
    log: {
      title: 'The log',
      text: 'Each entry is a leaf of one Merkle tree. The checkpoint signs its root, so no entry below it can change or disappear without notice.',
      tables: [faultTable, checkpointTable],
      figures: {
        faults: 'Faults and gaps that the log recorded',
        leaves: 'Leaves of the log at the checkpoint',
        events: 'Events recorded in the period',
      },
      checks: ['planesWhole', 'usageWhole', 'indexCovers', 'ackedKept'],
    },
    clocks: {
      title: 'Clocks',
      figures: {
        clock: 'Jumps of the clock of the service',
        skewed: 'Events whose own time is more than 5 min off',
      },
      checks: ['clockSteady', 'clientClocks'],
    },
    sources: {
      title: 'Sources',
      tables: [sourceTable, quietTable],
      figures: {
        silent: 'Silent sources',
        missing: 'Telemetry records that are missing',
        quiet: ['Longest time without an entry', 'duration'],
      },
      checks: ['sourcesSend', 'balanced'],
    },
    ungoverned: {
      title: 'What ran ungoverned',
      text: 'Sources of a run are compared. A call that all of them leave out cannot be found.',
      tables: [alarmTable],
      figures: { alarms: 'Tool calls that raise an alarm' },
      checks: ['allGoverned'],
    },
    'control-tests': {
      title: 'Control tests',
      text: 'Machines of agents tried the known ways around the hooks of their clients (gov agents drill --bypasses), and recorded the results. A way is shut if it left no mark, or a decision came first, and the same attempt left its mark where gov was not in the way. A result that shows nothing is not a result.',
      tables: [bypassTable],
      figures: { openWays: 'Ways around hooks that are open' },
      checks: ['bypassesShut'],
    },
  },
  build: async (draft) => {
    const { source, period } = draft;
    const tally = await tallyOf(source, period);
    const { rows, kinds } = await faultRows(draft);
    const checkpoints = await checkpointRows(draft);
    const sources = await sourceRows(draft);
    const covered = await coverageRows(source, {
      spec: alarmTable,
      runIds: [...tally.runs.keys()],
      onlyAlarms: true,
    });
    const { leftOut } = covered;
    const seen = (n: number) => (leftOut > 0 ? { atLeast: n } : n);
    const [longest] = tally.quiet;
    const planes = await planeSilence(source, period);
    const bypasses = await bypassesIn(draft);
    return {
      figures: {
        faults: totalOf(kinds, ...faultTypes),
        leaves: source.treeSize,
        events: tally.events,
        alarms: seen(covered.alarms),
        silent: sources.silent,
        missing: seen(sources.missing + covered.missing),
        clock: kinds.get('clock.jumped') ?? 0,
        skewed: tally.skewed,
        openWays: bypasses.open,
        quiet: longest === undefined ? null : longest.toMs - longest.fromMs,
      },
      checks: {
        ...integrityOf(source, { kinds, tally, covered, sources, planes }),
        indexCovers: await indexOf(draft),
        bypassesShut: bypasses.examination,
      },
      blocks: {
        clocks: [
          factsOf({
            'Client clock ahead, at most': [tally.mostAheadMs, 'duration'],
            'Client clock behind, at most': [tally.mostBehindMs, 'duration'],
          }),
          'Imported recordings are older than their import, so their times look behind.',
        ],
      },
      tables: [
        rows.table({ completeness: await faultsShown(draft, tally) }),
        checkpoints.rows.table({
          scope: `${checkpointTable.lists}.${checkpoints.more ? ` Only the newest ${limits.reportCheckpoints} are looked at.` : ''}`,
        }),
        sources.rows.table({ scope: `${sourceTable.lists}, as known when the report was made.` }),
        quietRows(tally).table(),
        covered.rows.table({
          scope: `${alarmTable.lists}.${leftOut === 0 ? '' : ` ${count(leftOut, 'run was', 'runs were')} left out: the report compares at most ${limits.reportCoverageRuns} runs and ${limits.reportCoverageEvents} events, and no run with pruned events.`}`,
        }),
        bypasses.rows.table(),
      ],
    };
  },
});

async function faultRows(
  draft: Draft,
): Promise<{ readonly rows: Rows; readonly kinds: Map<string, number> }> {
  const rows = new Rows(faultTable);
  const kinds = new Map<string, number>();
  for await (const event of systemEvents(draft.source, draft.period)) {
    const { eventType, serverTimestamp } = event.clear;
    const isFault = faultTypes.has(eventType);
    if (!isFault && !notes.has(eventType)) continue;
    increase(kinds, eventType);
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
  /** Services that sent telemetry, those that did for long enough to be missed, and those of them that are silent. */
  readonly services: number;
  readonly watched: number;
  readonly silent: number;
  readonly missing: number;
}

const pageFacts = 500;

async function sourceRows({ source, period }: Draft): Promise<Sources> {
  const silent = new Set<string>();
  let [services, watched] = [0, 0];
  for await (const state of factsOfKind<ServiceState>(source, factNames.service)) {
    services += 1;
    if (isWatched(state)) watched += 1;
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
      [service, instance, isQuiet ? 'silent' : statusOf(state, period.asOfMs), ...seen, ...counts],
      isQuiet || state.missing > 0,
    );
  }
  return { rows, services, watched, silent: silent.size, missing };
}

const sendsWithinMs = limits.sourceSilentHours * 3_600_000;

/** An instance that ended may have done its work: it is not silent. */
const statusOf = ({ lastSeenMs }: SourceState, nowMs: number): string =>
  nowMs - lastSeenMs > sendsWithinMs ? 'no longer sends' : 'sends';

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

function quietRows({ quiet }: Tally): Rows {
  const rows = new Rows(quietTable);
  for (const { fromMs, toMs } of quiet) rows.add([timeText(fromMs), timeText(toMs), toMs - fromMs]);
  return rows;
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
