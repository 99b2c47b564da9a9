/** The clients, the scope and the folder of a command of the noun agents. Tested by `test/cli/agents/install.test.ts`. */
import { delimiter, dirname, join } from 'node:path';
import { agentClients } from '../../core/agents/clients.ts';
import { configPath, type Variables } from '../context/config.ts';
import { usage } from '../program/exit.ts';
import { setups } from './setup/all.ts';
import { writableByOthers } from './setup/writable.ts';
import { scopes, type Scope, type Setup } from './setup/edit.ts';

export const etc = '/etc';

/** Returns the named set-up, or all. Errors: exit 2 for another name. */
export function setupsNamed(name: string | undefined): readonly Setup[] {
  if (name === undefined) return setups;
  const found = setups.filter(({ client }) => client === name);
  if (found.length > 0) return found;
  throw usage(`expected one of ${agentClients.join(', ')}, got ${JSON.stringify(name.slice(0, 64))}`);
}

/** Root must say whether it means all users of the machine or its own files. Errors: exit 2. */
export function scopeOf(given: string | undefined): Scope {
  const named = scopes.find((each) => each === given);
  if (named !== undefined) return named;
  if (process.getuid?.() !== 0) return 'user';
  throw usage(
    'expected --scope managed (all users of this machine, files in /etc) or --scope user (the files of root), got none from root',
    'gov agents install --scope managed',
  );
}

/** The folder of `agents.json`, the key and the state of an installation. */
export const folderOf = (scope: Scope, env: Variables): string =>
  scope === 'managed' ? join(etc, 'gov') : dirname(configPath(env));

/** PATH without folders that others than root can write. Errors: exit 2 where none is left. */
export function lockedPath({ PATH = '' }: Variables): string {
  const folders = PATH.split(delimiter).filter(
    (folder) => folder.startsWith('/') && writableByOthers(folder) === null,
  );
  if (folders.length > 0) return folders.join(delimiter);
  throw usage('--lock-path: expected a folder on PATH that root alone can write, found none');
}
