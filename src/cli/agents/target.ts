/** The clients, the scope and the folder of a command of the noun agents. Tested by `test/cli/agents/install.test.ts`. */
import { accessSync, constants } from 'node:fs';
import { dirname, join } from 'node:path';
import { agentClients } from '../../core/agents/clients.ts';
import { configPath, type Variables } from '../context/config.ts';
import { usage } from '../program/exit.ts';
import { setups } from './setup/all.ts';
import { scopes, type Scope, type Setup } from './setup/edit.ts';

export const etc = '/etc';

/** Returns the named set-up, or all. Errors: exit 2 for another name. */
export function setupsNamed(name: string | undefined): readonly Setup[] {
  if (name === undefined) return setups;
  const found = setups.filter(({ client }) => client === name);
  if (found.length > 0) return found;
  throw usage(`expected one of ${agentClients.join(', ')}, got ${JSON.stringify(name.slice(0, 64))}`);
}

/** Root of the machine speaks for all its users. */
export function scopeOf(given: string | undefined): Scope {
  const named = scopes.find((each) => each === given);
  if (named !== undefined) return named;
  if (process.getuid?.() !== 0) return 'user';
  try {
    accessSync(etc, constants.W_OK);
    return 'managed';
  } catch {
    return 'user';
  }
}

/** The folder of `agents.json`, the key and the state of an installation. */
export const folderOf = (scope: Scope, env: Variables): string =>
  scope === 'managed' ? join(etc, 'gov') : dirname(configPath(env));
