/** The form of the calls of starter policies. */
import type { JsonObject } from '../../core/json/canonical.ts';

/** A line of Claude Code's shell, or a tool with arguments. */
export type Call =
  | string
  | { readonly tool: JsonObject; readonly arguments: JsonObject; readonly client: string };

export const of = (client: string, name: string, given: JsonObject): Call => ({
  tool: { name },
  arguments: given,
  client,
});
export const mcp = (server: string, name: string, given: JsonObject): Call => ({
  tool: { name, server },
  arguments: given,
  client: 'claude-code',
});

export interface StarterCalls {
  readonly passes: readonly Call[];
  readonly caught: readonly Call[];
  readonly unclear: readonly Call[];
}
