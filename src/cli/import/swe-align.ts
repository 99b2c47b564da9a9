/**
 * Which messages of a SWE-agent history stand for which step of the trajectory beside it. They follow each other
 * in the same order, but either side may lack what the other has. `test/cli/import/swe-agent.test.ts`.
 */
import type { Source } from './run.ts';

export interface Aligned {
  /** Messages before the first step: system prompt, demonstration, task. */
  readonly before: readonly number[];
  /** Per step, the assistant message that it is, where the history has it. */
  readonly said: readonly (number | undefined)[];
  /** Per step, the messages that showed its observation to the model. */
  readonly shown: readonly (readonly number[])[];
  /** Messages from the first assistant message on that belong to no step. */
  readonly after: readonly number[];
}

/** Cost: steps × messages in the worst case. Every index of the history is in exactly one place of the answer. */
export function alignHistory(steps: readonly Source[], history: readonly Source[]): Aligned {
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
    // where as many messages are left as steps, an edited text still has its place
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

/** The step whose observation a message shows: of those since the last matched message, the one it quotes. */
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
