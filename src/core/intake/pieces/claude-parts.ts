/**
 * Where a long session of Claude Code may be cut, so that no line before the cut says anything about a line after it but
 * through the ids of calls. Tested by `test/core/intake/parts/reader.test.ts`.
 */
import { isSource, textOf, type Source } from '../run.ts';
import { linesAfter } from './claude-queue.ts';

/**
 * Returns the number of lines before the last answer of the model. Lines of an answer that has not ended may follow. What a
 * user typed during a turn is understood with the lines around it, so there is no cut among them.
 */
export function partEnd(lines: readonly Source[]): number {
  const seen = new Set<string>();
  const queue: unknown[] = [];
  let end = 0;
  let takenAt = -linesAfter;
  for (const [index, line] of lines.entries()) {
    const id = answerOf(line);
    const isFirst = id !== undefined && !seen.has(id);
    if (isFirst && queue.length === 0 && index - takenAt >= linesAfter) end = index;
    if (isFirst) seen.add(id);
    if (line['type'] !== 'queue-operation') continue;
    const { operation, content } = line;
    if (operation === 'enqueue' && textOf(content) !== undefined) queue.push(content);
    if (operation === 'popAll') queue.length = 0;
    if (operation !== 'dequeue' && operation !== 'remove') continue;
    takenAt = index;
    const at = textOf(content) === undefined ? 0 : queue.indexOf(content);
    if (at !== -1) queue.splice(at, 1);
  }
  return end;
}

/** The id of the answer that a line is of. */
const answerOf = ({ type, message }: Source): string | undefined =>
  type === 'assistant' && isSource(message) ? textOf(message['id']) : undefined;

/** Returns the answers that the lines are of: one that is in two parts is read as a whole. */
export const answersOf = (lines: readonly Source[]): ReadonlySet<string> =>
  new Set(lines.flatMap((line) => answerOf(line) ?? []));

/** Whether a line is one of the session itself: neither a subagent's, nor repeated from another session. */
export const isOfSession = (line: Source, session: string): boolean =>
  (textOf(line['sessionId']) ?? session) === session &&
  line['isSidechain'] !== true &&
  line['forkedFrom'] === undefined &&
  !(line['type'] === 'progress' && isSource(line['data']) && 'message' in line['data']);
