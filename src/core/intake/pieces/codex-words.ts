/**
 * What a rollout of Codex has in two lines: an item of the conversation, and a message for its screen. A message whose words
 * no item has is the only record of them. Tested by `test/core/intake/formats/codex.test.ts`.
 */
import type { PartContext } from '../format.ts';
import { isSource, textOf, type Source } from '../run.ts';

/** An editor puts what it shows before the words of its user. */
const marker = '## My request for Codex:';

/** Lines within which the item of a message may still come, while the file grows. */
export const linesAfter = 3;

type Line = Source & { readonly payload: Source };

export class SaidWords {
  readonly #texts = new Set<string>();
  /** Lines that are too new to judge begin here. */
  readonly #end: number;
  readonly #part: Pick<PartContext, 'names' | 'isLast'> | undefined;
  /** Another part may have the item of a message, or the message of an item. */
  isUnsure = false;

  /** `part`: the lines are a part of a rollout. Cost: once over the texts of the items. */
  constructor(lines: readonly Line[], part?: Pick<PartContext, 'names' | 'isLast'>) {
    this.#part = part;
    this.#end = part?.isLast === false ? Infinity : lines.length - linesAfter;
    for (const { type: line, payload } of lines) {
      const { type, role, content } = payload;
      if (line !== 'response_item' || type !== 'message' || !Array.isArray(content)) continue;
      const texts = content.filter(isSource).flatMap((part) => textOf(part['text']) ?? []);
      for (const text of [...texts, texts.join('\n'), texts.join('')]) this.#add(String(role), text);
    }
  }

  #add(role: string, text: string): void {
    const at = text.lastIndexOf(marker);
    for (const each of at === -1 ? [text] : [text, text.slice(at + marker.length)]) {
      const said = `${role} ${each.trim()}`;
      if (this.#texts.has(said)) continue;
      this.#texts.add(said);
      this.#part?.names.add(`item ${said}`);
      this.isUnsure ||= this.#part?.names.has(`message ${said}`) === true;
    }
  }

  /** Whether the message of a line has words that no item has or may still have. */
  lacks(role: 'user' | 'assistant', message: unknown, index: number): boolean {
    const text = textOf(message)?.trim() ?? '';
    const said = `${role} ${text}`;
    if (text === '' || index >= this.#end || this.#texts.has(said)) return false;
    this.#part?.names.add(`message ${said}`);
    this.isUnsure ||= this.#part?.names.has(`item ${said}`) === true;
    return true;
  }
}

/** Whether the program wrote a message in the user's name: it says so, or the text is one of its own tags. */
export function isOfProgram(message: Source, passed: unknown): boolean {
  const given = isSource(passed) ? passed['content_item_metadata'] : undefined;
  const provenance = (Array.isArray(given) ? given.filter(isSource) : [])
    .map((each) => each['provenance'])
    .find(isSource);
  if (provenance !== undefined) return provenance['type'] === 'harness';
  const parts = Array.isArray(message['content']) ? message['content'].filter(isSource) : [];
  const text = textOf(parts[0]?.['text']) ?? '';
  return /^<(environment_context|user_instructions|turn_aborted|permissions|subagent_notification)\b|^# AGENTS\.md/.test(
    text.trimStart(),
  );
}
