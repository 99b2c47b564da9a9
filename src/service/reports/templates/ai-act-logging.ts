/** Template `ai-act-logging`: which systems were in use when, and whether their records are kept (contract L4). */
import { limits } from '../../../contract/limits.ts';
import { openConfigChange } from '../../../core/decided/risk-config.ts';
import { openPolicyChange } from '../../../core/decided/policy-change.ts';
import { openSnapshot, snapshotFields } from '../../../core/decided/snapshot.ts';
import { byName, totalOf } from '../counts/by-name.ts';
import { activityIn, type Recorders, type ToolCalls } from '../counts/activity.ts';
import {
  approvalRows,
  approvalsIn,
  approvalTable,
  asOfNewest,
  decidedOf,
  figuresOf,
  oversightChecks,
  oversightOf,
} from './approvals.ts';
import type { Examination } from '../checks/verdict.ts';
import { applicability, logging } from './clauses.ts';
import { factsOf, type Draft } from './draft.ts';
import { count, timeText } from './period.ts';
import { leavesIn } from './read.ts';
import { Rows } from './rows.ts';
import { notShown } from './shown.ts';
import { columns, type TableSpec } from './source.ts';
import { tallyOf, type Tally } from '../counts/tally.ts';
import { template } from './sections.ts';

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
  rest: 'gov runs list has all of them.',
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
  unshown: 'The log has no list of AI systems: the table follows from all events of the period.',
  rest: 'gov runs list --system shows the runs of one.',
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
  unshown: 'Its rows come from three lists of the log, and only changes are rows.',
  rest: 'The report policy-changes has the policies.',
};

const oversight: TableSpec = {
  ...approvalTable,
  title: 'Human oversight',
  unshown:
    'Requests and answers are in two lists of the log. The report decisions-exceptions shows the decisions.',
};

export const aiActLogging = template({
  title: 'AI Act logging dossier',
  summary:
    'Which AI systems were in use and when, whether events were recorded and are kept, and who oversaw them',
  choices:
    'Events of the service itself are not events of an AI system and are left out. What no client recorded is not in the log.',
  sections: {
    law: { title: 'What the law asks of logs' },
    systems: {
      title: 'Systems and periods of use',
      tables: [useTable, systemTable],
      figures: {
        systems: 'AI systems that events name',
        runs: 'Periods of use (runs)',
        events: 'Events recorded',
        unnamed: 'Runs that name no AI system',
      },
      checks: ['recorded', 'namesSystem'],
    },
    risks: { title: 'Events that help to find risks' },
    modifications: {
      title: 'Modifications',
      text: 'Policies, the risk router, and the model, tools and configuration that runs state.',
      tables: [modificationTable],
      figures: { modifications: 'Modifications' },
    },
    oversight: {
      title: 'Human oversight',
      tables: [oversight],
      figures: { oversight: 'Requests for approval decided' },
      checks: oversightChecks,
    },
    retention: {
      title: 'Retention',
      figures: { retention: ['Days that contents are kept', 'text'] },
      checks: ['keptSixMonths'],
    },
  },
  build: async (draft) => {
    const { source, period } = draft;
    const tally = await tallyOf(source, period);
    const changes = await modificationRows(draft);
    const { cases, more } = await approvalsIn(source, period);
    const approvals = figuresOf(cases);
    const { toolCalls, recorders } = await activityIn(source, period);
    const { runCount, unnamed } = tally;
    return {
      figures: {
        systems: tally.systems.size,
        runs: runCount,
        events: tally.events,
        unnamed: tally.moreRuns > 0 ? { atLeast: unnamed } : unnamed,
        retention: source.settings.retentionDays ?? 'no limit',
        modifications: changes.population,
        oversight: decidedOf(approvals),
      },
      checks: { ...loggingOf(draft, tally, recorders), ...oversightOf(approvals, more) },
      blocks: {
        law: [...applicability, factsOf(clauses())],
        systems: [
          `${count(tally.systems.size, 'AI system')} and ${count(runCount, 'run')} in the period. A run is one period of use: its first and last event are by the clock of the client.`,
          { table: systemTable.id },
          { table: useTable.id },
        ],
        risks: [risks(tally, toolCalls)],
        retention: [retention(draft)],
      },
      tables: [
        useRows(tally).table({ completeness: await runsShown(draft, tally), more: tally.moreRuns }),
        systemRows(tally).table({ scope: `${systemTable.lists}.${moreText(tally)}` }),
        changes.table(),
        approvalRows(oversight, cases).table({ scope: `${oversight.lists}. ${asOfNewest}`, more }),
      ],
    };
  },
});

const clauses = () =>
  Object.fromEntries(logging.map(({ name, cite, asks }) => [name, [`${asks} (${cite})`, 'text'] as const]));

function loggingOf(draft: Draft, tally: Tally, recorders: Recorders) {
  const { unnamed } = tally;
  const { retentionDays, legalHold } = draft.source.settings;
  const uncounted =
    tally.moreRuns === 0 ? null : `${count(tally.moreRuns, 'run was', 'runs were')} not looked at.`;
  const kept = legalHold || retentionDays === null || retentionDays >= limits.retentionDaysProduction;
  const says = legalHold
    ? 'A legal hold stops every erasure.'
    : retentionDays === null
      ? 'Nothing is erased by age.'
      : `Contents are kept for ${count(retentionDays, 'day')}.`;
  return {
    recorded: recordedOf(tally, recorders),
    namesSystem: {
      examined: tally.runs.size,
      failed: unnamed,
      detail: unnamed === 0 ? 'All runs do.' : `${count(unnamed, 'run')} without aiSystemId.`,
      none: 'There is no run in the period.',
      missing: uncounted,
    },
    keptSixMonths: {
      examined: tally.events,
      failed: kept ? 0 : tally.events,
      detail: `${says} This is the setting when the report was made. Records and hashes are kept in any case.`,
      none: 'The log recorded no event in the period, so there are no contents to keep.',
    },
  };
}

/** A program that records leaves its mark while the run goes on. An import, or an event typed by hand, has none. */
function recordedOf({ runCount: all }: Tally, { automatic, lossy }: Recorders): Examination {
  const shown = new Set([...automatic, ...lossy]).size;
  const without = Math.max(0, all - shown);
  return {
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
  };
}

function risks(
  { evaluations, risks: routed, types, records }: Tally,
  { calls, undecided, refused }: ToolCalls,
) {
  return factsOf({
    'Policy decisions': [totalOf(records, 'gov.evaluation/1'), 'number'],
    'Denied or escalated by policies': [totalOf(evaluations, 'deny', 'escalate'), 'number'],
    'Blocked or escalated by the risk router': [totalOf(routed, 'block', 'escalate'), 'number'],
    'Tool calls': [calls, 'number'],
    'Tool calls without a decision': [undecided, 'number'],
    'Calls that were blocked or denied': [refused, 'number'],
    'Errors of runs': [totalOf(types, 'run.error'), 'number'],
    Replays: [totalOf(records, 'gov.replay/1'), 'number'],
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

function systemRows(tally: Tally): Rows {
  const rows = new Rows(systemTable);
  for (const [systemId, span] of byName(tally.systems))
    rows.add([
      systemId,
      span.runs,
      span.events,
      timeText(span.firstRecordedMs),
      timeText(span.lastRecordedMs),
    ]);
  return rows;
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
