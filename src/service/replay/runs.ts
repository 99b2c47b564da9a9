/**
 * Replays a run against another one, whose recorded steps are expected. Reads both twice, a few events at a
 * time: first the names of their steps, to align them, then the members. Proven by
 * `test/service/replay/handlers.engines.test.ts`.
 */
import type { SnapshotInput } from '../../contract/governance.ts';
import { valuesAt } from '../../core/events/bodies.ts';
import type { Snapshot } from '../../core/decided/snapshot.ts';
import type { JsonObject } from '../../core/json/parse.ts';
import { openEvent } from '../../core/events/record.ts';
import { align } from '../../core/replay/align.ts';
import type { ReplayCollector } from '../../core/replay/collector.ts';
import { noSnapshot, snapshotDrift } from '../../core/replay/drift.ts';
import { compareRuns, StepWords, type RunStep } from '../../core/replay/run-compare.ts';
import type { RunAt } from '../proofs/decided-leaves.ts';
import { noEvents, runEvents } from '../events/run-stream.ts';
import { snapshotOf } from '../policies/run-snapshot.ts';
import type { TaskContext } from '../call/work.ts';

/** Members of metadata that name things of their own run, and so differ in every other run. */
const ofItsRun: ReadonlySet<string> = new Set([
  'approvalId',
  'causedBy',
  'evaluationId',
  'parentEventId',
  'toolCallId',
  'toolCallIds',
  'toolResultIds',
]);

/** Adds a step for every pair and every step without a partner. RUN_HAS_NO_EVENTS of either run. */
export async function replayAgainst(
  context: TaskContext,
  run: RunAt,
  options: {
    readonly compareRunId: string;
    readonly given: SnapshotInput | null;
    readonly collector: ReplayCollector;
  },
): Promise<Snapshot | null> {
  const { compareRunId, given, collector } = options;
  const other = { ...run, runId: compareRunId };
  const words = new StepWords();
  const expected = await wordsOf(context, other, words);
  const actual = await wordsOf(context, run, words);
  for (const [of, steps] of [
    [other, expected],
    [run, actual],
  ] as const) {
    if (steps.length === 0) throw noEvents(of.runId);
  }
  const snapshot = given ?? (await snapshotOf(context.reader, run));
  const wanted = await snapshotOf(context.reader, other);
  const isCompared = wanted !== null || snapshot !== null;
  // the first warning: a result keeps the first ones alone
  if (!isCompared) collector.warn(noSnapshot.ofEither);
  const alignment = align(expected, actual);
  if (!alignment.longest)
    collector.warn('the runs differ in so much that more of their steps may belong together');
  const compared = compareRuns(alignment, stepsOf(context, other), stepsOf(context, run));
  for await (const { source, outcome } of compared) collector.add(source, outcome);
  if (isCompared) {
    // no decision ran again, so the drift of other policies is unknown
    const findings = { ...collector.findings(), notReplayable: 1 };
    const { driftDiagnostics, warnings } = snapshotDrift(wanted, snapshot, findings);
    for (const diagnostic of driftDiagnostics) collector.drift(diagnostic);
    for (const text of warnings) collector.warn(text);
  }
  return snapshot;
}

const actionPointer = '/action';
const action = new Set([actionPointer]);

/** The words of a run's steps: 4 bytes each. */
async function wordsOf(context: TaskContext, run: RunAt, words: StepWords): Promise<Int32Array> {
  const numbers = new Int32Array(await context.reader.runEventsBelow(run.projectId, run.runId, run.treeSize));
  let at = 0;
  const range = { fromSeq: 0, beforeIndex: run.treeSize, bodies: { at: actionPointer } };
  for await (const chunk of runEvents(context, run, range)) {
    for (const { clear, disclosures } of chunk) {
      const said = disclosures === null ? '' : valuesAt(disclosures, action).get(actionPointer);
      const step = { eventType: clear?.eventType ?? '', action: typeof said === 'string' ? said : '' };
      numbers[at++] = words.number(step);
    }
  }
  return numbers.subarray(0, at);
}

async function* stepsOf(context: TaskContext, run: RunAt): AsyncGenerator<RunStep, void, undefined> {
  const range = { fromSeq: 0, beforeIndex: run.treeSize };
  for await (const chunk of runEvents(context, run, range)) {
    for (const { index, record, disclosures, erased } of chunk) {
      const event = openEvent(index, record, disclosures ?? '[]', erased ?? null);
      const { eventId, eventType, action, timestamp } = event;
      yield {
        eventId,
        eventType,
        action,
        timestamp,
        members: membersOf(event),
        erased: event.erased !== undefined,
      };
    }
  }
}

/** The members of a step that are compared: who did what to what, with which metadata. */
function membersOf({ actor, resource, metadata }: ReturnType<typeof openEvent>): JsonObject {
  const own = Object.entries(metadata as JsonObject).filter(([name]) => !ofItsRun.has(name));
  const kept: Record<string, JsonObject[string]> = Object.create(null);
  for (const [name, value] of own) kept[name] = value;
  // all of it was parsed from JSON
  return { actor, resource, metadata: kept } as unknown as JsonObject;
}
