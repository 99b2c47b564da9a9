/** Template `incident-bundle`: what happened around an incident, and the evidence for the reports that follow it. */
import { limits } from '../../../contract/limits.ts';
import { isOwnId } from '../../../core/coverage/join.ts';
import { openEvaluation } from '../../../core/decided/evaluation.ts';
import { openReplay } from '../../../core/decided/replay.ts';
import { openRiskDecision } from '../../../core/decided/risk-decision.ts';
import { systemRun } from '../../../core/events/record.ts';
import type { ReportCell } from '../../../core/reports/model.ts';
import type { Leaf } from '../../../store/port/store.ts';
import { parseTimestamp } from '../../../core/time.ts';
import { increase, largestFirst } from '../counts/by-name.ts';
import { beforeTable, changesBefore } from './changes-before.ts';
import { incidentClocks, monthAfter } from './clauses.ts';
import { barsOf, type Draft } from './draft.ts';
import { faultTypes } from './integrity-completeness.ts';
import { count, coverText, prunedText, timeText } from './period.ts';
import {
  eventsOf,
  leavesIn,
  pagesOf,
  partyText,
  readEvent,
  systemEvents,
  textOf,
  typeOf,
  type ReadEvent,
} from './read.ts';
import { Rows } from './rows.ts';
import { failing, isFailing, outcomeText } from './timeline.ts';
import type { AttachedProof } from './shown.ts';
import { columns, type ReportSource, type TableSpec } from './source.ts';
import { template } from './sections.ts';

const timelineTable: TableSpec = {
  id: 'timeline',
  title: 'What happened',
  lists:
    'Failures, refusals, escalations, drift and faults of the period, and with the parameter runId every event of the run; failures first, each part in log order',
  columns: columns({
    leaf: ['Leaf', 'number'],
    recordedAt: ['Recorded', 'time'],
    runId: 'Run',
    kind: 'Kind',
    what: 'What',
    actor: 'Actor',
    resource: 'Resource',
    outcome: ['Outcome', 'status'],
    reference: 'Reference',
  }),
  unshown:
    'Its rows are chosen by what records say: a denial, an error, a difference. The log commits to these contents one by one, and its lists are by run and by type alone, so none of them has exactly the failures. The reports decisions-exceptions and replay-drift show that they have every decision and every replay.',
  rest: 'gov export create --resource audit_events has all events.',
};

const runTable: TableSpec = {
  id: 'affected-runs',
  title: 'Affected runs',
  lists: 'Runs that the timeline names, those with the most failures first',
  columns: columns({
    runId: 'Run',
    failures: ['Failures', 'number'],
    events: ['Events of the run', 'number'],
    proofId: 'Newest proof',
    attached: 'Attached file',
  }),
  unshown: 'Its rows are the runs that the timeline names, so they are as complete as the timeline.',
  rest: 'gov proofs list --run has the proofs of a run.',
};

interface Entry {
  readonly index: number;
  readonly ms: number;
  readonly runId: string | null;
  readonly kind: string;
  readonly cells: readonly ReportCell[];
  readonly isFailure: boolean;
  /** Names of the call that failed: entries under one name are one failure. */
  readonly names: readonly string[];
}

