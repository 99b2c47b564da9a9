/**
 * The call ids of tool observations: their own, else that of a call that a model asked for before. Langfuse's own spans of
 * tools have no id of the call. The call with the arguments of a tool is found as among spans of OTLP, the others as in a
 * conversation. Tested by `test/core/intake/formats/langfuse.test.ts`.
 */
import { digestOf } from '../../json/digest.ts';
import { CallIds } from '../call-ids.ts';
import type { Changes } from '../fit.ts';
import { joinAsked, type AskedCall as TimedCall } from '../otlp/asked-calls.ts';
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
  readonly matchedBy?: 'arguments' | 'name' | 'order' | undefined;
  /** Another tool may be the one of this call. */
  readonly isGuess?: boolean;
  /** Several answers may have asked for it, so that it has an id of its own. */
  readonly isAmbiguous?: boolean;
}

const startOf = ({ source }: Observation): number => readTime(source['startTime'])?.unixMs ?? 0;

/** Whether a tool has ended: before, its id may still come with its output. */
export const hasEnded = ({ source }: Observation): boolean =>
  (source['output'] ?? null) !== null || readTime(source['endTime']) !== null;

/**
 * Returns the call of each tool observation that has one. A tool without an id takes the one call of its name with its
 * arguments that no other tool has. Of the calls that are left, it takes one as a result without an id does.
 */
export function joinCalls(
  observations: readonly Observation[],
  { asked, changes }: { asked: ReadonlyMap<Observation, readonly AskedCall[]>; changes: Changes },
): Map<Observation, JoinedCall> {
  const joined = new Map<Observation, JoinedCall>();
  const tools = observations
    .filter((each) => kindOf(each) === 'tool')
    .toSorted((a, b) => startOf(a) - startOf(b));
  for (const tool of tools) {
    const id = callIdOf(tool);
    if (id !== undefined) joined.set(tool, { id });
  }
  const named = new Set([...joined.values()].map(({ id }) => id));
  const waiting = tools.filter((tool) => !joined.has(tool));
  const calls = timedCalls(asked);
  const byArguments = joinAsked(calls, waiting.map(spanOf), named);
  const taken = new Set([...named, ...byArguments.values()]);
  const others = new OtherCalls(
    calls.filter(({ id }) => !taken.has(id)),
    changes,
  );
  for (const tool of waiting) {
    const id = byArguments.get(tool.id);
    const found: JoinedCall | undefined =
      id === undefined ? others.answered(tool) : { id, matchedBy: 'arguments' };
    // one that still runs keeps its call from the others, so that they have the same one when it has ended
    if (found !== undefined && hasEnded(tool)) joined.set(tool, found);
  }
  return joined;
}

const hashOf = (value: unknown): string => digestOf(value ?? null).hash;

const spanOf = (tool: Observation) => ({
  spanId: tool.id,
  tool: calledName(tool, 'tool'),
  startMs: startOf(tool),
  inputs: () => [hashOf(parsed(tool.source['input']))],
});

/** Calls with a name, in the order in which models asked for them. */
function timedCalls(asked: ReadonlyMap<Observation, readonly AskedCall[]>): TimedCall[] {
  const calls = [...asked].flatMap(([model, each]) =>
    each.flatMap(({ id, name, arguments: input }) =>
      name === undefined
        ? []
        : [{ id, tool: name, input: input === undefined ? '' : hashOf(input), atMs: startOf(model) }],
    ),
  );
  return calls.toSorted((a, b) => a.atMs - b.atMs);
}

/** Calls that no arguments give to a tool. */
class OtherCalls {
  readonly #calls: readonly TimedCall[];
  readonly #ids: CallIds;
  #next = 0;

  constructor(calls: readonly TimedCall[], changes: Changes) {
    this.#calls = [...new Map(calls.map((call) => [call.id, call])).values()];
    this.#ids = new CallIds(changes);
  }

  /** Tools come in the order of their times. */
  answered(tool: Observation): JoinedCall | undefined {
    const name = calledName(tool, 'tool');
    for (let call = this.#calls[this.#next]; call !== undefined; call = this.#calls[(this.#next += 1)]) {
      if (call.atMs >= startOf(tool)) break;
      if (call.atMs !== this.#calls[this.#next - 1]?.atMs) this.#ids.message();
      this.#ids.called(call.id, call.tool);
    }
    if (!this.#ids.state().open.some((call) => call.name === name)) return undefined;
    const { id, matched, isGuess } = this.#ids.answered({ sourceId: undefined, name });
    if (id === undefined) return { id: `import:${tool.id}`, isAmbiguous: true };
    return { id, matchedBy: matched === 'name' ? 'name' : 'order', isGuess };
  }
}
