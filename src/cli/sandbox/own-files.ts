/**
 * What a sandbox has of gov itself, which no policy decides: a folder of its own below the configuration, with its sockets; keys of gov
 * and data of planes, which are hidden; and the connection file of hooks. Tested by `test/cli/sandbox/run.test.ts`.
 */
import { existsSync, globSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../files/make-folder.ts';
import { readConnection, userConnectionFile, type StartedIn } from '../agents/connection-file.ts';
import { readObject, readUserConfig, type Variables } from '../context/config.ts';
import { credentialsPath } from '../context/credentials.ts';
import { usage } from '../program/exit.ts';
import type { OwnMounts } from './mounts.ts';

/** Folders that programs usually write to, and those that the user named. Errors: exit 2 for one that does not exist. */
export function usuallyWritable(
  { env, workspace, home }: { readonly env: Variables; readonly workspace: string; readonly home: string },
  named: readonly string[],
): string[] {
  for (const path of named)
    if (!existsSync(path)) throw usage(`expected folders for --write, found none at ${path}`);
  const temporary = env['TMPDIR'] ?? '';
  const usual = ['.cache', '.npm', '.local/share/opencode', '.local/state/opencode'].map((name) =>
    join(home, name),
  );
  return [workspace, '/tmp', '/var/tmp', ...(temporary === '' ? [] : [temporary]), ...usual, ...named];
}

/** Root reaches the keys of all users. */
export const homesOf = (home: string): string[] =>
  process.getuid?.() === 0 ? [...new Set([home, '/root', ...globSync('/home/*')])] : [home];

/** Makes a folder of this process. No sandbox may write there. Errors: exit 2 for a path too long for a socket. */
export function sandboxFolder(config: string): string {
  const all = join(config, 'sandboxes');
  makeFolder(all, 0o700);
  const folder = mkdtempSync(join(all, `${process.pid}-`));
  const path = socketAt(folder, 0);
  // sockaddr_un(7)
  if (Buffer.byteLength(path) <= 107) return folder;
  rmSync(folder, { recursive: true });
  throw usage(
    `expected a path of at most 107 bytes for a socket, got ${path}`,
    'set GOV_CONFIG_DIR to a shorter one',
  );
}

export const socketAt = (folder: string, index: number): string => join(folder, `p${index}`);

/** Removes what is of the end only. Folders of clients stay, with the transcripts. */
export function emptyFolder(folder: string, { keeps }: { readonly keeps: boolean }): void {
  const names = keeps ? ['p*', 'connection-*'] : [''];
  for (const path of names.flatMap((name) => (name === '' ? [folder] : globSync(join(folder, name)))))
    rmSync(path, { recursive: true, force: true });
}

/** Whether another sandbox of this user runs: it may hold placeholders of this one closed. */
export const othersRun = (config: string, folder: string): boolean =>
  readdirSync(join(config, 'sandboxes')).some(
    (name) => !folder.endsWith(name) && isRunning(Number.parseInt(name, 10)),
  );

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** `proxyPort`: how hooks reach a plane of another machine; null for one of this machine. */
export function ownMounts(
  env: Variables,
  {
    config,
    folder,
    proxyPort,
    startedIn,
    moved,
  }: {
    readonly config: string;
    readonly folder: string;
    readonly proxyPort: number | null;
    readonly startedIn: StartedIn;
    readonly moved: OwnMounts['moved'];
  },
): OwnMounts {
  const contexts = Object.values(readUserConfig(env).contexts);
  const planes = contexts.flatMap((context) => (context.kind === 'plane' ? [context.dataDir] : []));
  const keyFiles = contexts.flatMap((context) =>
    context.kind === 'service' ? [context.apiKeyFile ?? ''] : [],
  );
  const connections = [userConnectionFile(env), '/etc/gov/agents.json'].filter((path) => existsSync(path));
  const hookKeys = connections.map((path) => readConnection(path).keyFile);
  const keys = [env['GOV_API_KEY_FILE'] ?? '', credentialsPath(env), ...keyFiles].filter(
    (path) => path !== '',
  );
  const replaced = connections.map((path) => inSandbox(path, { folder, proxyPort, startedIn }));
  return {
    moved: [...moved, ...replaced],
    readOnly: [config],
    hidden: [...planes, ...keys].filter((path) => !hookKeys.includes(path)),
    within: [
      ...planes.flatMap((path) => ['plane.json', 'run.json', 'trust'].map((name) => join(path, name))),
      ...hookKeys,
    ],
  };
}

/** Hooks read the address of the plane from this file alone: no variable names them a proxy, nor the run that they are in. */
function inSandbox(
  path: string,
  {
    folder,
    proxyPort,
    startedIn,
  }: { readonly folder: string; readonly proxyPort: number | null; readonly startedIn: StartedIn },
): OwnMounts['moved'][number] {
  const from = join(folder, `connection-${path.startsWith('/etc/') ? 'managed' : 'user'}.json`);
  const proxy = proxyPort === null ? {} : { proxy: `http://127.0.0.1:${proxyPort}` };
  const connection = { ...readObject(path), ...proxy, startedIn };
  writeFileSync(from, JSON.stringify(connection), { mode: 0o600 });
  return { from, to: realpathSync(path), isWritable: false };
}
