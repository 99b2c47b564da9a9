/**
 * `gov service doctor`: whether a service could serve as it is configured, and what to do where it could not. Looks,
 * and changes nothing but a record in the log of the database. Proven by `test/host/doctor.test.ts`.
 */
import { accessSync, constants, existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { isLoopback } from '../client/proxy.ts';
import { GovError } from '../contract/problems.ts';
import { skewAdvice, skewText } from '../store/clockskew.ts';
import { now } from './clock.ts';
import { assertSameKeys } from './hosting.ts';
import { readKeys, type HostKeys } from './keys.ts';
import { hasSpace } from './probe.ts';
import { readServiceConfig, type ServiceConfig, type ServiceFlags } from './serviceconfig.ts';
import type { Address, Variables } from './layers.ts';

export interface Check {
  readonly name: string;
  /** `warn`: it serves, but not as it should. */
  readonly status: 'ok' | 'warn' | 'fail';
  /** What was found. */
  readonly detail: string;
  /** What to do, where something is to be done. */
  readonly advice: string | null;
}

export interface DoctorReport {
  /** Whether nothing failed. */
  readonly ok: boolean;
  readonly checks: readonly Check[];
}

type Found = Omit<Check, 'name'>;

const ok = (detail: string): Found => ({ status: 'ok', detail, advice: null });
const warn = (detail: string, advice: string): Found => ({ status: 'warn', detail, advice });
const fail = (detail: string, advice: string): Found => ({ status: 'fail', detail, advice });

export async function doctor(
  options: { readonly dataDir: string; readonly env?: Variables } & ServiceFlags,
): Promise<DoctorReport> {
  const checks: Check[] = [];
  const examine = async (name: string, look: () => Promise<Found> | Found): Promise<void> => {
    checks.push({ name, ...(await Promise.resolve().then(look).catch(refusal)) });
  };
  let config: ServiceConfig | undefined;
  await examine('configuration', () => {
    config = readServiceConfig(resolve(options.dataDir), options, options.env ?? process.env);
    return ok(`${config.dataDir}/service.json, logs named ${config.logName}/…`);
  });
  if (config !== undefined) await examineAll(config, examine);
  return { ok: checks.every(({ status }) => status !== 'fail'), checks };
}

/** A problem says itself what to do; the system says what it refused. */
function refusal(error: unknown): Found {
  if (error instanceof Error && 'syscall' in error) {
    return fail(error.message, 'run as the owner of the data directory, or give it back to this user');
  }
  if (!(error instanceof GovError)) throw error;
  const [detail = '', ...advice] = error.message.split('; ');
  return fail(detail, advice.join('; ') || 'mend what it names');
}

type Examine = (name: string, look: () => Promise<Found> | Found) => Promise<void>;

async function examineAll(config: ServiceConfig, examine: Examine): Promise<void> {
  let keys: HostKeys | undefined;
  await examine('keys', () => {
    keys = readKeys(config.dataDir);
    const algorithms = keys.signers('gov.doctor').map(({ algorithm }) => algorithm);
    return ok(`logs are signed with ${algorithms.join(' and ')}`);
  });
  if (config.database === null) await examineFiles(config, keys, examine);
  else await examineDatabase(config.database, config, { keys, examine });
  await examine('issuer', () => lookAtIssuer(config));
  await examine('billing', () =>
    ok(config.billing === null ? 'no payment provider is configured' : 'configured; it was not asked'),
  );
  await examine('public address', () => lookAtPublicUrl(config));
  await examine('address', () => lookAtAddress(config.listen));
}

async function examineFiles(
  { dataDir }: ServiceConfig,
  keys: HostKeys | undefined,
  examine: Examine,
): Promise<void> {
  const { judgeFilesystem } = await import('../store/sqlite/filesystem.ts');
  const { inspectFiles } = await import('../store/sqlite/inspect.ts');
  const { openReader, storeFiles } = await import('../store/sqlite/index.ts');
  await examine('file system', () => {
    accessSync(dataDir, constants.R_OK | constants.W_OK);
    const warning = judgeFilesystem(dataDir);
    return warning === null
      ? ok('local and writable')
      : warn(warning, 'move it to a local disk if it is none');
  });
  await examine('disk', async () =>
    (await hasSpace(dataDir))
      ? ok('more than 5 % and 512 MiB are free')
      : warn('less than 5 % or 512 MiB are free', 'make room: readiness answers 503 until then'),
  );
  await examine('database', async () => {
    const { main } = storeFiles(dataDir);
    if (!inspectFiles(dataDir)) return ok('SQLite; made at the first start');
    const installation = await openReader(main).installation();
    if (keys !== undefined && installation !== null) assertSameKeys(installation, keys);
    return ok(`SQLite, ${main}`);
  });
}

/** The oldest release of PostgreSQL that is maintained: 14 ended in November 2026. */
const oldestServer = 15;
const skew = { warnMs: 1000, failMs: 30_000 } as const;

async function examineDatabase(
  url: string,
  { connections, dataDir }: ServiceConfig,
  { keys, examine }: { readonly keys: HostKeys | undefined; readonly examine: Examine },
): Promise<void> {
  const { inspectDatabase } = await import('../store/postgres/inspect.ts');
  const { openPostgresReader } = await import('../store/postgres/index.ts');
  type Facts = Awaited<ReturnType<typeof inspectDatabase>>;
  let facts: Facts | undefined;
  await examine('database', async () => {
    facts = await inspectDatabase(url, now);
    const { server, role, roundTripMs } = facts;
    const detail = `PostgreSQL ${server} as ${role}, ${roundTripMs} ms away`;
    if (Number.parseInt(server, 10) >= oldestServer) return ok(detail);
    return warn(detail, `use PostgreSQL ${oldestServer} or newer`);
  });
  if (facts === undefined) return;
  const found: Facts = facts;
  await examine('tables', () => lookAtTables(found));
  await examine('role and settings', () => {
    if (found.refusal !== null) throw found.refusal;
    return ok('row-level security binds the role; synchronous_commit is on');
  });
  await examine('commit', () =>
    found.commitMs === null
      ? fail('nothing can be committed', 'connect to the primary, and look at its disk')
      : ok(`durable in ${found.commitMs} ms`),
  );
  await examine('clock', () => lookAtClock(found.clockMs));
  await examine('connections', () => {
    const detail = `at most ${connections} and 4 for reading, of the server's ${found.connections}`;
    if (connections + 4 < found.connections) return ok(detail);
    return fail(detail, 'lower connections in service.json, or raise max_connections of the server');
  });
  if (found.refusal !== null || found.tables !== found.newest || keys === undefined) return;
  const own = keys;
  await examine('installation', async () => {
    const reader = openPostgresReader({ url, connections: 1 });
    try {
      const installation = await reader.installation();
      if (installation === null) return ok('new: the first start says which keys it has');
      assertSameKeys(installation, own);
      return ok('the keys are those of the first process');
    } finally {
      await reader.close();
    }
  });
  await examine('signed heads', () => lookAtHeads(dataDir, url));
}

/** What this directory has seen signed, as a start looks at it. */
async function lookAtHeads(dataDir: string, url: string): Promise<Found> {
  const { inspectHeads } = await import('../store/postgres/remembered.ts');
  const { openHeads } = await import('../store/sqlite/heads.ts');
  const { storeFiles } = await import('../store/sqlite/index.ts');
  const { unfit } = await import('../store/sqlite/signedheads.ts');
  const why = unfit(dataDir);
  if (why !== null) {
    const advice = 'give each process a local data directory that it may write';
    return warn(`${dataDir} ${why}: what was signed is forgotten when a process ends`, advice);
  }
  const { heads: path } = storeFiles(dataDir);
  if (!existsSync(path)) return ok('none yet: the first start makes heads.db');
  const heads = openHeads(path, { readonly: true });
  try {
    await inspectHeads({ url, connections: 1 }, heads);
    return ok('the database has what was signed last');
  } finally {
    heads.close();
  }
}

function lookAtTables({
  tables,
  newest,
}: {
  readonly tables: number | null;
  readonly newest: number;
}): Found {
  if (tables === newest) return ok(`version ${tables}`);
  if (tables !== null && tables > newest) {
    return fail(`version ${tables}, but this release has ${newest}`, 'use a newer release of gov');
  }
  return fail(
    tables === null ? 'none that the role may see' : `version ${tables}, but this release needs ${newest}`,
    'run gov service migrate as the owner',
  );
}

function lookAtClock(aheadMs: number): Found {
  const detail = skewText(aheadMs);
  if (Math.abs(aheadMs) >= skew.failMs) return fail(detail, skewAdvice);
  return Math.abs(aheadMs) >= skew.warnMs ? warn(detail, skewAdvice) : ok(detail);
}

async function lookAtIssuer({ issuer }: ServiceConfig): Promise<Found> {
  if (issuer === null) {
    return warn('none: nobody can sign up or in', 'set issuer {url, clientId} in service.json');
  }
  const { createIdentity } = await import('./identity.ts');
  const { readIssuerKeys, reasonOf } = await import('./issuerkeys.ts');
  createIdentity(issuer, { now, log: (await import('../service/log.ts')).silentLog });
  try {
    await readIssuerKeys(issuer);
    return ok(`${issuer.url} answers with its keys`);
  } catch (error) {
    return fail(reasonOf(error), 'look at issuer.url, the network and its certificates');
  }
}

function lookAtPublicUrl({ publicUrl }: ServiceConfig): Found {
  if (publicUrl === null) {
    return warn('none: links name the listener itself', 'set publicUrl to the address that clients use');
  }
  const { protocol, hostname } = new URL(publicUrl);
  if (protocol === 'https:' || isLoopback(hostname.replace(/^\[|\]$/g, ''))) return ok(publicUrl);
  return warn(
    `${publicUrl} is not encrypted`,
    'put a TLS proxy before it: browsers keep no session otherwise',
  );
}

/** Listens for a moment; where somebody does already, asks whether it is a service. */
async function lookAtAddress({ host, port }: Address): Promise<Found> {
  const place = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const code = await new Promise<string | null>((settle) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
    server.listen(port, host, () => server.close(() => settle(null)));
  });
  if (code === null) return ok(`${place} is free`);
  if (code === 'EADDRINUSE' && (await servesAt(place))) return ok(`gov serves at ${place}`);
  const why = code === 'EADDRINUSE' ? 'another program listens there' : code;
  return fail(`${place}: ${why}`, 'give --listen HOST:PORT');
}

async function servesAt(place: string): Promise<boolean> {
  const reachable = place.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:');
  try {
    const answer = await fetch(`http://${reachable}/api/v1/health/live`, {
      signal: AbortSignal.timeout(2000),
    });
    return answer.headers.has('gov-api-version');
  } catch {
    return false;
  }
}
