/** Template `ai-act-logging`: which systems were in use when, and whether their records are kept (contract L4). */
import { limits } from '../../../contract/limits.ts';
import { openConfigChange } from '../../../core/decided/risk-config.ts';
import { openPolicyChange } from '../../../core/decided/policy-change.ts';
import { openSnapshot, snapshotFields } from '../../../core/decided/snapshot.ts';
import { activityIn, type Recorders, type ToolCalls } from '../counts/activity.ts';
import {
  approvalRows,
  approvalsIn,
  approvalTable,
  decidedOf,
  figuresOf,
  oversightChecks,
} from './approvals.ts';
import { applicability, logging } from './clauses.ts';
import { Draft, factsOf } from './draft.ts';
import { count, timeText } from './period.ts';
import { leavesIn } from './read.ts';
import { Rows } from './rows.ts';
import { notShown } from './shown.ts';
import { columns, type TableSpec, type Template } from './source.ts';
import { tallyOf, type Tally } from './tally.ts';

const useTable: TableSpec = {
  id: 'periods-of-use',
  title: 'Periods of use',
  lists:
    'Runs with an event that was recorded in the period; those without a system id first, each part in log order',
  columns: columns({
    runId: 'Run',
    systemId: 'AI system',
    startedAt: ['First event', 'time'],
    endedAt: ['Last event', 'time'],
    lasted: ['Lasted', 'duration'],
    recordedFrom: ['Recorded from', 'time'],
    recordedTo: ['Recorded to', 'time'],
    events: ['Events in the period', 'number'],
    begins: 'Began in the period',
  }),
};

const systemTable: TableSpec = {
  id: 'systems',
  title: 'AI systems',
  lists: 'AI systems that events of the period name, by id',
  columns: columns({
    systemId: 'AI system',
    runs: ['Runs', 'number'],
    events: ['Events', 'number'],
    recordedFrom: ['Recorded from', 'time'],
    recordedTo: ['Recorded to', 'time'],
  }),
};

const modificationTable: TableSpec = {
  id: 'modifications',
  title: 'Modifications',
  lists:
    'Changes of policies in force, of the risk router, and of the conditions of runs that were recorded in the period, in log order',
  columns: columns({
    leaf: ['Leaf', 'number'],
    recordedAt: ['Recorded', 'time'],
    kind: 'Kind',
    subject: 'Subject',
    from: 'Before',
    to: 'After',
    actor: 'Changed by',
  }),
};

const oversight = approvalTable('Human oversight');

export const aiActLogging: Template = {
  title: 'AI Act logging dossier',
  summary:
    'Which AI systems were in use and when, whether events were recorded and are kept, and who oversaw them',
  tables: [useTable, systemTable, modificationTable, oversight],
  build: async (source) => {
    const draft = await Draft.of(source);
    const tally = await tallyOf(source, draft.period);
    const uses = useRows(tally);
    const changes = await modificationRows(draft);
    const { cases, more } = await approvalsIn(source, draft.period);
    const approvals = figuresOf(cases);
    const { toolCalls, recorders } = await activityIn(source, draft.period);
    const unnamed = [...tally.runs.values()].filter(({ systemId }) => systemId === null).length;

    draft.figure('systems', 'AI systems that events name', tally.systems.size);
    draft.figure('runs', 'Periods of use (runs)', uses.population + tally.moreRuns);
    draft.figure('events', 'Events recorded', tally.events);
    const atLeast = tally.moreRuns > 0 ? ', at least' : '';
    draft.figure('unnamed', `Runs that name no AI system${atLeast}`, unnamed);
    draft.figure(
      'retention',
      'Days that contents are kept',
      source.settings.retentionDays ?? 'no limit',
      'text',
    );
    draft.figure('modifications', 'Modifications', changes.population);
    draft.figure('oversight', 'Requests for approval decided', decidedOf(approvals));
    loggingChecks(draft, { tally, unnamed, recorders });
    oversightChecks(draft, approvals, more);

    draft.section('What the law asks of logs', ...applicability, factsOf(clauses()));
    draft.section(
      'Systems and periods of use',
      {
        text: `${count(tally.systems.size, 'AI system')} and ${count(uses.population + tally.moreRuns, 'run')} in the period. A run is one period of use: its first and last event are by the clock of the client.`,
      },
      { table: systemTable.id },
      { table: useTable.id },
    );
    draft.section('Events that help to find risks', risks(tally, toolCalls));
    draft.section(
      'Modifications',
      { text: 'Policies, the risk router, and the model, tools and configuration that runs state.' },
      { table: modificationTable.id },
    );
    draft.section('Human oversight', { table: oversight.id });
    draft.section('Retention', retention(draft));

    await useTables(draft, uses, tally);
    draft.table(
      changes.table(
        `${modificationTable.lists}.`,
        notShown('Its rows come from three lists of the log, and only changes are rows.'),
        {
          rest: 'The report policy-changes has the policies.',
        },
      ),
    );
    draft.table(
      approvalRows(oversight, cases).table(
        `${oversight.lists}. Their state is that at the newest entry below the checkpoint.`,
        notShown(
          'Requests and answers are in two lists of the log. The report decisions-exceptions shows the decisions.',
        ),
        { rest: 'gov approvals list has all of them.', more },
      ),
    );
    return draft.built([
      'Events of the service itself are not events of an AI system and are left out. What no client recorded is not in the log.',
    ]);
  },
};