export const incidentBundle = template({
  title: 'Incident bundle',
  summary: 'What failed and when, which runs are affected, what had changed before, and when reports are due',
  choices:
    'A failure is a denied or escalated decision, a blocked or escalated risk, a call that was refused or ended with an error, a replay that differs, or a fault of recording. What several sources or the decision say of one call is one failure. Other events are left out unless runId names their run.',
  run: 'optional',
  sections: {
    timeline: {
      title: 'What happened',
      tables: [timelineTable, runTable],
      figures: {
        failures: 'Failures in the period',
        first: ['First failure', 'time'],
        last: ['Last failure', 'time'],
        runs: 'Affected runs',
        proofs: 'Proofs attached',
      },
      checks: ['runsProved'],
    },
    'changes-before': {
      title: 'What had changed before',
      tables: [beforeTable],
      figures: { changes: 'Changes in the 7 days before' },
    },
    deadlines: {
      title: 'When reports are due',
      text: 'Deadlines run from moments that people decide: when they became aware, when they classified. The log cannot know them. The times below count from the first failure of this report.',
    },
  },
  build: async (draft) => {
    const { runId } = draft.source;
    const { rows, kinds, failuresByRun, firstMs, lastMs, dropped } = await timelineOf(draft);
    const seen = (n: number) => (dropped > 0 ? { atLeast: n } : n);
    const failures = [...kinds.values()].reduce((sum, n) => sum + n, 0);
    const runs = await affectedRuns(draft, failuresByRun);
    const changes = await changesBefore(draft, firstMs);
    const affected = runs.rows.population;
    const attached = runs.verified + runs.broken;
    return {
      figures: {
        failures: seen(failures),
        first: timeText(firstMs),
        last: timeText(lastMs),
        runs: seen(affected),
        proofs: attached,
        changes: changes.rows.population,
      },
      checks: {
        runsProved: {
          examined: attached,
          failed: runs.broken,
          detail: `${runs.verified} of ${count(affected, 'run')} ${runs.verified === 1 ? 'has' : 'have'} an attached proof that verifies. ${count(runs.broken, 'proof does', 'proofs do')} not verify.`,
          none: affected === 0 ? 'No run is affected.' : `0 of ${count(affected, 'run')}. ${runs.lacking}`,
          missing: attached === affected ? (dropped > 0 ? droppedText(dropped).trim() : null) : runs.lacking,
        },
      },
      blocks: {
        timeline: [
          failures === 0
            ? `${noFailure(draft, dropped)}${droppedText(dropped)}`
            : `${count(failures, 'failure')} from ${timeText(firstMs)} to ${timeText(lastMs)}.${droppedText(dropped)}`,
          barsOf('Failures by kind', 'failures', largestFirst(kinds)),
        ],
        deadlines: [clocks(firstMs)],
      },
      tables: [
        rows.table({
          scope: `${timelineTable.lists}.${runId === null ? '' : ` Only run ${runId}, and faults of the service.`}`,
        }),
        runs.rows.table({ scope: `${runTable.lists}. At most ${limits.reportProofs} proofs are attached.` }),
        changes.rows.table({ completeness: changes.completeness }),
      ],
    };
  },
});

const droppedText = (dropped: number): string =>
  dropped === 0
    ? ''
    : ` ${count(dropped, 'more entry was', 'more entries were')} not looked at, so failures may be more, earlier or later. A shorter period shows them.`;

/** An empty period has nothing to say, and pruned events may have been failures. */
function noFailure({ period }: Draft, dropped: number): string {
  if (dropped > 0) return 'The entries that were looked at have no failure.';
  const pruned = prunedText(period);
  if (pruned !== null) return `What is left of the log has no failure in the period. ${pruned}`;
  return period.from < period.to ? 'The log has no failure in the period.' : coverText(period);
}

function clocks(firstMs: number | null) {
  const due = (afterMs: number | 'month'): number | null =>
    firstMs === null ? null : afterMs === 'month' ? monthAfter(firstMs) : firstMs + afterMs;
  const facts = incidentClocks.flatMap(({ name, cite, asks, afterMs }) => [
    { label: name, value: `${asks} (${cite})`, kind: 'text' as const },
    { label: 'From the first failure', value: timeText(due(afterMs)), kind: 'time' as const },
  ]);
  return { facts };
}

interface IncidentTimeline {
  readonly rows: Rows;
  readonly kinds: Map<string, number>;
  readonly failuresByRun: Map<string, number>;
  readonly firstMs: number | null;
  readonly lastMs: number | null;
  /** Entries that were not looked at. */
  readonly dropped: number;
}

