/**
 * History that Gemini CLI writes again. After a call that its user refused or stopped, the program starts the conversation
 * again: it writes the context of the session, then each earlier message that it keeps with a new id, and at the end the
 * list of them (`$set`). Measured: 0.61.0. Tested by `test/core/intake/formats/gemini-cli.test.ts`.
 */
import { isSource, textOf } from '../run.ts';

/** How the context begins that the program gives the model as the first words of the user. */
const contextStart = '<session_context>';
/** What the program writes for a model that was stopped. */
const filler = '[The previous response was interrupted before it completed.]';

const partsOf = (content: unknown): readonly unknown[] => (Array.isArray(content) ? content : [content]);

/** The text of a part, or a text that is a content by itself. */
const spokenIn = (part: unknown): string | undefined => textOf(isSource(part) ? part['text'] : part);

export const isContext = (content: unknown): boolean =>
  spokenIn(partsOf(content)[0])?.startsWith(contextStart) === true;

export const isFiller = (content: unknown): boolean => {
  const parts = partsOf(content);
  return parts.length === 1 && spokenIn(parts[0]) === filler;
};

const idsIn = (value: unknown, member: string): string[] =>
  partsOf(value).flatMap((part) => {
    const found = isSource(part) ? part[member] : undefined;
    return isSource(found) ? [textOf(found['id']) ?? JSON.stringify(found)] : [];
  });

/** What a message says: its speaker, its words, and the calls that it makes or answers. */
function factsOf(message: unknown): string | undefined {
  if (!isSource(message) || !/^(?:user|gemini)$/.test(String(message['type']))) return undefined;
  const { type, content, toolCalls } = message;
  const calls = Array.isArray(toolCalls) ? toolCalls.filter(isSource).map(({ id }) => textOf(id) ?? '') : [];
  return JSON.stringify([
    type,
    partsOf(content)
      .flatMap((part) => spokenIn(part) ?? [])
      .join(''),
    [...calls, ...idsIn(content, 'functionCall')],
    idsIn(content, 'functionResponse'),
  ]);
}

/** The messages before, each of which may come again once, in their order. */
export class History {
  /** Places of equal messages, the last one first. */
  readonly #places = new Map<string, number[]>();
  #next = 0;

  constructor(messages: readonly unknown[]) {
    for (const [place, message] of [...messages.entries()].toReversed()) {
      const facts = factsOf(message);
      if (facts === undefined) continue;
      const known = this.#places.get(facts);
      if (known === undefined) this.#places.set(facts, [place]);
      else known.push(place);
    }
  }

  /** Whether a message repeats one of them. */
  repeats(message: unknown): boolean {
    const places = this.#places.get(factsOf(message) ?? '') ?? [];
    while ((places.at(-1) ?? this.#next) < this.#next) places.pop();
    const found = places.pop();
    if (found === undefined) return false;
    this.#next = found + 1;
    return true;
  }
}
