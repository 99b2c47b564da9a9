/**
 * How Codex says that a call ended: in the words that it writes in place of an output, and in the event of its end.
 * Tested by `test/core/intake/formats/codex.test.ts`.
 */
import type { Ending } from '../../../contract/endings.ts';
import { readArguments } from '../conversation.ts';
import { exitCodeIn, saysFailure } from '../ending.ts';
import { isSource, textOf, type Source } from '../run.ts';

/** Codex gives the reason of a hook that blocked a call in place of the call's output. */
export const isBlocked = (output: unknown): boolean =>
  typeof output === 'string' && /^(?:Command|Tool call) blocked by PreToolUse hook\b/.test(output);

/** What Codex writes in place of an output. */
export function writtenEnding(output: unknown): Ending | undefined {
  const text = textOf(output) ?? '';
  if (/^(?:exec command|patch|tool call|command) rejected by user\b/i.test(text)) return 'refused';
  // nothing ran: it has no such tool
  if (/^unsupported (?:custom tool )?call: \S+$/.test(text)) return 'denied';
  return /^(?:Wall time: [\d.]+ seconds\s+)?aborted(?: by user\b|$)/.test(text) ? 'interrupted' : undefined;
}

/** The end of a patch, or of a call of MCP: its result is `{Ok}` or `{Err}`. */
export function isFailureEvent({ success, result }: Source): boolean {
  if (!isSource(result)) return success === false;
  return success === false || 'Err' in result || saysFailure(result['Ok']);
}

/** Older files say the exit code in the JSON of the output, or in its text. */
export function exitIn(output: unknown): number | undefined {
  if (typeof output !== 'string') return undefined;
  const given = readArguments(output);
  const metadata = isSource(given) ? given['metadata'] : undefined;
  const code = isSource(metadata) ? metadata['exit_code'] : undefined;
  return typeof code === 'number' ? code : exitCodeIn(output);
}
