/**
 * Clients keep their sessions, logs and settings in one folder, which policies guard. In a sandbox a folder of the run stands at its
 * path: with copies of what the client writes, such as its login, and with the settings, hooks and skills of the real one, read-only.
 * The folder of the run stays, with the transcripts. Tested by `test/cli/sandbox/run.test.ts`.
 */
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../files/make-folder.ts';
import type { OwnMounts } from './mounts.ts';

interface ClientFolder {
  readonly variable: string | null;
  /** Below the home. */
  readonly name: string;
  /** Files that the client writes. */
  readonly copied: readonly string[];
  /** What decides and what runs. */
  readonly kept: readonly string[];
  /** Kept, and empty where it does not exist, so that the program cannot make it. */
  readonly held: Readonly<Record<string, string>>;
}

const clients: Readonly<Record<string, ClientFolder>> = {
  claude: {
    variable: 'CLAUDE_CONFIG_DIR',
    name: '.claude',
    copied: ['.credentials.json', '.claude.json'],
    kept: ['CLAUDE.md', 'skills', 'commands', 'agents', 'hooks', 'plugins', 'settings.local.json'],
    held: { 'settings.json': '{}\n' },
  },
  codex: {
    variable: 'CODEX_HOME',
    name: '.codex',
    copied: ['auth.json'],
    kept: ['AGENTS.md', 'rules', 'skills', 'prompts', 'hooks.json'],
    held: { 'config.toml': '', '.env': '' },
  },
  gemini: {
    variable: null,
    name: '.gemini',
    copied: ['oauth_creds.json', 'google_accounts.json', 'installation_id', 'trustedFolders.json'],
    kept: ['GEMINI.md', 'extensions', 'commands', 'policies'],
    held: { 'settings.json': '{}\n', '.env': '' },
  },
};

export interface RunFolders {
  readonly moved: OwnMounts['moved'];
  readonly env: Readonly<Record<string, string>>;
  /** By client: the folder that stays. */
  readonly kept: Readonly<Record<string, string>>;
  /** Removes copies that the client did not change: logins need not lie in two places. */
  removeCopies(): void;
}

/** Makes the folders of the clients that this user has, below `folder`. */
export function clientFolders(
  folder: string,
  { env, home }: { readonly env: Readonly<NodeJS.ProcessEnv>; readonly home: string },
): RunFolders {
  const moved: OwnMounts['moved'][number][] = [];
  const variables: Record<string, string> = {};
  const kept: Record<string, string> = {};
  const copies: { readonly of: string; readonly copy: string }[] = [];
  for (const [client, of] of Object.entries(clients)) {
    const named = of.variable === null ? undefined : env[of.variable];
    const given = named || join(home, of.name);
    if (!existsSync(given) || !statSync(given).isDirectory()) continue;
    const place = realpathSync(given);
    const from = join(folder, client);
    makeFolder(from, 0o700);
    moved.push({ from, to: place, isWritable: true });
    for (const name of of.copied) {
      // Claude Code has this one beside its folder, unless the variable is set
      const outside = name === '.claude.json' && !named ? join(dirname(place), name) : join(place, name);
      if (!existsSync(outside)) continue;
      const copy = join(from, name);
      copyFileSync(outside, copy);
      copies.push({ of: outside, copy });
    }
    for (const [name, empty] of [
      ...of.kept.map((each) => [each, null] as const),
      ...Object.entries(of.held),
    ]) {
      const original = join(place, name);
      if (existsSync(original)) {
        if (statSync(original).isDirectory()) mkdirSync(join(from, name));
        else writeFileSync(join(from, name), '');
        moved.push({ from: realpathSync(original), to: original, isWritable: false });
      } else if (empty !== null) {
        writeFileSync(join(from, name), empty);
        moved.push({ from: join(from, name), to: original, isWritable: false });
      }
    }
    if (of.variable !== null) variables[of.variable] = place;
    kept[client] = from;
  }
  const removeCopies = (): void => {
    for (const { of, copy } of copies) if (isSame(of, copy)) rmSync(copy, { force: true });
  };
  return { moved, env: variables, kept, removeCopies };
}

/** The program may have put anything there. */
function isSame(file: string, copy: string): boolean {
  try {
    return lstatSync(copy).isFile() && readFileSync(file).equals(readFileSync(copy));
  } catch {
    return false;
  }
}
