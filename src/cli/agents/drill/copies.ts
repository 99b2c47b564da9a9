/**
 * Copies of the settings of one client in a folder of the drill, with the hooks of gov or without them. Files of the
 * administrator stay where they are; `hidden` runs a program that does not see them.
 * Tested by `test/cli/agents/bypasses.test.ts`.
 */
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { makeFolder } from '../../../files/make-folder.ts';
import { configPath, type Variables } from '../../context/config.ts';
import { textAt } from '../install.ts';
import { isProgram } from '../program.ts';
import { nothing, type Setup } from '../setup/edit.ts';
import { write } from './bypasses/bypass.ts';

interface CopyOptions {
  readonly env: Variables;
  readonly etc: string;
  readonly home: string;
  /** Whether the copies keep the hooks of gov. */
  readonly hasHooks: boolean;
}

/** Writes the copies. Returns the variables with which a client reads them. */
export function copySettings(setup: Setup, { env, etc, home, hasHooks }: CopyOptions): Variables {
  const copied: Variables = {
    ...env,
    HOME: home,
    CLAUDE_CONFIG_DIR: join(home, '.claude'),
    CODEX_HOME: join(home, '.codex'),
    GEMINI_CLI_HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local/share'),
    XDG_STATE_HOME: join(home, '.local/state'),
    XDG_CACHE_HOME: join(home, '.cache'),
    // without it, as under a timer, bash takes a pipe of Node.js for a network connection, and reads no BASH_ENV
    SHLVL: env['SHLVL'] || '1',
    // gov itself runs as its user has it
    GOV_CONFIG_DIR: dirname(configPath(env)),
  };
  makeFolder(join(home, '.codex')); // Codex does not start without its folder
  const originals = setup.edits({ env, etc, scope: 'user' }, nothing);
  const copies = setup.edits({ env: copied, etc, scope: 'user' }, nothing);
  for (const [at, { path, remove }] of originals.entries()) {
    const copy = copies[at]?.path;
    const before = textAt(path);
    const text = before === null || hasHooks ? before : remove(before);
    // Codex names the trusted hooks by the path of the file
    if (copy !== undefined && text !== null) write(copy, text.replaceAll(path, copy));
  }
  return copied;
}

const managedFolders = ['claude-code', 'codex', 'gemini-cli', 'opencode'];

/**
 * Returns the words before a command that hide the files of the administrator from it: none where there are no such files;
 * null where this machine has no program for it.
 */
export function hiding(env: Variables, etc: string): readonly string[] | null {
  const folders = managedFolders.map((name) => join(etc, name)).filter((folder) => existsSync(folder));
  if (folders.length === 0) return [];
  const bwrap = findOnPath('bwrap', env);
  if (bwrap === null) return null;
  return [
    bwrap,
    '--dev-bind',
    '/',
    '/',
    ...folders.flatMap((folder) => ['--tmpfs', folder]),
    '--die-with-parent',
    '--',
  ];
}

export const findOnPath = (name: string, env: Variables): string | null =>
  (env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isProgram) ?? null;
