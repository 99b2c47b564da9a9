/** The action of a shell line, for tests. */
import type { Action, ActionFacts } from '../../../src/core/action/shape.ts';
import { actionOf } from '../../../src/core/action/canonical.ts';
import type { JsonObject } from '../../../src/core/json/canonical.ts';

export const facts: ActionFacts = {
  cwd: '/w/app',
  home: '/home/a',
  workspace: '/w/app',
  plane: 'localhost:7460',
  remotes: { origin: 'github.com' },
};

export const shellAction = (command: string, more: ActionFacts = {}): Action =>
  actionOf({
    client: 'claude-code',
    tool: 'Bash',
    server: null,
    arguments: { command },
    facts: { ...facts, ...more },
  });

export const toolAction = (client: string, tool: string, given: JsonObject): Action =>
  actionOf({ client, tool, server: null, arguments: given, facts });

export const mcpAction = (server: string, tool: string, given: JsonObject): Action =>
  actionOf({ client: null, tool, server, arguments: given, facts });

/** The paths as `access path`; null for one that nobody knows. */
export const pathsIn = (action: Action): string[] =>
  (action.paths ?? []).map(({ access, path }) => `${access} ${path ?? '?'}`);