async function timelineOf(draft: Draft): Promise<IncidentTimeline> {
  const entries: Entry[] = [];
  let dropped = 0;
  const add = (entry: Entry): void => {
    // room for every row of the table; more entries are counted alone
    if (entries.length < 2 * limits.reportRows) entries.push(entry);
    else dropped += 1;
  };
  for await (const entry of decidedEntries(draft)) add(entry);
  for await (const entry of eventEntries(draft)) add(entry);
  for await (const entry of faultEntries(draft)) add(entry);
  const rows = new Rows(timelineTable);
  const kinds = new Map<string, number>();
  const failuresByRun = new Map<string, number>();
  const failed = new Set<string>();
  let [firstMs, lastMs]: (number | null)[] = [null, null];
  for (const { index, ms, runId, kind, cells, isFailure, names } of entries.toSorted(
    (a, b) => a.index - b.index,
  )) {
    rows.add([index, timeText(ms), runId, kind, ...cells], isFailure);
    if (!isFailure) continue;
    const isCounted = names.some((name) => failed.has(name));
    for (const name of names) failed.add(name);
    if (isCounted) continue;
    increase(kinds, kind);
    if (runId !== null) increase(failuresByRun, runId);
    firstMs ??= ms;
    lastMs = ms;
  }
  rows.leaveOut(dropped);
  return { rows, kinds, failuresByRun, firstMs: firstMs ?? null, lastMs: lastMs ?? null, dropped };
}

const failureOf = (
  index: number,
  kind: string,
  { at, runId, cells }: { readonly at: string; readonly runId: string; readonly cells: Entry['cells'] },
  names: Entry['names'] = [],
): Entry => ({ index, ms: parseTimestamp(at) ?? 0, runId, kind, cells, isFailure: true, names });

async function* decidedEntries({ source, period }: Draft): AsyncGenerator<Entry, void, undefined> {
  const { runId: asked } = source;
  for await (const leaf of leavesIn(source, { type: 'gov.evaluation/1', runId: asked }, period)) {
    const { combined, evaluatedAt: at, decisions, id, runId } = openEvaluation(leaf);
    if (combined !== 'deny' && combined !== 'escalate') continue;
    const first = decisions.find(({ decision }) => decision === combined);
    const cells = [first?.reasoning ?? null, null, first?.policyId ?? null, combined, id];
    yield failureOf(leaf.index, 'policy decision', { at, runId, cells }, [evaluationName(id)]);
  }
  for await (const leaf of leavesIn(source, { type: 'gov.decision/1', runId: asked }, period)) {
    const { action, evaluatedAt: at, score, id, runId } = openRiskDecision(leaf);
    if (action !== 'block' && action !== 'escalate') continue;
    const cells = [`risk score ${score}`, null, null, action, id];
    yield failureOf(leaf.index, 'risk decision', { at, runId, cells });
  }
  for await (const leaf of leavesIn(source, { type: 'gov.replay/1', runId: asked }, period)) {
    const { at, replayId, runId, mismatches, driftCount } = openReplay(leaf);
    if (mismatches.n === 0 && driftCount === 0) continue;
    const said = `${mismatches.n} steps differ, ${driftCount} findings of drift`;
    const cells = [said, null, null, 'different', replayId];
    yield failureOf(leaf.index, 'replay', { at, runId, cells });
  }
}

const entryOf = (event: ReadEvent, kind: string, isFailure: boolean): Entry => ({
  index: event.index,
  ms: event.serverMs,
  runId: event.clear.runId,
  kind,
  cells: [
    textOf(event.members.get('action')),
    partyText(event.members.get('actor')),
    partyText(event.members.get('resource')),
    outcomeText(event),
    event.clear.eventId,
  ],
  isFailure,
  names: namesOf(event),
});

const evaluationName = (id: string): string => `evaluation ${id}`;

/** The call of an event, and the decision about it: each source reports that the call was refused, or failed. */
function namesOf({ clear: { runId }, metadata: { evaluationId, toolCallId } }: ReadEvent): string[] {
  const decided = textOf(evaluationId);
  return [
    ...(decided === null ? [] : [evaluationName(decided)]),
    ...(isOwnId(toolCallId) ? [JSON.stringify([runId, toolCallId])] : []),
  ];
}

