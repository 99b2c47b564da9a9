/**
 * The facts about a database for `gov service doctor`, over a connection like that of a serving process.
 * Source: PostgreSQL 18, chapters 9.27 (system information functions) and 52 (system catalogs).
 * Proven by `test/host/service/doctor.test.ts`.
 */
import { Client } from 'pg';
import type { GovError } from '../../../contract/problems.ts';
import { aheadMs } from '../../append/clock-skew.ts';
import { clockSql } from './clock.ts';
import { connected, startupOptions, verify } from './session.ts';
import { problemOf } from './faults.ts';
import { newestVersion } from '../schema/tables.ts';

export interface InspectResult {
  /** Such as `18.4`. */
  readonly server: string;
  readonly role: string;
  /** Why no process can serve with such a connection: its role, a setting, or no tables. Null if one can. */
  readonly refusal: GovError | null;
  /** The version of the tables; null if they are missing or the role may not read them. */
  readonly tables: number | null;
  /** The version that this release serves. */
  readonly newest: number;
  /** How far the clock of the database is ahead of `now`, within half of `roundTripMs`. */
  readonly clockMs: number;
  readonly roundTripMs: number;
  /** The server's limit. */
  readonly connections: number;
  /** The duration of a commit that changes nothing; null if it failed, as on a standby. */
  readonly commitMs: number | null;
}

const connectMs = 5000;

/**
 * Reads the facts. STORAGE_FAULT if the database is unreachable. Writes only a record to the write-ahead log.
 */
export async function inspectDatabase(url: string, now: () => number): Promise<InspectResult> {
  const client = new Client({
    connectionString: url,
    options: startupOptions,
    connectionTimeoutMillis: connectMs,
    query_timeout: connectMs,
    application_name: 'gov doctor',
  });
  client.on('error', () => {}); // the running statement reports the error
  await connected(client);
  try {
    const refusal = await verify(client).then(() => null, problemOf);
    return { refusal, newest: newestVersion, ...(await factsOf(client, now)) };
  } finally {
    await client.end();
  }
}

interface ServerFacts {
  readonly server: string;
  readonly role: string;
  readonly connections: number;
  readonly ms: number;
  readonly readable: boolean | null;
}

async function factsOf(
  client: Client,
  now: () => number,
): Promise<Omit<InspectResult, 'refusal' | 'newest'>> {
  const askedMs = now();
  const { rows } = await client.query<ServerFacts>(
    `SELECT current_setting('server_version') AS server, current_user AS role,
       current_setting('max_connections')::integer AS connections,
       ${clockSql} AS ms,
       has_table_privilege(to_regclass('gov.version'), 'SELECT') AS readable`,
  );
  const answeredMs = now();
  const [facts] = rows;
  if (facts === undefined) throw new Error('expected one row of facts, got none');
  const { server, role, connections, ms, readable } = facts;
  return {
    server: server.split(' ')[0] ?? server,
    role,
    connections,
    tables: readable === true ? await versionOf(client) : null,
    clockMs: aheadMs({ askedMs, answeredMs, theirsMs: ms }),
    roundTripMs: answeredMs - askedMs,
    commitMs: await commitTime(client),
  };
}

async function versionOf(client: Client): Promise<number | null> {
  const { rows } = await client.query<{ version: number }>('SELECT version FROM gov.version');
  return rows[0]?.version ?? null;
}

async function commitTime(client: Client): Promise<number | null> {
  const started = performance.now();
  try {
    await client.query("SELECT pg_logical_emit_message(true, 'gov', '')");
    return Math.round(performance.now() - started);
  } catch {
    return null;
  }
}
