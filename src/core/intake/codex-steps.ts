/**
 * What Codex does for itself, without a hook (measured: 0.171): it searches the tools that it has, and waits for a program
 * that it started. Neither does anything outside Codex. Text that it types into a program is a call.
 * Tested by `test/core/intake/formats/codex.test.ts` and `test/core/intake/formats/otlp.test.ts`.
 */
import { readArguments } from './conversation.ts';
import { isSource } from './run.ts';

/** `input`: the arguments as the model wrote them. The tool must be one of Codex itself, not of an MCP server. */
export function isStepOfCodex(tool: unknown, input: unknown): boolean {
  if (tool === 'tool_search') return true;
  const given = readArguments(input);
  return tool === 'write_stdin' && isSource(given) && (given['chars'] ?? '') === '';
}