/** Events of the run in the period, or failing events of all runs. */
async function* eventEntries({ source, period }: Draft): AsyncGenerator<Entry, void, undefined> {
  if (source.runId !== null) {
    for await (const event of eventsOf(source, source.runId, { from: period.from, to: period.to }))
      yield entryOf(event, event.clear.eventType, isFailure(event));
    return;
  }
  for await (const leaves of pagesOf(source, period, { bodies: true })) {
    for (const leaf of leaves) {
      if (!mayFail(leaf) || leaf.record.includes(ofSystem)) continue;
      const event = readEvent(leaf);
      if (event !== null && isFailure(event)) yield entryOf(event, event.clear.eventType, true);
    }
  }
}

const ofSystem = `"runId":"${systemRun}"`;

/** An evaluated call repeats its policy decision, which is an entry of its own. */
const isFailure = (event: ReadEvent): boolean =>
  event.clear.eventType !== 'tool.evaluated' && isFailing(event);

/** False for an event that is not a failure for sure, so that most events are not parsed. */
function mayFail({ record, disclosures }: Leaf): boolean {
  const type = typeOf(record);
  if (type === null) return false;
  return (
    failing.test(type) ||
    (disclosures !== null && /"(?:error|deny)"|"\/metadata\/ok",false/.test(disclosures))
  );
}

async function* faultEntries({ source, period }: Draft): AsyncGenerator<Entry, void, undefined> {
  for await (const event of systemEvents(source, period)) {
    if (!faultTypes.has(event.clear.eventType)) continue;
    yield { ...entryOf(event, event.clear.eventType, true), runId: null };
  }
}

interface AffectedRuns {
  readonly rows: Rows;
  /** Attached proofs that verify, and those that do not. */
  readonly verified: number;
  readonly broken: number;
  /** Why a run has none. */
  readonly lacking: string;
}

async function affectedRuns(
  { source, evidence }: Draft,
  failuresByRun: ReadonlyMap<string, number>,
): Promise<AffectedRuns> {
  const { reader, projectId, treeSize, runId: asked } = source;
  const rows = new Rows(runTable);
  const wanted = new Map(asked === null ? [] : [[asked, 0]]);
  for (const [runId, n] of failuresByRun) wanted.set(runId, n);
  const without: string[] = [];
  const counts: Record<AttachedProof, number> = { authentic: 0, 'not authentic': 0, 'no room': 0 };
  for (const [runId, failures] of largestFirst(wanted)) {
    const proof = await newestProof(source, runId);
    const file = proof === null ? null : `${proof.proofId}.govproof.json`;
    const hasRoom = counts.authentic + counts['not authentic'] < limits.reportProofs;
    const made =
      proof === null || file === null || !hasRoom
        ? 'no room'
        : await evidence.attachProof(file, proof.proofId);
    counts[made] += 1;
    const isAttached = made !== 'no room';
    if (proof === null) without.push(runId);
    const events = await reader.runEventsBelow(projectId, runId, treeSize);
    rows.add(
      [runId, failures, events, proof?.proofId ?? null, isAttached ? file : null],
      made !== 'authentic',
    );
  }
  const [first] = without;
  const lacking =
    first === undefined
      ? `A report attaches at most ${limits.reportProofs} proofs.`
      : `${count(without.length, 'run has', 'runs have')} no proof. gov proofs create --run ${first} makes one; then run the report again.`;
  return { rows, verified: counts.authentic, broken: counts['not authentic'], lacking };
}

async function newestProof(
  { reader, projectId, treeSize }: ReportSource,
  runId: string,
): Promise<{ readonly proofId: string } | null> {
  let newest = null;
  for (let after = -1; ;) {
    const found = await reader.loggedProofs(
      projectId,
      { runId, beforeIndex: treeSize },
      { after, limit: 50 },
    );
    newest = found.at(-1) ?? newest;
    after = found.at(-1)?.leafIndex ?? after;
    if (found.length < 50) return newest;
  }
}
