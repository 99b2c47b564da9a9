/** Template `executive-summary`: one page that a director reads in a minute. */
import type { ReportTemplateId } from '../../../contract/report-words.ts';
import { byName, largestFirst, totalOf } from '../counts/by-name.ts';
import { activityIn, type ToolCalls } from '../counts/activity.ts';
import { approvalsIn, decidedOf, figuresOf, openOf, type ApprovalFigures } from './approvals.ts';
import { barsOf } from './draft.ts';
import { count, prunedText } from './period.ts';
import { systemEvents } from './read.ts';
import { faultTypes } from './integrity-completeness.ts';
import { Rows } from './rows.ts';
import { columns, type TableSpec } from './source.ts';
import { tallyOf, type Tally } from '../counts/tally.ts';
import { template } from './sections.ts';

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
  unshown:
    'The table has every topic. Its counts are of what records say, such as a denial, and the lists of the log are by run and by type alone. The reports of the last column list the records, and show which lists are complete.',
};

export const executiveSummary = template({
  title: 'Executive summary',
  summary: 'On one page: what agents did, what was stopped, who approved, and what needs attention',
  choices: 'Events of the service itself are counted as faults alone.',
  sections: {
    summary: {
      title: 'In short',
      tables: [attentionTable],
      figures: {
        attention: 'Topics that need attention',
        systems: 'AI systems',
        runs: 'Runs',
        events: 'Events recorded',
        decisions: 'Decisions',
        stopped: 'Denied, blocked or escalated',
        approvals: 'Requests for approval decided',
        proofs: 'Compliance proofs',
      },
    },
  },
  build: async ({ source, period }) => {
    const tally = await tallyOf(source, period);
    let faults = 0;
    for await (const { clear } of systemEvents(source, period))
      if (faultTypes.has(clear.eventType)) faults += 1;
    const { cases, more } = await approvalsIn(source, period);
    const { toolCalls } = await activityIn(source, period);
    const approvals = figuresOf(cases);
    const isPruned = prunedText(period) !== null;
    const topics = topicsOf({ tally, faults, toolCalls, approvals, moreApprovals: more, isPruned });
    const attention = topics.filter(needsLook).length;
    const stopped =
      totalOf(tally.evaluations, 'deny', 'escalate') + totalOf(tally.risks, 'block', 'escalate');
    const rows = new Rows(attentionTable);
    for (const each of topics) {
      const { topic, found, total, report } = each;
      rows.add([topic, statusOf(each), found, total, report], needsLook(each));
    }
    return {
      figures: {
        attention,
        systems: tally.systems.size,
        runs: tally.runCount,
        events: tally.events,
        decisions: tally.recorded('gov.evaluation/1') + tally.recorded('gov.decision/1'),
        stopped,
        approvals: decidedOf(approvals),
        proofs: tally.recorded('gov.proof/1'),
      },
      checks: {},
      blocks: { summary: [shortText(tally, { stopped, attention }), daysBlock(tally)] },
      tables: [
        rows.table({ scope: `${attentionTable.lists}. They are counted from the records of the period.` }),
      ],
    };
  },
});

const needsLook = ({ found, total }: Topic): boolean => total !== null && found > 0;

interface Topic {
  readonly topic: string;
  readonly found: number;
  /** Null for a topic that is only counted. */
  readonly total: number | null;
  /** Things of the total that were not looked at; of pruned events nobody knows how many. */
  readonly unseen: number;
  readonly report: ReportTemplateId;
}

interface SummaryCounts {
  readonly tally: Tally;
  readonly faults: number;
  readonly toolCalls: ToolCalls;
  readonly approvals: ApprovalFigures;
  /** Requests beyond those that the report reads. */
  readonly moreApprovals: number;
  /** Events of the period may have been pruned. */
  readonly isPruned: boolean;
}

function topicsOf(found: SummaryCounts): readonly Topic[] {
  const { tally, faults, toolCalls, approvals, moreApprovals, isPruned } = found;
  const lost = isPruned ? 1 : 0;
  const { evaluations, risks } = tally;
  const { calls, undecided, refused } = toolCalls;
  const evaluated = tally.recorded('gov.evaluation/1');
  const [routed, replays] = [tally.recorded('gov.decision/1'), tally.recorded('gov.replay/1')];
  const erased = tally.recorded('gov.erasure/1') + tally.recorded('gov.prune/1');
  const topics: readonly (readonly [string, number, number | null, ReportTemplateId, unseen?: number])[] = [
    ['Actions that policies denied', totalOf(evaluations, 'deny'), evaluated, 'decisions-exceptions'],
    ['Actions that policies escalated', totalOf(evaluations, 'escalate'), evaluated, 'decisions-exceptions'],
    [
      'Risks that were blocked or escalated',
      totalOf(risks, 'block', 'escalate'),
      routed,
      'decisions-exceptions',
    ],
    [
      'Requests for approval that are still open or expired',
      openOf(approvals) + approvals.byStatus.expired,
      approvals.total + moreApprovals,
      'decisions-exceptions',
      moreApprovals,
    ],
    ['Tool calls without a decision', undecided, calls, 'tool-access', lost],
    ['Tool calls that were blocked or denied', refused, calls + refused, 'tool-access', lost],
    ['Replays that differ from the record', tally.replaysDiffering, replays, 'replay-drift'],
    ['Replays with drift', tally.replaysDrifting, replays, 'replay-drift'],
    ['Runs that name no AI system', tally.unnamed, tally.runCount, 'ai-act-logging', tally.moreRuns + lost],
    // what the log does not record may be a fault all the same: without one, nothing is in order
    ['Faults and gaps of recording', faults, faults, 'integrity-completeness'],
    ['Changes to policies', tally.recorded('gov.policy/1'), null, 'policy-changes'],
    ['Erasures and prunings', erased, null, 'retention-deletion'],
  ];
  return topics.map(([topic, found, total, report, unseen = 0]) => ({ topic, found, total, unseen, report }));
}

function statusOf({ found, total, unseen }: Topic): string {
  if (total === null) return 'for information';
  if (found > 0) return 'look at it';
  if (unseen > 0) return 'not shown';
  return total === 0 ? 'nothing recorded' : 'in order';
}

function shortText(tally: Tally, { stopped, attention }: { stopped: number; attention: number }): string {
  const runs = count(tally.runCount, 'run');
  if (tally.events === 0) return 'The log recorded no event of an agent in the period.';
  return `Agents made ${runs} with ${count(tally.events, 'event')}. ${count(stopped, 'action')} did not run freely. ${count(attention, 'topic needs', 'topics need')} attention.`;
}

const dayMs = 86_400_000;
const longestChart = 31;

/** Events by day; of a long period the busiest days. */
function daysBlock({ days }: Tally) {
  const named = [...days].map(([day, n]) => [new Date(day * dayMs).toISOString().slice(0, 10), n] as const);
  const byDay = byName(named);
  if (byDay.length <= longestChart) return barsOf('Events by day (UTC)', 'events', byDay, longestChart);
  return barsOf('Busiest days (UTC)', 'events', largestFirst(named), longestChart);
}
