/**
 * What a recording holds beside its events: the facts that it repeats of another run, and the parts that gov does not
 * understand. A balance of the recording states them. Tested by `test/core/intake/facts.test.ts`.
 */
import type { EventInput } from '../../contract/events.ts';
import { fromEach, type Counts, type Remainder } from '../balance/statement.ts';
import { observedType } from '../coverage/join.ts';
import { digestOf } from '../json/digest.ts';
import { isObject } from '../json/object.ts';

/** Facts of a recording, by kind. */
export interface FactCounts {
  readonly calls: number;
  readonly results: number;
  readonly prompts: number;
  /** Words of a model: delivered ones, and those beside calls. */
  readonly outputs: number;
}

/** Facts that a fork or a branch repeats of its parent. They have no events in this run. */
export interface InheritedFacts extends FactCounts {
  readonly run: string;
  /** The id of the last line that is repeated, where the file itself does not say which lines are. */
  readonly through?: string | undefined;
}

type CountedEvent = Pick<EventInput, 'eventType' | 'action' | 'metadata'>;

/** Counts the facts of events. A report of a call that another source recorded counts as the call. */
export function countFacts(events: Iterable<CountedEvent>): FactCounts {
  const counts = { calls: 0, results: 0, prompts: 0, outputs: 0 };
  for (const event of events) {
    const kind = kindOf(event);
    if (kind !== undefined) counts[kind] += 1;
  }
  return counts;
}

function kindOf({ eventType, action, metadata = {} }: CountedEvent): keyof FactCounts | undefined {
  switch (eventType === observedType ? metadata['observed'] : eventType) {
    case 'tool.call':
      return 'calls';
    case 'tool.result':
      return 'results';
    case 'prompt.submitted':
      return 'prompts';
    case 'output.delivered':
      return 'outputs';
    case 'model.invoked':
      return isSpoken(metadata['content']) ? 'outputs' : undefined;
    case 'agent.step':
      return action === 'say' ? 'outputs' : undefined;
    default:
      return undefined;
  }
}

const types = { calls: 'tool.call', results: 'tool.result', prompts: 'prompt.submitted', outputs: undefined };

/**
 * Counts the events of types that only facts of the kind become, of those that `isCounted` takes by their place. A model
 * event may stand for an output, and need not: outputs are not counted.
 */
export const factEvents = (
  events: readonly CountedEvent[],
  isCounted: (at: number) => boolean = () => true,
): Counts =>
  fromEach((kind) => events.filter(({ eventType }, at) => eventType === types[kind] && isCounted(at)).length);

/** Whether content has words; thinking is for the model alone. */
const isSpoken = (content: unknown): boolean =>
  Array.isArray(content)
    ? content.some((part) => typeof part === 'string' || (isObject(part) && typeof part['text'] === 'string'))
    : typeof content === 'string' && content !== '';

export const remainderOf = (why: string, value: unknown, where: string): Remainder => ({
  where,
  why,
  ...digestOf(value),
});
