/**
 * What a rollout of Codex has in two lines: an item of the conversation, and a message for its screen. A message whose words
 * no item has is the only record of them. Tested by `test/core/intake/formats/codex.test.ts`.
 */
import { isSource, textOf, type Source } from '../run.ts';

/** An editor puts what it shows before the words of its user. */
const marker = '## My request for Codex:';

/** Lines within which the item of a message may still come, while the file grows. */
const linesAfter = 3;

type Line = Source & { readonly payload: Source };

export class SaidWords {
  readonly #texts = new Set<string>();
  readonly #lines: number;

  /** Cost: once over the texts of the items. */
  constructor(lines: readonly Line[]) {
    this.#lines = lines.length;
    for (const { type: line, payload } of lines) {
      const { type, role, content } = payload;
      if (line !== 'response_item' || type !== 'message' || !Array.isArray(content)) continue;
      const texts = content.filter(isSource).flatMap((part) => textOf(part['text']) ?? []);
      for (const text of [...texts, texts.join('\n'), texts.join('')]) this.#add(String(role), text);
    }
  }

  #add(role: string, text: string): void {
    const at = text.lastIndexOf(marker);
    for (const each of at === -1 ? [text] : [text, text.slice(at + marker.length)])
      this.#texts.add(`${role} ${each.trim()}`);
  }

  /** Whether the message of a line has words that no item has or may still have. */
  lacks(role: 'user' | 'assistant', message: unknown, index: number): boolean {
    const text = textOf(message)?.trim() ?? '';
    return text !== '' && index < this.#lines - linesAfter && !this.#texts.has(`${role} ${text}`);
  }
}
