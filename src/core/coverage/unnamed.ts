/**
 * Reports of calls without an id. Each belongs to the oldest open decision of the same action within a minute, or stays a call of its
 * own. Equal actions are interchangeable: two decisions allow two calls. Tested by `test/core/coverage/cases.test.ts`.
 */
import type { CallFacts, Calls } from './calls.ts';
import { joinMs } from './join.ts';
import { compare } from './same.ts';

/** More equal decisions in a minute are not looked at. */
const mostAlike = 64;

/** Unites calls and decisions of which one has no id. Cost: constant for each call. */
export function joinUnnamed(calls: Calls): void {
  const decided = new Map<string, CallFacts[]>();
  const all = calls.all;
  for (const call of all) {
    if (call.decision === null) continue;
    for (const key of keysOf(call, [0])) {
      const alike = decided.get(key) ?? [];
      decided.set(key, alike);
      if (alike.length < mostAlike) alike.push(call);
    }
  }
  const taken = new Set<CallFacts>();
  for (const call of all) {
    if (call.decision !== null) continue;
    const near = [...keysOf(call, [-1, 0])].flatMap((key) => decided.get(key) ?? []);
    const decision = near.find((other) => !taken.has(other) && isSame(call, other));
    if (decision === undefined) continue;
    taken.add(decision);
    calls.unite(decision, call);
  }
}

function keysOf({ reports, startMs }: CallFacts, minutes: readonly number[]): Set<string> {
  const minute = Math.floor(startMs / joinMs);
  const hashes = reports.flatMap(({ callHash, argumentsHash }) => [callHash, argumentsHash]);
  return new Set(
    hashes.flatMap((hash) => (hash === null ? [] : minutes.map((each) => `${minute + each} ${hash}`))),
  );
}

function isSame(call: CallFacts, decided: CallFacts): boolean {
  const afterMs = call.startMs - decided.startMs;
  if ((call.id !== null && decided.id !== null) || afterMs < 0 || afterMs >= joinMs) return false;
  if (call.sightings.keys().some((source) => decided.sightings.has(source))) return false;
  return call.reports.some((one) => decided.reports.some((other) => compare(one, other) === 'action'));
}
