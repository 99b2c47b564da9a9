/**
 * The answers of the model in a session of Claude Code. One answer comes as several lines with one message id: a line for
 * each block, or, from streams, lines that repeat earlier blocks with more in them.
 * Tested by `test/core/intake/formats/claude-code.test.ts`.
 */
import { isSource, textOf, type Source } from '../run.ts';

/** A block of an answer, in its last version. */
interface Slot {
  readonly id: string | undefined;
  block: unknown;
}

interface AnswerState {
  readonly slots: Slot[];
  /** Whether the answer calls a tool. */
  calls: boolean;
  stopReason: string | undefined;
}

const isCall = (block: unknown): boolean => isSource(block) && /(^|_)tool_use$/.test(String(block['type']));

/** Whether the program wrote a message in place of a model: an error of the API, or a filler. */
export const isSynthetic = (line: Source, message: Source): boolean =>
  line['isApiErrorMessage'] === true || message['model'] === '<synthetic>';

/** Whether content has words for the user; thinking is for the model alone. */
export const speaks = (content: unknown): boolean =>
  Array.isArray(content)
    ? content.some((block) => !isSource(block) || !String(block['type']).endsWith('thinking'))
    : textOf(content) !== undefined;

export class Answers {
  readonly #states = new Map<string, AnswerState>();
  /** The slot of each block that came first in its answer; a repeated block has none. */
  readonly #first = new Map<object, Slot>();

  constructor(lines: readonly Source[]) {
    for (const line of lines) {
      const message = isSource(line['message']) ? line['message'] : undefined;
      const id = message === undefined ? undefined : textOf(message['id']);
      if (line['type'] === 'assistant' && message !== undefined && id !== undefined) this.#read(id, message);
    }
  }

  #read(id: string, { content, stop_reason: stop }: Source): void {
    const state = this.#states.get(id) ?? { slots: [], calls: false, stopReason: undefined };
    this.#states.set(id, state);
    state.stopReason = textOf(stop) ?? state.stopReason;
    for (const block of Array.isArray(content) ? content.filter(isSource) : []) {
      if (isCall(block)) state.calls = true;
      const known = state.slots.find((slot) => isVersion(slot, block));
      if (known === undefined) {
        const slot = { id: textOf(block['id']), block };
        state.slots.push(slot);
        this.#first.set(block, slot);
      } else known.block = block;
    }
  }

  /**
   * Whether an answer ends its turn. Sessions name a reason to stop only in the last line of an answer, or nowhere: then an
   * answer that calls no tool is the last one.
   */
  isFinal(message: Source): boolean {
    const { id, content, stop_reason: own } = message;
    const state = this.#states.get(textOf(id) ?? '');
    const stop = textOf(own) ?? state?.stopReason;
    if (stop !== undefined) return !['tool_use', 'pause_turn'].includes(stop);
    return state === undefined ? !(Array.isArray(content) && content.some(isCall)) : !state.calls;
  }

  /** Returns the blocks of a line that no earlier line of its answer has, each in its last version. */
  fresh(message: Source): unknown {
    const { content, id } = message;
    if (!Array.isArray(content) || textOf(id) === undefined) return content;
    return content.flatMap((block) => {
      if (!isSource(block)) return [block];
      const slot = this.#first.get(block);
      return slot === undefined ? [] : [slot.block];
    });
  }
}

/** A stream repeats a call under its id, and a text with more at its end. */
function isVersion({ id, block: before }: Slot, block: Source): boolean {
  if (isCall(block)) return id !== undefined && id === block['id'];
  if (!isSource(before) || before['type'] !== block['type']) return false;
  const [a, b] = [textOf(before['text']), textOf(block['text'])];
  return a !== undefined && b !== undefined
    ? b.startsWith(a)
    : JSON.stringify(before) === JSON.stringify(block);
}
