/**
 * A plane in a temporary directory for tests over real sockets, and a client that holds every answer against
 * the contract: documented status, schema of the row, shape of problems, headers on every answer.
 */
import { readFileSync, rmSync, mkdtempSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { Ajv, type ValidateFunction } from 'ajv';
import { planeInit } from '../plane/init.ts';
import { projectOf } from '../plane/init.ts';
import { planeServe, type RunningPlane, type ServeOptions } from '../plane/serve.ts';
import type { MeteredType, Operation, Scope } from '../src/contract/operation.ts';
import { problems, type ProblemCode } from '../src/contract/problems.ts';
import { table, type OperationId } from '../src/contract/table.ts';
import { typeId } from '../src/core/id.ts';
import { draftLeaf } from '../src/core/record.ts';
import { parseTimestamp } from '../src/core/time.ts';
import { readPlaneFile } from '../src/host/config.ts';
import { createLog } from '../src/host/log.ts';
import { createKey } from '../src/service/keys.ts';
import { silentLog } from '../src/service/log.ts';
import type { Project } from '../src/store/port.ts';
import { openStore } from '../src/store/sqlite/index.ts';
import { sqliteBelow, type Below } from './below.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly bytes: Buffer;
  /** The parsed body, null where it is no JSON. */
  readonly body: any; // oxlint-disable-line typescript/no-explicit-any -- checked by schema just before
}

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

export interface StartOptions extends Partial<ServeOptions> {
  readonly environment?: Project['environment'];
  /** Further keys by name; `project` names a second project of the same store. */
  readonly extraKeys?: Readonly<
    Record<string, { scopes: readonly Scope[]; project?: 'other'; expiresMs?: number; revoked?: boolean }>
  >;
}

export const now = (): string => new Date().toISOString();

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

let elsewhere: ((options: StartOptions) => Promise<TestPlane>) | undefined;

/** From now on `startPlane` starts this instead: `test/onpostgres.ts`. */
export const setWorld = (start: NonNullable<typeof elsewhere>): void => {
  elsewhere = start;
};

/** Whether tests find the files of a plane where they expect them. */
export const hasFiles = (): boolean => elsewhere === undefined;

export async function startPlane(options: StartOptions = {}): Promise<TestPlane> {
  if (elsewhere !== undefined) return elsewhere(options);
  const folder = mkdtempSync(join(tmpdir(), 'gov-plane-'));
  const dataDir = join(folder, 'plane');
  const log = process.env['TEST_LOG'] === undefined ? silentLog : createLog('error');
  const { environment = 'production', extraKeys = {}, ...serve } = options;
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: '127.0.0.1:0', environment });
  const keys = await addKeys(dataDir, extraKeys);
  const plane = await planeServe({ log, env: {}, overloadDelayMs: 60_000, ...serve, dataDir });
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
    await store.saveApiKey(revoked === true ? { ...row, revokedMs: Date.now() - 1000 } : row);
    tokens[name] = token;
  }
  await store.close();
  return tokens;
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
        const isJson = text !== '' && /json/.test(String(response.headers['content-type']));
        const parsed: unknown = isJson ? JSON.parse(text) : null;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, bytes, body: parsed });
      });
    });
    request.end(payload);
  });
}

const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addFormat('date-time', { type: 'string', validate: (text: string) => parseTimestamp(text) !== null });
ajv.addFormat('uri', { type: 'string', validate: (text: string) => URL.canParse(text) });
const validators = new Map<string, ValidateFunction>();

/** Statuses that every operation may answer with (contract A8). */
export const sharedStatuses = [400, 401, 403, 404, 405, 406, 408, 409, 412, 413, 415, 429, 431, 500, 503];

/** The row that serves a path; literal segments win over parameters. */
export function rowOf(method: string, pathname: string): OperationId | null {
  const path = pathname.replace(/^(\/sandbox)?\/api\/v1/, '');
  const matches = (Object.keys(table) as OperationId[]).filter((id) => {
    const row: Operation = table[id];
    const pattern = row.path.replace(/\{[^}]+\}/g, '[^/]+').replace(/\*$/, '.+');
    return row.method === method && new RegExp(`^${pattern}$`).test(path);
  });
  return matches.toSorted((a, b) => brackets(a) - brackets(b))[0] ?? null;
}

const brackets = (id: OperationId): number => table[id].path.split('{').length;

