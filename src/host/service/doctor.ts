/**
 * `gov service doctor`: checks whether a service could serve with its configuration, and names the next step
 * where it could not. Changes nothing, except that it writes a record into the write-ahead log of the database.
 * Proven by `test/host/service/doctor.test.ts`.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { isLoopback } from '../../client/proxy.ts';
import { skewAdvice, skewText } from '../../store/append/clock-skew.ts';
import {
  examiner,
  fail,
  lookAtAddress,
  lookAtFilesystem,
  lookAtMigrations,
  lookAtSpace,
  ok,
  warn,
  type DoctorReport,
  type Examine,
  type CheckResult,
} from '../process/checks.ts';
import { now } from '../process/clock.ts';
import { assertSameKeys } from './hosting.ts';
import { readKeys, type HostKeys } from '../keys/disk.ts';
import { readServiceConfig, type ServiceConfig, type ServiceFlags } from './config.ts';
import type { Variables } from '../config/layers.ts';

export type { DoctorReport } from '../process/checks.ts';

export async function doctor(
  options: { readonly dataDir: string; readonly env?: Variables } & ServiceFlags,
): Promise<DoctorReport> {
  const { examine, report } = examiner();
  let config: ServiceConfig | undefined;
  await examine('configuration', () => {
    config = readServiceConfig(resolve(options.dataDir), options, options.env ?? process.env);
    return ok(`${config.dataDir}/service.json, logs named ${config.logName}/…`);
  });
  if (config !== undefined) await examineAll(config, examine);
  return report();
}

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
  const { dueMigrations, inspectFiles } = await import('../../store/file/inspect.ts');
  const { openReader } = await import('../../store/sqlite/store.ts');
  const { storeFiles } = await import('../../store/file/paths.ts');
  await examine('file system', () => lookAtFilesystem(dataDir));
  await examine('disk', () => lookAtSpace(dataDir));
  await examine('database', async () => {
    const { main } = storeFiles(dataDir);
    if (!inspectFiles(dataDir)) return ok('SQLite; made at the first start');
    const installation = await openReader(main).installation();
    if (keys !== undefined && installation !== null) assertSameKeys(installation, keys);
    return ok(`SQLite, ${main}`);
  });
  const due = dueMigrations(dataDir);
  if (due.length > 0) await examine('format', () => lookAtMigrations(due));
}

/** The oldest maintained release of PostgreSQL: 14 ended in November 2026. */
const oldestServer = 15;
const skew = { warnMs: 1000, failMs: 30_000 } as const;

async function examineDatabase(
  url: string,
  { connections, dataDir }: ServiceConfig,
  { keys, examine }: { readonly keys: HostKeys | undefined; readonly examine: Examine },
): Promise<void> {
  const { inspectDatabase, openPostgresReader } = await import('../../store/postgres/store.ts');
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
      ? fail('nothing can be committed', 'connect to the primary, and check its disk')
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
      if (installation === null) return ok('new: the first start stores its keys');
      assertSameKeys(installation, own);
      return ok('the keys are those of the first process');
    } finally {
      await reader.close();
    }
  });
  await examine('signed heads', () => lookAtHeads(dataDir, url));
}

/** Compares the database with the signed heads of this directory, as a start does. */
async function lookAtHeads(dataDir: string, url: string): Promise<CheckResult> {
  const { inspectHeads } = await import('../../store/postgres/store.ts');
  const { openHeads } = await import('../../store/file/heads.ts');
  const { storeFiles } = await import('../../store/file/paths.ts');
  const { unfit } = await import('../../store/file/signed-heads.ts');
  const why = unfit(dataDir);
  if (why !== null) {
    const advice = 'give each process a local data directory that it may write';
    return warn(`${dataDir} ${why}: a process forgets its signed heads when it ends`, advice);
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
}): CheckResult {
  if (tables === newest) return ok(`version ${tables}`);
  if (tables !== null && tables > newest) {
    return fail(`version ${tables}, but this release has ${newest}`, 'use a newer release of gov');
  }
  return fail(
    tables === null ? 'none that the role may see' : `version ${tables}, but this release needs ${newest}`,
    'run gov service migrate as the owner',
  );
}

function lookAtClock(aheadMs: number): CheckResult {
  const detail = skewText(aheadMs);
  if (Math.abs(aheadMs) >= skew.failMs) return fail(detail, skewAdvice);
  return Math.abs(aheadMs) >= skew.warnMs ? warn(detail, skewAdvice) : ok(detail);
}

async function lookAtIssuer({ issuer }: ServiceConfig): Promise<CheckResult> {
  if (issuer === null) {
    return warn('none: nobody can sign up or in', 'set issuer {url, clientId} in service.json');
  }
  const { createIdentity } = await import('../identity/id-token.ts');
  const { readIssuerKeys, reasonOf } = await import('../identity/issuer-keys.ts');
  const { silentLog } = await import('../../service/call/log.ts');
  let why = '';
  const log = {
    ...silentLog,
    warn: (fields: object) => void (why = String((fields as { reason?: string }).reason)),
  };
  const { browsers } = createIdentity(issuer, { now, log });
  try {
    await readIssuerKeys(issuer);
  } catch (error) {
    return fail(reasonOf(error), 'check issuer.url, the network and its certificates');
  }
  const redirectUri = browsers.redirectUri ?? '/console/callback of the address that people use';
  try {
    await browsers.begin({ redirectUri, state: '', nonce: '', challenge: '' });
  } catch {
    return warn(
      `${issuer.url} answers with its keys, but signs no browser in: ${why}`,
      'check its discovery document',
    );
  }
  const client = issuer.clientSecret === undefined ? 'a public client' : 'a client with a secret';
  return ok(`${issuer.url} answers with its keys; browsers return to ${redirectUri}, to ${client}`);
}

function lookAtPublicUrl({ publicUrl }: ServiceConfig): CheckResult {
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