const clauses = () =>
  Object.fromEntries(logging.map(({ name, cite, asks }) => [name, [`${asks} (${cite})`, 'text'] as const]));

function loggingChecks(
  draft: Draft,
  { tally, unnamed, recorders }: { tally: Tally; unnamed: number; recorders: Recorders },
): void {
  const { retentionDays, legalHold } = draft.source.settings;
  const uncounted =
    tally.moreRuns === 0 ? null : `${count(tally.moreRuns, 'run was', 'runs were')} not looked at.`;
  recordedCheck(draft, tally, recorders);
  draft.judge('namesSystem', {
    examined: tally.runs.size,
    failed: unnamed,
    detail: unnamed === 0 ? 'All runs do.' : `${count(unnamed, 'run')} without aiSystemId.`,
    none: 'There is no run in the period.',
    missing: uncounted,
  });
  const kept = legalHold || retentionDays === null || retentionDays >= limits.retentionDaysProduction;
  const says = legalHold
    ? 'A legal hold stops every erasure.'
    : retentionDays === null
      ? 'Nothing is erased by age.'
      : `Contents are kept for ${count(retentionDays, 'day')}.`;
  draft.judge('keptSixMonths', {
    examined: tally.events,
    failed: kept ? 0 : tally.events,
    detail: `${says} This is the setting when the report was made. Records and hashes are kept in any case.`,
    none: 'The log recorded no event in the period, so there are no contents to keep.',
  });
}

/** A program that records leaves its mark while the run goes on. An import, or an event typed by hand, has none. */
function recordedCheck(draft: Draft, { runs, moreRuns }: Tally, { automatic, lossy }: Recorders): void {
  const all = runs.size + moreRuns;
  const shown = new Set([...automatic, ...lossy]).size;
  const without = Math.max(0, all - shown);
  draft.judge('recorded', {
    examined: shown,
    failed: lossy.size,
    detail: `${automatic.size} of ${count(all, 'run')} ${automatic.size === 1 ? 'has' : 'have'} an event that names its recorder or its decision and was recorded within ${limits.recordedSkewSeconds / 60} min. Recorders dropped events of ${count(lossy.size, 'run')}.`,
    none:
      all === 0
        ? 'The log recorded no event of a system in the period.'
        : `No event of ${count(all, 'run')} names a program that recorded it while the run went on: a decision, a hook, the MCP proxy, or telemetry. An import or an event that somebody typed looks the same.`,
    missing:
      without === 0
        ? null
        : `${count(without, 'run shows', 'runs show')} none: an import or an event that somebody typed looks the same.`,
  });
}

function risks(
  { evaluations, risks: routed, types, records }: Tally,
  { calls, undecided, refused }: ToolCalls,
) {
  const of = (counts: ReadonlyMap<string, number>, ...names: string[]): number =>
    names.reduce((sum, name) => sum + (counts.get(name) ?? 0), 0);
  return factsOf({
    'Policy decisions': [of(records, 'gov.evaluation/1'), 'number'],
    'Denied or escalated by policies': [of(evaluations, 'deny', 'escalate'), 'number'],
    'Blocked or escalated by the risk router': [of(routed, 'block', 'escalate'), 'number'],
    'Tool calls': [calls, 'number'],
    'Tool calls without a decision': [undecided, 'number'],
    'Calls that were blocked or denied': [refused, 'number'],
    'Errors of runs': [of(types, 'run.error'), 'number'],
    Replays: [of(records, 'gov.replay/1'), 'number'],
  });
}