/** Throws where an answer is not one that the contract describes. */
export function checkAnswer(method: string, pathname: string, answer: Answer): OperationId | null {
  const { status, headers } = answer;
  const at = `${method} ${pathname} ${status}: ${answer.text.slice(0, 300)}`;
  if (!/^[A-Za-z0-9._-]{8,64}$/.test(String(headers['x-request-id'])))
    throw new Error(`no request id: ${at}`);
  if (headers['gov-api-version'] !== '1.0.0') throw new Error(`no version: ${at}`);
  if (headers['x-content-type-options'] !== 'nosniff') throw new Error(`no nosniff: ${at}`);
  if ('server' in headers || 'x-powered-by' in headers) throw new Error(`names its software: ${at}`);
  const id = rowOf(method, pathname);
  const row: Operation | null = id === null ? null : table[id];
  if (id !== null && row?.success[status] !== undefined) {
    checkSuccess(id, answer, at);
    return id;
  }
  if (status < 400 && row !== null) throw new Error(`undocumented status: ${at}`);
  if (status >= 400) checkProblem(answer, at);
  if (row !== null && ![...row.statuses, ...sharedStatuses].includes(status)) {
    throw new Error(`undocumented status: ${at}`);
  }
  return id;
}

function checkSuccess(id: OperationId, { status, headers, text, body }: Answer, at: string): void {
  const { success, stability }: Operation = table[id];
  const schema = success[status];
  if (schema === undefined) return;
  if (headers['gov-stability'] !== (stability === 'stable' ? undefined : stability)) {
    throw new Error(`wrong stability: ${at}`);
  }
  if ('empty' in schema) {
    if (text !== '' || 'content-type' in headers) throw new Error(`expected no body: ${at}`);
    return;
  }
  const mediaType = 'mediaType' in schema ? schema.mediaType : 'application/json; charset=utf-8';
  if (headers['content-type'] !== mediaType) throw new Error(`wrong media type: ${at}`);
  if ('mediaType' in schema) return;
  if (headers['cache-control'] !== 'no-store') throw new Error(`may be stored: ${at}`);
  const name = `${id} ${status}`;
  const validate = validators.get(name) ?? ajv.compile(schema);
  validators.set(name, validate);
  if (!validate(body)) throw new Error(`${ajv.errorsText(validate.errors)}: ${at}`);
}

/** Headers that a problem of a status has (RFC 9110 section 15; RFC 6750 section 3; contract C6). */
const answering: Readonly<Record<number, readonly [name: string, form: RegExp]>> = {
  401: ['www-authenticate', /^Bearer realm="gov"/],
  405: ['allow', /^[A-Z]+(?:, [A-Z]+)*$/],
  429: ['retry-after', /^[1-9][0-9]{0,4}$/],
  503: ['retry-after', /^[1-9][0-9]{0,4}$/],
};

function checkProblem({ status, headers, text, body }: Answer, at: string): void {
  if (headers['content-type'] !== 'application/problem+json') throw new Error(`no problem: ${at}`);
  if (headers['cache-control'] !== 'no-store') throw new Error(`may be stored: ${at}`);
  const known = problems[body.code as ProblemCode];
  const fits =
    known !== undefined &&
    known.status === status &&
    body.status === status &&
    body.title === known.title &&
    body.retryable === known.retryable &&
    typeof body.detail === 'string' &&
    /^https?:\/\//.test(body.type) &&
    body.instance === `urn:gov:req:${body.requestId}` &&
    (body.requestId === headers['x-request-id'] || headers['idempotent-replayed'] === 'true');
  if (!fits) throw new Error(`not a problem of the register: ${at}`);
  const missing = Object.entries(answering).find(
    ([when, [name, form]]) => Number(when) === status && !form.test(String(headers[name])),
  );
  if (missing !== undefined) throw new Error(`no ${missing[1][0]}: ${at}`);
  // an id that is counted up comes by v8 as well
  const said = text.replaceAll(String(body.requestId), '');
  const told = insides.find((pattern) => pattern.test(said));
  if (told !== undefined) throw new Error(`tells what runs here (${told}): ${at}`);
}

/** What no error may tell (contract C7; reliability S35): stack, path, SQL, and which software in which version. */
export const insides: readonly RegExp[] = [
  /\n\s*at |\\n\s*at |:\d+:\d+\)|[\w-]+\.[cm]?[jt]s:\d+|node:internal/,
  /node_modules|file:\/\/|(?<![\w.:/])\/(?:work|tmp|root|home|usr|var|etc|opt|proc|Users)\/|[A-Z]:\\\\/,
  /\b(?:SELECT\b.+\bFROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE)\b|SQLITE_|\bpg_\w|constraint failed|violates \w+[ -]/i,
  /\b(?:sqlite|postgres(?:ql)?|fastify|undici|openssl)\b|\bnode(?:\.js|[ /]v?\d)|\bv2\d\.\d+\.\d/i,
];
