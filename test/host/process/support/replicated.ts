/**
 * A PostgreSQL primary with one synchronous standby, and a relay in front of both, as a load balancer or a moving
 * address is. Needs the server programs of a PostgreSQL (`initdb`, `pg_basebackup`) in PATH, in GOV_TEST_PG_BIN, or where
 * Debian puts them.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, existsSync, globSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server as NetServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { migrate } from '../../../../src/store/postgres/schema/migrate.ts';
import { dropFolder, newFolder } from '../../../store/support/fixture.ts';

const nobody = 65_534;

/** The folder of the server programs, or null. */
export function serverPrograms(): string | null {
  const folders = [
    process.env['GOV_TEST_PG_BIN'] ?? '',
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...globSync('/usr/lib/postgresql/*/bin').toSorted().toReversed(),
  ];
  const has = (folder: string) =>
    ['initdb', 'postgres', 'pg_basebackup'].every((name) => existsSync(join(folder, name)));
  return folders.find((folder) => folder !== '' && has(folder)) ?? null;
}

export interface Replicated {
  /** Through the relay, as the role that serves. */
  readonly serving: string;
  /** Ends every connection to the server that the relay leads to, as an administrator may. */
  endConnections(): Promise<number>;
  /** Kills the primary as a power cut does, promotes the standby, and leads the relay to it. */
  failOver(): Promise<void>;
  stop(): Promise<void>;
}

interface Cluster {
  readonly programs: string;
  readonly folder: string;
  /** PostgreSQL refuses to run as root. */
  readonly user: { readonly uid?: number; readonly gid?: number };
}

/** Starts both servers; acknowledged commits are on both from then on. */
export async function startReplicated(programs: string): Promise<Replicated> {
  const folder = newFolder();
  chmodSync(folder, 0o755);
  const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  const cluster: Cluster = { programs, folder, user };
  const [primaryPort, standbyPort] = [await freePort(), await freePort()];
  const primary = await startPrimary(cluster, primaryPort);
  const standby = await startStandby(cluster, { port: standbyPort, primaryPort });

  let leadsTo = primaryPort;
  const relay = await startRelay(() => leadsTo);
  return {
    serving: url((relay.address() as AddressInfo).port, 'gov', 'gov_serving'),
    endConnections: () =>
      ask(
        url(leadsTo),
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gov_serving'`,
      ),
    failOver: async () => {
      kill(primary);
      await ask(url(standbyPort), 'SELECT pg_promote()');
      leadsTo = standbyPort;
    },
    stop: async () => {
      relay.close();
      const ended = [primary, standby].map(
        (child) =>
          child.exitCode ?? child.signalCode ?? new Promise((resolve) => child.once('exit', resolve)),
      );
      for (const child of [primary, standby]) kill(child);
      await Promise.all(ended);
      dropFolder(folder);
    },
  };
}

const url = (port: number, database = 'postgres', role = 'postgres'): string =>
  `postgres://${role}:test@127.0.0.1:${port}/${database}`;

/** A new server with a database and the two roles of the service. */
async function startPrimary(cluster: Cluster, port: number): Promise<ChildProcess> {
  const password = join(cluster.folder, 'password');
  writeFileSync(password, 'test');
  const data = directory(cluster, 'primary');
  const auth = ['-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${password}`];
  run(cluster, 'initdb', '-D', data, ...auth, '-E', 'UTF8', '--locale=C');
  const primary = serve(cluster, data, port);
  await answers(url(port));
  for (const role of ['gov_owner', 'gov_serving']) {
    await ask(url(port), `CREATE ROLE ${role} LOGIN PASSWORD 'test'`);
  }
  await ask(url(port), 'CREATE DATABASE gov OWNER gov_owner');
  await migrate({ url: url(port, 'gov', 'gov_owner'), role: 'gov_serving' });
  return primary;
}

/** A copy of the primary; the primary waits for it at each commit. */
async function startStandby(
  cluster: Cluster,
  { port, primaryPort }: { readonly port: number; readonly primaryPort: number },
): Promise<ChildProcess> {
  const data = directory(cluster, 'standby');
  const from = `${url(primaryPort)}?application_name=standby`;
  run(cluster, 'pg_basebackup', '-R', '-X', 'stream', '-c', 'fast', '-D', data, '-d', from);
  const standby = serve(cluster, data, port);
  await answers(url(port));
  await ask(url(primaryPort), `ALTER SYSTEM SET synchronous_standby_names = '*'`);
  await ask(url(primaryPort), 'SELECT pg_reload_conf()');
  const synchronous = `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`;
  while ((await ask(url(primaryPort), synchronous)) === 0) await wait(50);
  return standby;
}

function directory({ folder, user }: Cluster, name: string): string {
  const path = join(folder, name);
  mkdirSync(path, { mode: 0o700 });
  if (user.uid !== undefined) chownSync(path, nobody, nobody);
  return path;
}

const run = ({ programs, user }: Cluster, name: string, ...args: string[]): Buffer =>
  execFileSync(join(programs, name), args, { ...user, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });

/** Starts a server in a group of its own, so that one signal ends it with all its processes. */
function serve({ programs, user }: Cluster, data: string, port: number): ChildProcess {
  const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: 60 };
  const set = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const options = { ...user, cwd: '/', stdio: 'ignore', detached: true } as const;
  return spawn(join(programs, 'postgres'), ['-D', data, ...set], options);
}

function kill({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // ended before
  }
}

async function startRelay(port: () => number): Promise<NetServer> {
  const relay = createServer((socket) => {
    const onward = connect(port(), '127.0.0.1');
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  return relay;
}

/** The number of rows that the statement returns. */
async function ask(url: string, statement: string): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rowCount ?? 0;
  } finally {
    await client.end();
  }
}

/** Waits until a server answers. */
async function answers(url: string): Promise<void> {
  for (const end = Date.now() + 30_000; ; await wait(50)) {
    try {
      await ask(url, 'SELECT 1');
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