function retention({ source: { settings }, period }: Draft) {
  const { retentionDays, legalHold, contentCapture } = settings;
  return factsOf({
    'Contents are erased after (days)': [retentionDays ?? 'never by age', 'text'],
    'Legal hold': [legalHold, 'text'],
    'Contents that telemetry keeps': [contentCapture, 'text'],
    'Events below this leaf were pruned': [period.prunedBelow, 'number'],
  });
}

function useRows(tally: Tally): Rows {
  const rows = new Rows(useTable);
  for (const run of tally.runs.values()) {
    const { runId, systemId, firstMs, lastMs, firstRecordedMs, lastRecordedMs, events, begins } = run;
    rows.add(
      [
        runId,
        systemId,
        timeText(firstMs),
        timeText(lastMs),
        lastMs - firstMs,
        timeText(firstRecordedMs),
        timeText(lastRecordedMs),
        events,
        begins,
      ],
      systemId === null,
    );
  }
  return rows;
}

async function useTables(draft: Draft, uses: Rows, tally: Tally): Promise<void> {
  const systems = new Rows(systemTable);
  for (const [systemId, span] of [...tally.systems].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    systems.add([
      systemId,
      span.runs,
      span.events,
      timeText(span.firstRecordedMs),
      timeText(span.lastRecordedMs),
    ]);
  draft.table(
    uses.table(`${useTable.lists}.`, await runsShown(draft, tally), {
      rest: 'gov runs list has all of them.',
      more: tally.moreRuns,
    }),
  );
  draft.table(
    systems.table(
      `${systemTable.lists}.${moreText(tally)}`,
      notShown('The log has no list of AI systems: the table follows from all events of the period.'),
      {
        rest: 'gov runs list --system shows the runs of one.',
      },
    ),
  );
}

const moreText = ({ moreOfSystems }: Tally): string =>
  moreOfSystems === 0
    ? ''
    : ` Only ${limits.reportGroups} systems are counted: ${count(moreOfSystems, 'event')} of others are left out.`;

/** The log lists runs by their first event, so runs that began earlier are outside of its answer. */
async function runsShown(draft: Draft, tally: Tally): Promise<ReturnType<typeof notShown>> {
  const runs = [...tally.runs.values()];
  const begun = runs.filter(({ begins }) => begins).length + tally.moreRuns;
  // the run of the service itself is in the list of the log
  const shown = await draft.evidence.shows('runs', [
    { key: ['runs'], rows: begun + (tally.serviceBegins ? 1 : 0) },
  ]);
  if (shown.status === 'not_shown') return shown;
  const service = tally.serviceBegins
    ? ' One of them is the run of the service itself, which is not a row.'
    : '';
  const detail = `${shown.detail}${service}`;
  const earlier = runs.length - (begun - tally.moreRuns);
  if (earlier === 0) return { ...shown, detail };
  return notShown(
    `${detail} It counts runs that began in the period. ${count(earlier, 'row')} began earlier, and it says nothing of those.`,
  );
}

async function modificationRows({ source, period }: Draft): Promise<Rows> {
  const found: { index: number; row: (string | number | null)[] }[] = [];
  for await (const leaf of leavesIn(source, { type: 'gov.policy/1' }, period)) {
    const { at, policyId, event, from, to, version, actor } = openPolicyChange(leaf);
    if (event === 'created' || event === 'version_added') continue;
    found.push({
      index: leaf.index,
      row: [at, 'policy', policyId, from, `${to}, version ${version}`, actor],
    });
  }
  let before: string | null = null;
  for await (const leaf of leavesIn(source, { type: 'gov.config/1' }, period)) {
    const { at, configHash, actor } = openConfigChange(leaf);
    found.push({ index: leaf.index, row: [at, 'risk router', 'configuration', before, configHash, actor] });
    before = configHash;
  }
  const last = new Map<string, string>();
  for await (const leaf of leavesIn(source, { type: 'gov.snapshot/1' }, period)) {
    const snapshot = openSnapshot(leaf);
    for (const field of snapshotFields) {
      const [known, value] = [last.get(field), snapshot[field]];
      if (value === '' || value === known) continue;
      last.set(field, value);
      found.push({
        index: leaf.index,
        row: [
          null,
          'condition of runs',
          `${field} of run ${String(leaf.clear['runId'])}`,
          known ?? null,
          value,
          null,
        ],
      });
    }
  }
  const rows = new Rows(modificationTable);
  for (const { index, row } of found.toSorted((a, b) => a.index - b.index)) rows.add([index, ...row]);
  return rows;
}
