/**
 * What the user of Claude Code typed while the model worked. The session queues it, and takes it into the running turn
 * without a line of the user: `remove` ends its wait, and newer releases write an attachment `queued_command`.
 * Tested by `test/core/intake/pieces/claude-queue.test.ts`.
 */
import { isSource, textOf, type Source } from '../run.ts';

/** The line that has the words too comes right after. */
export const linesAfter = 10;

interface QueuedPrompt {
  readonly text: string;
  readonly from: number;
}

/** Returns the words that a line took into its turn, by that line, where no other line has them. */
export function steeringPrompts(lines: readonly Source[]): Map<Source, string> {
  const found = new Map<Source, string>();
  const said = new Set<Source>();
  let queue: QueuedPrompt[] = [];
  for (const [index, line] of lines.entries()) {
    if (line['type'] !== 'queue-operation') continue;
    const { operation, content, reason } = line;
    const text = textOf(content);
    if (operation === 'enqueue' && text !== undefined) queue.push({ text, from: index });
    if (operation === 'popAll') queue = [];
    if (operation !== 'dequeue' && operation !== 'remove') continue;
    const at = text === undefined ? 0 : queue.findIndex((each) => each.text === text);
    const [taken] = at === -1 ? [] : queue.splice(at, 1);
    const isTaken = reason === undefined || String(reason).startsWith('absorbed');
    if (taken === undefined || operation === 'dequeue' || !isTaken || !isSpoken(taken.text)) continue;
    const other = lines
      .slice(taken.from, index + linesAfter)
      .find((each) => !said.has(each) && wordsOf(each) === taken.text);
    if (other === undefined) found.set(line, taken.text);
    else said.add(other);
  }
  return found;
}

/** Commands and notifications of the program wait in the same queue. */
const isSpoken = (text: string): boolean => !/^\s*[</]/.test(text);

/** Returns the content of an attachment that a person typed; undefined for one of the program or another agent. */
export function queuedPrompt(attachment: Source, line: Source): unknown {
  const { type, prompt, commandMode, origin } = attachment;
  const kind = isSource(origin) ? origin['kind'] : undefined;
  const isOfUser = (commandMode ?? 'prompt') === 'prompt' && (kind ?? 'human') === 'human';
  const isMeta = line['isMeta'] === true || attachment['isMeta'] === true;
  if (type !== 'queued_command' || !isOfUser || isMeta) return undefined;
  if (typeof prompt === 'string') return prompt !== '' && isSpoken(prompt) ? prompt : undefined;
  return Array.isArray(prompt) && prompt.length > 0 ? prompt : undefined;
}

/** The words of a line of the user, or of an attachment that takes them into the turn. */
function wordsOf(line: Source): string | undefined {
  const { message, attachment } = line;
  const content =
    line['type'] === 'user' && isSource(message)
      ? message['content']
      : isSource(attachment)
        ? queuedPrompt(attachment, line)
        : undefined;
  if (!Array.isArray(content)) return textOf(content);
  const texts = content.filter(isSource).flatMap((block) => textOf(block['text']) ?? []);
  return texts.length === 0 ? undefined : texts.join('\n');
}
