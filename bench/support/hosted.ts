/** A service on a PostgreSQL of its own, as processes that share it, for the benchmarks of both engines. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { genesisLeaf } from '../../src/host/keys/genesis.ts';
import { readKeys } from '../../src/host/keys/disk.ts';
import { serviceInit } from '../../src/host/service/init.ts';
import { createKey } from '../../src/service/credentials/token-format.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { startServer } from '../../test/store/postgres/support/server.ts';
import { storedProject, tenant } from '../../test/store/support/tenants.ts';
import { discard, entry, freePort, scratch, servingFlags } from './harness.ts';

export interface HostedProcess {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

interface Hosted {
  readonly dataDir: string;
  /** Where the database has its files. */
  readonly databaseFolder: string;
  /** Makes a project in a new organization, and returns an API key for it. */
  makeProject(name: string): Promise<string>;
  /** Starts one more process. */
  start(): Promise<HostedProcess>;
  /** Whether fsck finds nothing but what `makeProject` made without events. */
  isWhole(): boolean;
  /** Stops the database; the processes must have ended. */
  close(): Promise<void>;
}

export async function openHosted(): Promise<Hosted> {
  const folder = scratch();
  const dataDir = join(folder, 'service');
  const databaseFolder = scratch();
  const server = await startServer({
    folder: databaseFolder,
    settings: { shared_buffers: '512MB', max_wal_size: '4GB', autovacuum: 'on' },
  });
  if ('missing' in server) throw new Error(server.missing);
  const { serving } = await server.database();
  await serviceInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off', env: {} });
  const configFile = join(dataDir, 'service.json');
  const rates = { keyPerSecond: 0, keyBurst: 0, eventsPerSecond: 0, anonymousPerSecond: 0, authPerMinute: 0 };
  writeFileSync(configFile, JSON.stringify({ ...JSON.parse(readFileSync(configFile, 'utf8')), rates }));
  return {
    dataDir,
    databaseFolder,
    makeProject: (name) => makeProject({ name, dataDir, serving }),
    start: () => startProcess({ dataDir, serving }),
    isWhole: () => {
      const env = { ...process.env, GOV_DATABASE: serving };
      const args = [entry, 'log', 'fsck', '--deep', '--data', dataDir];
      const { stdout } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
      const problems = stdout.split('\n').filter((line) => line !== '' && !line.includes(madeHere));
      for (const problem of problems) console.log(`  ${problem}`);
      return problems.length === 0;
    },
    close: async () => {
      await server.stop();
      discard(folder);
      discard(databaseFolder);
    },
  };
}

/** What fsck says of rows that no event explains. */
const madeHere = 'because no event created it';

interface Place {
  readonly dataDir: string;
  /** The URL of the database. */
  readonly serving: string;
}

async function makeProject({ name, dataDir, serving }: Place & { readonly name: string }): Promise<string> {
  const store = await openPostgres({ url: serving, clock: Date, randomBytes, connections: 1 });
  const stored = storedProject(name, 'live', { createdMs: Date.now(), updatedMs: Date.now() });
  const { project } = stored;
  const options = { name: 'bench', scopes: ['*'], nowMs: Date.now(), randomBytes };
  const { token, row } = createKey(project, options);
  const leaves = [genesisLeaf(project, readKeys(dataDir), Date.now())];
  await store.createTenant(tenant(name, { projects: [{ stored, leaves, keys: [row] }] }));
  await store.close();
  return token;
}

async function startProcess({ dataDir, serving }: Place): Promise<HostedProcess> {
  const port = await freePort();
  const args = [...servingFlags, entry, 'service', 'serve', '--data', dataDir];
  const env = { ...process.env, GOV_DATABASE: serving, GOV_LOG_LEVEL: 'warn' };
  const child: ChildProcess = spawn(process.execPath, [...args, '--listen', `127.0.0.1:${port}`], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const url = `http://127.0.0.1:${port}/api/v1/health/live`;
  while (
    !(await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`the service stopped with ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    pid: child.pid ?? 0,
    port,
    stop: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await ended;
    },
  };
}
