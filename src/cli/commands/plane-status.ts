/**
 * `gov plane status`: is it there, does it take writes, how large is it. Exit 0 ready, 3 degraded or not
 * ready, 10 not serving. `test/cli/plane.test.ts` proves it against a real server.
 */
import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Client } from '../../client/client.ts';
import { GovApiError, GovNetworkError } from '../../client/errors.ts';
import type { Run } from '../command.ts';
import { exit } from '../exit.ts';
import type { Io } from '../io.ts';
import { Safe, safe } from '../safe.ts';
import type { Styles } from '../safe.ts';
import type { planeStatus as spec } from '../specs/plane.ts';
import { plainView } from '../view.ts';

interface Running {
  readonly pid?: number;
  readonly baseUrl?: string;
  readonly metricsUrl?: string | null;
  readonly startedAt?: string;
  readonly version?: string;
}

export interface PlaneStatus {
  readonly state: 'ok' | 'degraded' | 'unavailable' | 'not serving';
  readonly reasons: readonly string[];
  readonly dataDir: string | null;
  readonly baseUrl: string;
  readonly pid: number | null;
  readonly version: string | null;
  readonly startedAt: string | null;
  /** Leaves of the log at the newest checkpoint; null where this key may not read it. */
  readonly treeSize: number | null;
  readonly databaseBytes: number | null;
  /** Writes waiting, from the metrics of a plane on this machine. */
  readonly queueDepth: number | null;
}

function readRunning(dataDir: string): Running {
  try {
    const value: unknown = JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8'));
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    // it does not serve, or not as this user
    return {};
  }
}

function databaseBytes(dataDir: string): number | null {
  const sizes = ['gov.db', 'gov.db-wal', 'heads.db', 'heads.db-wal'].map(
    (name) => statSync(join(dataDir, name), { throwIfNoEntry: false })?.size ?? 0,
  );
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return total === 0 ? null : total;
}

/** The second line of a checkpoint (C2SP tlog-checkpoint). */
async function treeSize(client: Client): Promise<number | null> {
  try {
    const { body } = await client.getCheckpoint();
    const line = String(body).split('\n')[1] ?? '';
    return /^[0-9]{1,16}$/.test(line) ? Number(line) : null;
  } catch (cause) {
    if (cause instanceof GovApiError) return null;
    throw cause;
  }
}

async function queueDepth(metricsUrl: string | null | undefined, env: Record<string, string | undefined>) {
  if (typeof metricsUrl !== 'string') return null;
  const { Connection } = await import('../../client/transport.ts');
  const url = new URL(metricsUrl);
  const connection = new Connection({ baseUrl: url.origin, env });
  try {
    const shape = { headers: {}, body: undefined, timeoutMs: 2000, maxBytes: 2 ** 22, signal: undefined };
    const { bytes } = await connection.exchange({ ...shape, method: 'GET', path: url.pathname });
    const found = /^gov_\w*queue\w*(?:\{[^}]*\})? ([0-9.e+]+)$/m.exec(Buffer.from(bytes).toString());
    return found === null ? null : Number(found[1]);
  } catch {
    // metrics are an extra: without them the depth is unknown
    return null;
  } finally {
    connection.close();
  }
}

/** The health answer with the readiness of writes folded in. */
async function healthOf(client: Client): Promise<Pick<PlaneStatus, 'state' | 'reasons' | 'version'>> {
  const overall = await client.getHealth();
  const ready = await client.getReadiness();
  const reasons = [...new Set([...(overall.body.reasons ?? []), ...(ready.body.reasons ?? [])])];
  const state = ready.status === 503 ? 'unavailable' : overall.body.status;
  return { state, reasons, version: overall.body.version ?? null };
}

export const run: Run<typeof spec> = async ({ flags, out, session, io }) => {
  if (flags.data !== undefined) session.usePlane(resolve(flags.data));
  const context = session.context()?.context;
  const dataDir = context?.kind === 'plane' ? context.dataDir : null;
  const running = dataDir === null ? {} : readRunning(dataDir);
  const status: PlaneStatus = {
    state: 'not serving',
    reasons: [],
    dataDir,
    baseUrl: session.baseUrl().value,
    pid: null,
    version: null,
    startedAt: null,
    treeSize: null,
    databaseBytes: dataDir === null ? null : databaseBytes(dataDir),
    queueDepth: null,
    ...(await serving(await session.client({ retries: 0 }), running, io.env)),
  };
  out.verdict = verdictOf(status.state);
  if (out.isHuman) await out.lines(told(status, out.styles));
  else await out.one(status, plainView(Object.keys(status)));
  return out.verdict;
};

/** What only a serving plane tells; the reason where it does not serve. Other failures are thrown. */
async function serving(client: Client, running: Running, env: Io['env']): Promise<Partial<PlaneStatus>> {
  try {
    const health = await healthOf(client);
    const size = await treeSize(client);
    const { pid = null, startedAt = null, metricsUrl } = running;
    return { ...health, pid, startedAt, treeSize: size, queueDepth: await queueDepth(metricsUrl, env) };
  } catch (cause) {
    if (!(cause instanceof GovNetworkError)) throw cause;
    return { reasons: [cause.message] };
  }
}

function verdictOf(state: PlaneStatus['state']): number {
  if (state === 'ok') return exit.ok;
  return state === 'not serving' ? exit.network : exit.checkFailed;
}

const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

function told(status: PlaneStatus, { bold, green, red, yellow }: Styles): Safe[] {
  const { state, reasons } = status;
  const paint = state === 'ok' ? green : state === 'degraded' ? yellow : red;
  const rows: readonly (readonly [string, string | null])[] = [
    ['address', status.baseUrl],
    ['data', status.dataDir],
    ['version', status.version],
    ['process', status.pid === null ? null : `${status.pid}, since ${status.startedAt ?? 'unknown'}`],
    ['log', status.treeSize === null ? null : `${status.treeSize} leaves`],
    ['database', status.databaseBytes === null ? null : megabytes(status.databaseBytes)],
    ['queue', status.queueDepth === null ? null : `${status.queueDepth} writes waiting`],
  ];
  const known = rows.filter((row): row is readonly [string, string] => row[1] !== null);
  return [
    safe`${paint(bold(state))}${reasons.length === 0 ? '' : ': '}${Safe.join(
      reasons.map((each) => safe`${each}`),
      '; ',
    )}`,
    ...known.map(([name, value]) => safe`  ${name.padEnd(9)} ${value}`),
  ];
}
