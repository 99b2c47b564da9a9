/**
 * Matches the messages of a SWE-agent history to the steps of its trajectory. Both have the same order, and either may
 * lack parts of the other. Tested by `test/core/intake/formats/swe-agent.test.ts`.
 */
import type { Source } from '../run.ts';

export interface HistoryAlignment {
  /** Messages before the first step: system prompt, demonstration, task. */
  readonly before: readonly number[];
  /** Per step: its assistant message, if the history has it. */
  readonly said: readonly (number | undefined)[];
  /** Per step: the messages that showed its observation to the model. */
  readonly shown: readonly (readonly number[])[];
  /** Messages without a step, from the first assistant message on. */
  readonly after: readonly number[];
}

/** Each index of the history is in exactly one member of the result. Cost: steps × messages in the worst case. */
export function alignHistory(steps: readonly Source[], history: readonly Source[]): HistoryAlignment {
  const roles = history.map((message) => message['role']);
  const assistants = [...history.keys()].filter((index) => roles[index] === 'assistant');
  const said = matchInOrder(steps, { history, assistants });
  const first = Math.min(...said.filter((index) => index !== undefined), assistants[0] ?? history.length);
  const shown: number[][] = steps.map(() => []);
  const after: number[] = [];
  const matched = new Set(said);
  for (let index = first; index < history.length; index++) {
    if (matched.has(index)) continue;
    const owner = roles[index] === 'assistant' ? undefined : ownerOf(index, { steps, history, said });
    if (owner === undefined) after.push(index);
    else shown[owner]?.push(index);
  }
  return { before: [...history.keys()].slice(0, first), said, shown, after };
}

function matchInOrder(
  steps: readonly Source[],
  { history, assistants }: { history: readonly Source[]; assistants: readonly number[] },
): (number | undefined)[] {
  let next = 0;
  return steps.map((step, index) => {
    const equal = assistants.findIndex((at, position) => position >= next && isSame(step, history[at]));
    // if as many messages as steps remain, an edited text matches by its position
    const inPlace = assistants.length - next === steps.length - index ? next : -1;
    const position = equal === next || inPlace === -1 ? equal : inPlace;
    if (position === -1) return undefined;
    next = position + 1;
    return assistants[position];
  });
}

const isSame = (step: Source, message: Source | undefined): boolean =>
  message !== undefined &&
  (message['content'] === step['response'] ||
    (message['thought'] === step['thought'] && message['action'] === step['action']));

/** Returns the step whose observation a message shows: the quoted one among those since the last match. */
function ownerOf(
  index: number,
  {
    steps,
    history,
    said,
  }: { steps: readonly Source[]; history: readonly Source[]; said: readonly (number | undefined)[] },
): number | undefined {
  const from = said.findLastIndex((at) => at !== undefined && at < index);
  if (from === -1) return undefined;
  const next = said.findIndex((at) => at !== undefined && at > index);
  const to = next === -1 ? steps.length : next;
  const content = String(history[index]?.['content']);
  for (let step = to - 1; step > from; step--) {
    const observation = steps[step]?.['observation'];
    if (typeof observation === 'string' && observation.trim() !== '' && content.includes(observation.trim()))
      return step;
  }
  return from;
}
