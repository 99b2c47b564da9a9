/**
 * The call ids of tool observations: their own, else that of a call that a model asked for before. Langfuse's own spans of
 * tools have no id of the call. Tested by `test/core/intake/formats/langfuse.test.ts`.
 */
import { isSource } from '../run.ts';
import { readTime } from '../time.ts';
import {
  calledName,
  callIdOf,
  kindOf,
  parsed,
  type AskedCall,
  type Observation,
} from './langfuse-observation.ts';

export interface JoinedCall {
  readonly id: string;
  /** How it was found; absent: the observation has the id itself. */
  readonly matchedBy?: 'arguments' | 'name' | 'order';
}

interface OpenCall extends AskedCall {
  readonly askedAtMs: number;
}

const startOf = ({ source }: Observation): number => readTime(source['startTime'])?.unixMs ?? 0;

/** Whether a tool has ended: before, its id may still come with its output. */
export const hasEnded = ({ source }: Observation): boolean =>
  (source['output'] ?? null) !== null || readTime(source['endTime']) !== null;

/**
 * Returns the call of each tool observation that has one. A tool without an id takes a call of its name that no other has:
 * the one with its arguments, else, of those that are left, the only one or the oldest.
 */
export function joinCalls(
  observations: readonly Observation[],
  asked: ReadonlyMap<Observation, readonly AskedCall[]>,
): Map<Observation, JoinedCall> {
  const joined = new Map<Observation, JoinedCall>();
  const tools = observations.filter((each) => kindOf(each) === 'tool');
  const taken = new Set<string>();
  for (const tool of tools) {
    const id = callIdOf(tool);
    if (id === undefined) continue;
    taken.add(id);
    joined.set(tool, { id });
  }
  const open: OpenCall[] = [...asked].flatMap(([model, calls]) =>
    calls.map((call) => ({ ...call, askedAtMs: startOf(model) })),
  );
  const waiting = tools.filter((tool) => !joined.has(tool)).toSorted((a, b) => startOf(a) - startOf(b));
  const without = new Set(waiting);
  // equal arguments say more than an order, which observations that come late may change
  for (const bestOf of [byArguments, byName]) {
    for (const tool of waiting) {
      const name = calledName(tool, 'tool');
      const isOpen = (call: OpenCall) =>
        !taken.has(call.id) && call.name === name && call.askedAtMs < startOf(tool);
      const found = without.has(tool) ? bestOf(open.filter(isOpen), tool) : undefined;
      if (found === undefined) continue;
      without.delete(tool);
      // one that still runs keeps its call from the others, so that they have the same one when it has ended
      taken.add(found.id);
      if (hasEnded(tool)) joined.set(tool, found);
    }
  }
  return joined;
}

/** As JSON, with the members of each object in one order. */
const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    isSource(each) ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1))) : each,
  );

function byArguments(calls: readonly OpenCall[], { source }: Observation): JoinedCall | undefined {
  const input = sorted(parsed(source['input']));
  const equal = calls.find((call) => call.arguments !== undefined && sorted(call.arguments) === input);
  return equal === undefined ? undefined : { id: equal.id, matchedBy: 'arguments' };
}

function byName(calls: readonly OpenCall[]): JoinedCall | undefined {
  const [oldest] = calls.toSorted((a, b) => a.askedAtMs - b.askedAtMs);
  return oldest === undefined
    ? undefined
    : { id: oldest.id, matchedBy: calls.length === 1 ? 'name' : 'order' };
}
