/**
 * A plane in a temporary directory for tests over real sockets, and a client that holds every answer against
 * the contract: documented status, schema of the row, shape of problems, headers on every answer.
 */
import { readFileSync, rmSync, mkdtempSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { planeInit } from '../../plane/data/init.ts';
import { planeServe, type RunningPlane, type ServeOptions } from '../../plane/serve/start.ts';
import type { MeteredType, Scope } from '../../src/contract/operation.ts';
import { saltPool } from '../../src/core/events/disclosure.ts';
import { typeId } from '../../src/core/id.ts';
import { draftLeaf } from '../../src/core/events/record.ts';
import { projectOf, readPlaneFile, type Presence } from '../../src/host/data/config.ts';
import { createLog } from '../../src/host/process/log.ts';
import { createKey } from '../../src/service/credentials/token-format.ts';
import { silentLog } from '../../src/service/call/log.ts';
import { keyRevoked, operator } from '../../src/service/access/project-events.ts';
import { keyCreated } from '../../src/service/writes/system.ts';
import type { ApiKeyRow, Store } from '../../src/store/port/store.ts';
import type { Project } from '../../src/store/port/store.ts';
import { openStore } from '../../src/store/sqlite/store.ts';
import { sqliteBelow, type Below } from './below.ts';
import { checkAnswer } from './oracle.ts';
import type { Answer } from './answer.ts';

export interface CallOptions {
  readonly body?: unknown;
  /** Sent as it is instead of `body`. */
  readonly raw?: string | Buffer;
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

export interface TestPlane extends RunningPlane, Below {
  readonly dataDir: string;
  readonly origin: string;
  readonly port: number;
  /** The operator's key, scope `*`. */
  readonly key: string;
  /** Keys that were asked for in `start`. */
  readonly keys: Readonly<Record<string, string>>;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** `operation status` of every answer so far. */
  readonly seen: ReadonlySet<string>;
  /** Units that were counted so far. */
  units(type: MeteredType): Promise<number>;
  /** Stops the plane and removes its directory. */
  end(): Promise<void>;
}

export interface StartOptions extends Omit<Partial<ServeOptions>, 'presence'> {
  readonly environment?: Project['environment'];
  /** In `plane.json`. Default: as an older release wrote it, and approvals need a key alone. */
  readonly presence?: Presence;
  /** `hold.seconds` in `plane.json`. */
  readonly holdSeconds?: number;
  /** Further keys by name; `project` names a second project of the same store. */
  readonly extraKeys?: Readonly<
    Record<string, { scopes: readonly Scope[]; project?: 'other'; expiresMs?: number; revoked?: boolean }>
  >;
}

/** A valid event; members of `with` replace its own. */
export const event = (members: Record<string, unknown> = {}): Record<string, unknown> => ({
  runId: 'run-1',
  eventType: 'tool.call',
  actor: { name: 'billing-agent', role: 'agent' },
  resource: { name: 'ledger', type: 'tool' },
  action: 'execute',
  timestamp: '2026-03-01T09:30:00Z',
  metadata: { amount: 12 },
  ...members,
});

/** Changes `plane.json`; a member that is undefined goes, such as one that an older release did not write. */
function configure(dataDir: string, members: Record<string, unknown>): void {
  const path = join(dataDir, 'plane.json');
  const file = { ...JSON.parse(readFileSync(path, 'utf8')), ...members };
  writeFileSync(path, JSON.stringify(file, null, 2), { mode: 0o600 });
}

let elsewhere: ((options: StartOptions) => Promise<TestPlane>) | undefined;

/** From now on `startPlane` starts this instead: `test/support/on-postgres.ts`. */
export const setWorld = (start: NonNullable<typeof elsewhere>): void => {
  elsewhere = start;
};

export async function startPlane(options: StartOptions = {}): Promise<TestPlane> {
  if (elsewhere !== undefined) return elsewhere(options);
  const folder = mkdtempSync(join(tmpdir(), 'gov-plane-'));
  const dataDir = join(folder, 'plane');
  const log = process.env['TEST_LOG'] === undefined ? silentLog : createLog('error');
  const { environment = 'production', presence, holdSeconds, extraKeys = {}, ...serve } = options;
  const addresses = { listen: '127.0.0.1:0', metricsListen: '127.0.0.1:0' };
  await planeInit({ dataDir, ...addresses, environment, presence: presence ?? 'none' });
  if (presence === undefined) configure(dataDir, { presence });
  if (holdSeconds !== undefined) configure(dataDir, { hold: { seconds: holdSeconds } });
  const rule = presence === undefined ? ({ presence: 'none' } as const) : {};
  const keys = await addKeys(dataDir, extraKeys);
  const plane = await planeServe({ log, env: {}, overloadDelayMs: 60_000, ...serve, ...rule, dataDir });
  const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
  const { origin, port } = new URL(plane.baseUrl);
  const { call, seen } = checkedCalls(plane.baseUrl);
  return {
    ...plane,
    dataDir,
    origin,
    port: Number(port),
    key,
    keys,
    seen,
    call: (method, path, callOptions = {}) => call(method, path, { key, ...callOptions }),
    ...sqliteBelow(dataDir, projectOf(readPlaneFile(join(dataDir, 'plane.json'))).projectId),
    units: async (type) => {
      const text = await (await fetch(plane.metricsUrl ?? '')).text();
      return Number(new RegExp(`type="${type}"\\} (\\d+)`).exec(text)?.[1]);
    },
    end: async () => {
      await plane.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function addKeys(
  dataDir: string,
  wanted: NonNullable<StartOptions['extraKeys']>,
): Promise<Record<string, string>> {
  const own = projectOf(readPlaneFile(join(dataDir, 'plane.json')));
  const store = openStore({ dataDir, clock: { now: Date.now }, randomBytes, reserveBytes: 0 });
  const projectId = typeId('prj', Date.now(), randomBytes(10));
  const other: Project = {
    ...own,
    projectId,
    auditOrigin: `gov.local/${projectId}/audit`,
    meteringOrigin: `gov.local/${projectId}/metering/0`,
  };
  const tokens: Record<string, string> = {};
  if (Object.values(wanted).some(({ project }) => project === 'other')) {
    await store.createProject(other, draftLeaf('gov.genesis/1', { origin: other.auditOrigin }));
  }
  for (const [name, { scopes, project, expiresMs, revoked }] of Object.entries(wanted)) {
    const { token, row } = createKey(project === 'other' ? other : own, {
      name,
      scopes,
      nowMs: Date.now(),
      randomBytes,
      ...(expiresMs === undefined ? {} : { expiresMs }),
    });
    await store.append({
      projectId: row.projectId,
      leaves: [keyCreated(row, { nowMs: row.createdMs, randomBytes })],
      meter: { op: 'none', units: 0 },
      effects: [{ kind: 'saveApiKey', key: row }],
    });
    if (revoked === true) await revoke(store, row);
    tokens[name] = token;
  }
  await store.close();
  return tokens;
}

/** A second before it was made: it was never of use. */
async function revoke(store: Store, row: ApiKeyRow): Promise<void> {
  const { projectId, keyId, createdMs } = row;
  const nowMs = createdMs - 1000;
  await store.append({
    projectId,
    leaves: [keyRevoked(row, { nowMs, salt: saltPool(randomBytes), by: operator })],
    meter: { op: 'none', units: 0 },
    effects: [{ kind: 'revokeApiKey', keyId, revokedMs: nowMs, atMs: nowMs }],
  });
}

/** Calls below an address whose answers are held against the contract; `seen`: `operation status` of each so far. */
export function checkedCalls(baseUrl: string, seen = new Set<string>()): Pick<TestPlane, 'call' | 'seen'> {
  return {
    seen,
    call: async (method, path, options = {}) => {
      const url = path.startsWith('http') ? path : `${baseUrl}${path}`;
      const answer = await send(method, url, options);
      const id = checkAnswer(method, new URL(url).pathname, answer);
      if (id !== null) seen.add(`${id} ${answer.status}`);
      return answer;
    },
  };
}

/** One request over a socket of its own; no retries, nothing added but what is said here. */
export function send(method: string, url: string, options: CallOptions): Promise<Answer> {
  const { key = null, body, raw, headers = {} } = options;
  const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, {
      method,
      agent: false,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(payload === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(payload)) }),
        ...headers,
      },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('error', reject);
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        const text = bytes.toString('utf8');
        // neither a part of a JSON text nor compressed bytes can be parsed
        const isJson =
          text !== '' &&
          response.statusCode !== 206 &&
          response.headers['content-encoding'] === undefined &&
          /json/.test(String(response.headers['content-type']));
        const parsed: unknown = isJson ? JSON.parse(text) : null;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, bytes, body: parsed });
      });
    });
    request.end(payload);
  });
}
