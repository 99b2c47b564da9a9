/**
 * Judges the events of one request, and turns the accepted ones into the leaves of an append. Batches and received
 * telemetry share it. Proven by `test/service/events/handlers.engines.test.ts`.
 */
import type { EventInput } from '../../contract/events.ts';
import { isRefused } from '../../core/json/items.ts';
import type { EventDraft } from '../../core/events/record.ts';
import { meterOf } from '../billing/quota.ts';
import { isAgent, type Caller } from '../call/caller.ts';
import type { Services } from '../port/services.ts';
import type { Meter, PlainRequest } from '../writes/append.ts';
import { subjectsOf } from '../call/subjects.ts';
import { judgeEvent, loadEventCheck, refusedItem, type JudgedEvent, type RecordRules } from './judge.ts';
import { redactionOf } from './redaction.ts';

/** Redaction and subjects of the caller's project. */
export const recordingOf = (caller: Caller, services: Services): RecordRules => ({
  redact: redactionOf(caller, services),
  subjects: subjectsOf(caller, services),
  onlyRun: caller.run,
  by: caller.id,
  isAgent: isAgent(caller),
});

/** The leaves of a request that the service appends. */
export function acceptedOf(results: readonly JudgedEvent[]): Pick<PlainRequest, 'fingerprints'> & {
  readonly leaves: readonly EventDraft[];
} {
  const leaves: EventDraft[] = [];
  let fingerprints: Map<number, string> | undefined;
  for (const result of results) {
    if ('fault' in result) continue;
    if (result.fingerprint !== null) {
      fingerprints ??= new Map<number, string>();
      fingerprints.set(leaves.length, result.fingerprint);
    }
    leaves.push(result.draft);
  }
  return fingerprints === undefined ? { leaves } : { leaves, fingerprints };
}

/** Counts accepted events. Duplicates and rejected events cost no units (contract I8, E11). */
export const eventMeter = (services: Services, caller: Caller): Meter =>
  meterOf(services, { caller, op: 'audit_event', units: 'accepted' });

/**
 * Judges a batch in slices, so that other requests run in between. A batch of 16 MiB takes a few hundred
 * milliseconds.
 */
export async function judgeAll(
  inputs: readonly unknown[],
  services: Services,
  caller: Caller,
  more: Pick<RecordRules, 'mayJoin' | 'onlyRun'> = {},
): Promise<JudgedEvent[]> {
  const check = await loadEventCheck();
  const recording = { ...recordingOf(caller, services), ...more };
  const results: JudgedEvent[] = [];
  const slice = services.slices.of(caller.project.projectId);
  await slice.next();
  for (const input of inputs) {
    if (slice.isOver()) await slice.next();
    if (isRefused(input)) {
      results.push(refusedItem(input));
      continue;
    }
    const [fault] = check(input)?.errors ?? [];
    // the check has just accepted it as an event
    results.push(fault === undefined ? judgeEvent(input as EventInput, services, recording) : { fault });
  }
  return results;
}
