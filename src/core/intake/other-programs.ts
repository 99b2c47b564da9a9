/**
 * Programs whose recordings look like those of another one, so that a format would take their lines and find nothing in
 * them. Such a file is refused by name. Tested by `test/core/intake/registry.test.ts`.
 */
import { isSource } from './run.ts';

/** Returns what a document looks like, if gov does not read it; undefined for any other document. */
export function otherProgram(document: unknown): string | undefined {
  const lines = (Array.isArray(document) ? document : [document]).filter(isSource);
  const messages = lines
    .filter((line) => typeof line['sessionId'] === 'string' && typeof line['type'] === 'string')
    .map((line) => line['message'])
    .filter(isSource);
  const empty = messages.filter((message) => (message['content'] ?? null) === null);
  if (empty.some((message) => Array.isArray(message['parts'])))
    return 'a session of Qwen Code: its messages have parts, not content';
  return empty.length === 0 || empty.length < messages.length
    ? undefined
    : 'a session of another program than Claude Code: its messages have no content';
}
