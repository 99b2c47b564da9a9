/** Template `executive-summary`: one page that a director reads in a minute. */
import { Draft, barsOf } from './draft.ts';
import { count, coverText } from './period.ts';
import { systemEvents } from './read.ts';
import { faultTypes } from './integrity-completeness.ts';
import { Rows } from './rows.ts';
import { notShown } from './shown.ts';
import { columns, type TableSpec, type Template } from './source.ts';
import { tallyOf, type Tally } from './tally.ts';

const attentionTable: TableSpec = {
  id: 'attention',
  title: 'What needs attention',
  lists: 'Topics of the period with their counts; those with something to look at first',
  columns: columns({
    topic: 'Topic',
    status: ['Status', 'status'],
    found: ['Found', 'number'],
    of: ['Of', 'number'],
    report: 'Report with the details',
  }),
};

export const executiveSummary: Template = {
  title: 'Executive summary',
  summary: 'On one page: what agents did, what was stopped, who approved, and what needs attention',
  tables: [attentionTable],
  build: async (source) => {
    const draft = await Draft.of(source);
    const tally = await tallyOf(source, draft.period);
    let faults = 0;
    for await (const { clear } of systemEvents(source, draft.period))
      if (faultTypes.has(clear.eventType)) faults += 1;
    const topics = topicsOf(tally, faults);
    const attention = topics.filter(({ found }) => found > 0).length;
    const stopped = of(tally.evaluations, 'deny', 'escalate') + of(tally.risks, 'block', 'escalate');

    draft.figure('attention', 'Topics that need attention', attention);
    draft.figure('systems', 'AI systems', tally.systems.size);
    draft.figure('runs', 'Runs', tally.runs.size + tally.moreRuns);
    draft.figure('events', 'Events recorded', tally.events);
    draft.figure(
      'decisions',
      'Decisions',
      tally.recorded('gov.evaluation/1') + tally.recorded('gov.decision/1'),
    );
    draft.figure('stopped', 'Denied, blocked or escalated', stopped);
    draft.figure('approvals', 'Decisions by people', tally.recorded('gov.approval/1'));
    draft.figure('proofs', 'Compliance proofs', tally.recorded('gov.proof/1'));

    draft.section('In short', { text: shortText(tally, { stopped, attention }) }, daysBlock(tally), {
      table: attentionTable.id,
    });
    const rows = new Rows(attentionTable);
    for (const { topic, found, total, report } of topics)
      rows.add(
        [topic, found > 0 ? 'look at it' : total === 0 ? 'nothing to see' : 'in order', found, total, report],
        found > 0,
      );
    draft.table(
      rows.table(
        `${attentionTable.lists}. They are counted from the records of the period.`,
        notShown('The reports named in the last column show what each count comes from.'),
        { rest: '' },
      ),
    );
    return draft.built([
      `${coverText(draft.period)} Events of the service itself are counted as faults alone.`,
    ]);
  },
};

interface Topic {
  readonly topic: string;
  readonly found: number;
  readonly total: number;
  readonly report: string;
}

const of = (counts: ReadonlyMap<string, number>, ...names: string[]): number =>
  names.reduce((sum, name) => sum + (counts.get(name) ?? 0), 0);

function topicsOf(tally: Tally, faults: number): readonly Topic[] {
  const { evaluations, risks, approvals, types, runs } = tally;
  const decided = of(approvals, 'approved', 'denied');
  const unnamed = [...runs.values()].filter(({ systemId }) => systemId === null).length;
  return [
    {
      topic: 'Actions that policies denied',
      found: of(evaluations, 'deny'),
      total: tally.recorded('gov.evaluation/1'),
      report: 'decisions-exceptions',
    },
    {
      topic: 'Actions that policies escalated to people',
      found: of(evaluations, 'escalate'),
      total: tally.recorded('gov.evaluation/1'),
      report: 'decisions-exceptions',
    },
    {
      topic: 'Risks that were blocked or escalated',
      found: of(risks, 'block', 'escalate'),
      total: tally.recorded('gov.decision/1'),
      report: 'decisions-exceptions',
    },
    {
      topic: 'Requests for approval without an answer in the period',
      found: Math.max(0, tally.opened - decided),
      total: tally.opened,
      report: 'decisions-exceptions',
    },
    {
      topic: 'Tool calls without a policy decision in the period',
      found: Math.max(0, of(types, 'tool.call') - of(types, 'tool.evaluated')),
      total: of(types, 'tool.call'),
      report: 'tool-access',
    },
    {
      topic: 'Calls that were blocked or denied',
      found: of(types, 'tool.call_blocked', 'tool.denied'),
      total: of(types, 'tool.call'),
      report: 'tool-access',
    },
    {
      topic: 'Replays that differ from the record',
      found: tally.replaysDiffering,
      total: tally.recorded('gov.replay/1'),
      report: 'replay-drift',
    },
    {
      topic: 'Replays with drift',
      found: tally.replaysDrifting,
      total: tally.recorded('gov.replay/1'),
      report: 'replay-drift',
    },
    {
      topic: 'Faults and gaps of recording',
      found: faults,
      total: tally.serviceEvents,
      report: 'integrity-completeness',
    },
    {
      topic: 'Changes to policies',
      found: 0,
      total: tally.recorded('gov.policy/1'),
      report: 'policy-changes',
    },
    {
      topic: 'Erasures and prunings',
      found: 0,
      total: tally.recorded('gov.erasure/1') + tally.recorded('gov.prune/1'),
      report: 'retention-deletion',
    },
    { topic: 'Runs that name no AI system', found: unnamed, total: runs.size, report: 'ai-act-logging' },
  ];
}

function shortText(tally: Tally, { stopped, attention }: { stopped: number; attention: number }): string {
  const runs = count(tally.runs.size + tally.moreRuns, 'run');
  if (tally.events === 0) return 'The log recorded no event of an agent in the period.';
  return `Agents made ${runs} with ${count(tally.events, 'event')}. ${count(stopped, 'action')} did not run freely. ${count(attention, 'topic needs', 'topics need')} attention.`;
}

const dayMs = 86_400_000;
const longestChart = 31;

/** Events by day; of a long period the busiest days. */
function daysBlock({ days }: Tally) {
  const named = [...days].map(([day, n]) => [new Date(day * dayMs).toISOString().slice(0, 10), n] as const);
  const byDay = named.toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (byDay.length <= longestChart) return barsOf('Events by day (UTC)', 'events', byDay, longestChart);
  const busiest = named.toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  return barsOf('Busiest days (UTC)', 'events', busiest, longestChart);
}
