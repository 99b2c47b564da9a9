/**
 * Reports of calls without an id. Each belongs to the oldest open decision of the same action within a minute, or stays a call of its
 * own. Equal actions are interchangeable: two decisions allow two calls. Tested by `test/core/coverage/cases.test.ts`.
 */
import type { ReportSource } from '../../contract/coverage.ts';
import type { CallFacts, Calls, Sighting } from './calls.ts';
import { joinMs } from './join.ts';
import { compare } from './same.ts';

/** More equal decisions in a minute are not looked at. */
const mostAlike = 64;

/** Unites calls and decisions of which one has no id of the client. Cost: constant for each call. */
export function joinUnnamed(calls: Calls): void {
  const decided = new Map<string, Decided[]>();
  const all = calls.all;
  for (const call of all) {
    if (call.decision === null) continue;
    const decision = { call, open: new Map<ReportSource, number>() };
    for (const key of keysOf(call, [0])) {
      const alike = decided.get(key) ?? [];
      decided.set(key, alike);
      if (alike.length < mostAlike) alike.push(decision);
    }
  }
  for (const call of all) {
    if (call.decision !== null) continue;
    const near = [...keysOf(call, isAsked(call) ? [-1, 0, 1] : [-1, 0])].flatMap(
      (key) => decided.get(key) ?? [],
    );
    const decision = near.find((other) => isSame(call, other));
    if (decision === undefined) continue;
    for (const source of call.sightings.keys())
      decision.open.set(source, openOf(decision, source, call.sightings.get(source)) - 1);
    calls.unite(decision.call, call);
  }
}

/** A decided call, and how many more reports of each source it allows. */
interface Decided {
  readonly call: CallFacts;
  readonly open: Map<ReportSource, number>;
}

/** A hook without ids gives equal calls one id, so a call may have several decisions. */
function openOf({ call, open }: Decided, source: ReportSource, sighting: Sighting | undefined): number {
  const known = open.get(source);
  if (known !== undefined) return known;
  const own = call.sightings.get(source);
  if (own === undefined) return call.reports.filter(({ decides }) => decides).length;
  // the same hook reports the end of a call under other arguments, which its client completed
  const isItsEnd = sighting?.requested === false && !own.ran && !own.failed && !own.refused;
  return isItsEnd ? 1 : 0;
}

function keysOf({ reports, startMs }: CallFacts, minutes: readonly number[]): Set<string> {
  const minute = Math.floor(startMs / joinMs);
  const hashes = reports.flatMap(({ callHash, argumentsHash }) => [callHash, argumentsHash]);
  return new Set(
    hashes.flatMap((hash) => (hash === null ? [] : minutes.map((each) => `${minute + each} ${hash}`))),
  );
}

function isSame(call: CallFacts, decided: Decided): boolean {
  const { call: other } = decided;
  const afterMs = call.startMs - other.startMs;
  if (isOfClient(call.id) && isOfClient(other.id)) return false;
  if (afterMs >= joinMs || afterMs < (isAsked(call) ? -joinMs : 0)) return false;
  if ([...call.sightings].some(([source, sighting]) => openOf(decided, source, sighting) < 1)) return false;
  return call.reports.some((one) => other.reports.some((report) => compare(one, report) === 'action'));
}

/** A recording has the time at which the model asked, which is before the decision. */
const isAsked = ({ sightings }: CallFacts): boolean => sightings.size === 1 && sightings.has('transcript');

/** The hook makes an id where the client gives it none: no other source has that. */
const isOfClient = (id: string | null): boolean => id !== null && !id.startsWith('hook:');
