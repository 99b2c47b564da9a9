/**
 * What Claude Code writes in place of the result of a call that did not run to its end, and of a prompt. Its words are in
 * the content; `toolUseResult` repeats some of them after `Error: `. Tested by `test/core/intake/outcomes.test.ts`.
 */
import type { Ending } from '../../../contract/endings.ts';
import { isSource, textOf, type Source } from '../run.ts';

const interruption = /^\[Request interrupted by user(?: for tool use)?\]$/;

const written: readonly (readonly [Ending, RegExp])[] = [
  [
    'refused',
    /^(?:User rejected tool use$|The user doesn't want to (?:proceed with this tool use|take this action))/,
  ],
  ['interrupted', interruption],
  ['interrupted', /^<tool_use_error>(?:Cancelled|Sibling tool call errored)/],
  ['denied', /^<tool_use_error>(?:Blocked: |Error: No such tool available: [\w.:-]+<\/tool_use_error>$)/],
  ['denied', /^Permission to use [\w:-]+ .*has been denied/],
  ['denied', /^Claude requested permissions to .* but you haven't granted it yet/],
  [
    'denied',
    /^(?:PreToolUse:\S+ hook (?:error|stopped)|[\w:-]+ (?:operation )?blocked by hook\b|Hook PreToolUse:\S+ denied this tool)/,
  ],
  ['timed_out', /^(?:Exit code \d+\s+)?Command timed out after /],
];

/** Returns the ending that the program wrote itself; undefined for a result of the tool. */
export function writtenEnding({ content, is_error: isError }: Source, details: unknown): Ending | undefined {
  const texts = [textIn(content), textOf(details)?.replace(/^Error: /, '')];
  const isResult = isError !== true && texts[1] === undefined;
  return written.find(
    // a tool may print the words: they count in an error alone, but for those that end a turn
    ([ending, words]) =>
      (!isResult || ending === 'refused' || ending === 'interrupted') &&
      texts.some((text) => text !== undefined && words.test(text)),
  )?.[0];
}

/**
 * Returns the ending of the calls that a line answers, where the line says who decided that they do not run: its user, a
 * rule of the program, or a hook. Undefined for a call that ran, and for one whose arguments were wrong.
 */
export function decidedEnding(line: Source): Ending | undefined {
  const { toolDenialKind: kind, permissionDecision: given } = line;
  if (line['toolDenialAfterRun'] === true) return undefined;
  if (kind === 'interrupted') return 'interrupted';
  const { decision, source } = isSource(given) ? given : {};
  // of a call that ran until its user stopped it, the program writes the words of a refusal
  if (kind === 'user-rejected' && line['toolDenialBeforeRun'] !== true && decision === undefined)
    return 'interrupted';
  if (decision === 'reject' && source !== 'invalid_input')
    return String(source).startsWith('user') ? 'refused' : 'denied';
  return kind === 'permission-rule' ? 'denied' : undefined;
}

/** Whether a message of the user is only what the program wrote of an interruption by the user. */
export const isInterruption = (content: unknown): boolean =>
  (!Array.isArray(content) || content.length === 1) && interruption.test(textIn(content) ?? '');

/** The text of content that begins with one. */
function textIn(content: unknown): string | undefined {
  const [block]: unknown[] = Array.isArray(content) ? content : [content];
  return textOf(isSource(block) ? block['text'] : block)?.trimStart();
}
