/**
 * The typed client. It has one method for each row of the contract table, created at run time and typed at compile time.
 * All methods share retries, idempotency keys, problems and limits.
 * Tested by `test/client/create.test.ts` against a real server.
 */
import { isObject } from '../core/json/object.ts';
import type { Agent } from 'node:http';
import { cronHeader, projectHeader } from '../contract/auth-words.ts';
import { limits } from '../contract/limits.ts';
import { accessOf } from '../contract/operation.ts';
import type { Input, Operation, Output } from '../contract/operation.ts';
import { table } from '../contract/table.ts';
import type { OperationId, Table } from '../contract/table.ts';
import { apiError } from './answers.ts';
import { GovApiError, GovNetworkError } from './errors.ts';
import type { Environment } from './proxy.ts';
import { type ReceiptedAnswer, receiptedAnswer } from './receipts/receipted.ts';
import { retrying } from './retry.ts';
import { anySignal } from './signals.ts';
import { createNamespaces, type Namespaces } from './namespaces/client.ts';
import { memoryStore } from './namespaces/in-memory.ts';
import { type NamespaceStore, namespaceNames } from './namespaces/store.ts';
import { jsonText } from './json-text.ts';
import { Connection } from './transport.ts';
import type { Reply } from './transport.ts';
import type { Pinning } from './pinned.ts';
import { timerMs } from './timer.ts';
import { agentHeaders, elapsedMs } from './runtime.ts';

export interface ClientOptions {
  /** For example `http://127.0.0.1:7460/api/v1`. */
  readonly baseUrl: string;
  /** Sent as `Authorization: Bearer`, only to the host of `baseUrl`. */
  readonly apiKey?: string | undefined;
  /**
   * The plane that `apiKey` is for, where no TLS proves it. A call then sends no key, and takes no answer that the plane did
   * not sign. Streams and uploads still send the key.
   */
  readonly pin?: Pinning | undefined;
  /** The project of a person's calls. Needed if `apiKey` is a person's token; a key has its own project. */
  readonly project?: string | undefined;
  /** Time limit of one attempt; default `limits.clientTimeoutSeconds`. */
  readonly timeoutMs?: number;
  /** Attempts after the first; default `limits.clientRetries`. */
  readonly retries?: number;
  readonly userAgent?: string;
  readonly agent?: Agent;
  /** PEM texts of authorities to trust in addition to the default ones. */
  readonly ca?: readonly string[];
  /** PEM texts of the client's certificate and key, for mutual TLS. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined;
  /** Aborts every call of this client. */
  readonly signal?: AbortSignal;
  /** Variables that name proxies; default `process.env`. */
  readonly env?: Environment;
  /** Holds the records of the namespaces, such as `client.prompts`; default: the memory of this client. */
  readonly store?: NamespaceStore;
  /**
   * Called for each request, response and retry, and for each event of a governed call that could not be recorded. Never
   * receives the credential.
   */
  readonly observe?: (note: ClientNote) => void;
  /**
   * Returns the header with which an approver signs a change that a plane refuses without one, or null. The request is then
   * sent again, once.
   */
  readonly signChange?: ((change: UnsignedChange) => Promise<string | null>) | undefined;
  /** Called with the receipt of each answer to recorded events. It shows later that the log lost one. Must not throw. */
  readonly onReceipt?: (answer: ReceiptedAnswer) => void;
}

/** A request that needs the signature of an approver. */
export interface UnsignedChange {
  readonly method: string;
  /** Below the base URL, with the query. */
  readonly path: string;
  readonly body: unknown;
  /** Why: `expected …, got …`. */
  readonly reason: string;
  /** What to sign, without the members of the signer: `src/core/approvals/change-statement.ts`. */
  readonly change: Readonly<Record<string, string | null>> | undefined;
}

/** An event on the wire, without header values that authenticate, or one that governed calls could not record. */
export type ClientNote =
  | { readonly kind: 'request'; readonly method: string; readonly url: string; readonly bytes: number }
  | {
      readonly kind: 'response';
      readonly status: number;
      readonly ms: number;
      readonly requestId: string | undefined;
    }
  | { readonly kind: 'retry'; readonly attempt: number; readonly delayMs: number; readonly reason: string }
  | {
      readonly kind: 'unrecorded';
      readonly runId: string;
      readonly eventType: string;
      readonly tool: string;
      readonly reason: string;
    };

type Part<Key extends string, Value> = [Value] extends [undefined]
  ? unknown
  : Record<never, never> extends Value
    ? { readonly [Name in Key]?: Loose<Value> }
    : { readonly [Name in Key]: Loose<Value> };
/** Optional members may also be undefined. */
type Loose<Value> = {
  readonly [Key in keyof Value]: undefined extends Value[Key] ? Value[Key] | undefined : Value[Key];
};

export type CallInput<Row extends Operation> = Part<'params', Input<Row>['params']> &
  Part<'query', Input<Row>['query']> &
  ([Input<Row>['body']] extends [undefined] ? unknown : { readonly body: Input<Row>['body'] }) &
  /** The bytes of the file that the operation takes. */
  (Row extends { upload: object } ? { readonly file: Uint8Array } : unknown) & {
    /** For POST. The client creates a random key if this is missing, and keeps it over retries. */
    readonly idempotencyKey?: string | undefined;
    /** The ETag of an earlier response: PRECONDITION_FAILED if the resource has changed since. */
    readonly ifMatch?: Row extends { ifMatch: true } ? string | undefined : never;
    /** The secret of the installation, for the calls of a scheduler. */
    readonly cronSecret?: Row extends { access: 'cron' } ? string | undefined : never;
    readonly signal?: AbortSignal | undefined;
    /** Time limit of one attempt of this call. */
    readonly timeoutMs?: number | undefined;
  };

/** One of the row's success statuses with its body; `bytes` is the unparsed body. */
export type Answer<Row extends Operation> = Omit<Output<Row>, 'headers'> & {
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
} & Output<Row>;

export type Method<Row extends Operation> =
  Record<never, never> extends CallInput<Row>
    ? (input?: CallInput<Row>) => Promise<Answer<Row>>
    : (input: CallInput<Row>) => Promise<Answer<Row>>;

export type Client = { readonly [Id in OperationId]: Method<Table[Id]> } & Namespaces & {
    readonly connection: Connection;
    readonly options: ClientOptions;
    /** Closes the sockets. Needed only to close them before the process ends. */
    readonly close: () => void;
  };

/** The input of any method after type checking. */
export interface UncheckedInput {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly file?: Uint8Array;
  readonly idempotencyKey?: string | undefined;
  readonly ifMatch?: string | undefined;
  readonly cronSecret?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}
export interface UncheckedAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

/**
 * Creates a client for one base URL. Every method returns `{ status, body, headers, bytes }`, or throws `GovApiError`,
 * `GovNetworkError` or the signal's reason. The client sends nothing before the first call.
 */
export function createClient(options: ClientOptions): Client {
  const connection = new Connection(options);
  const methods: Record<string, (input?: UncheckedInput) => Promise<UncheckedAnswer>> = {};
  for (const [id, row] of Object.entries<Operation>(table)) {
    methods[id] = (input = {}) => call({ connection, options, row }, input);
  }
  const all = Object.assign(withNamespaces(methods, options.store), { close: () => connection.close() });
  // not enumerable: a program that logs its client must not log the key in the options
  Object.defineProperties(all, { connection: { value: connection }, options: { value: options } });
  // the loop above creates exactly the members that the mapped type names
  return all as unknown as Client;
}

/** Adds the namespaces, which are made with the first use of one. */
function withNamespaces(methods: object, store: NamespaceStore | undefined): object {
  let all: Namespaces | undefined;
  for (const name of namespaceNames) {
    const get = (): unknown => (all ??= createNamespaces(store ?? memoryStore()))[name];
    Object.defineProperty(methods, name, { get, enumerable: true });
  }
  return methods;
}

interface Target {
  readonly connection: Connection;
  readonly options: ClientOptions;
  readonly row: Operation;
}

async function call(target: Target, input: UncheckedInput): Promise<UncheckedAnswer> {
  const { options, row } = target;
  const signals = [options.signal, input.signal].filter((signal) => signal !== undefined);
  const body = payloadOf(row, input);
  const signal = signals.length === 0 ? undefined : anySignal(signals);
  const request = { path: pathOf(row, input), headers: headersOf(target, input, body), body, signal };
  const timeoutMs = timerMs(input.timeoutMs ?? options.timeoutMs ?? limits.clientTimeoutSeconds * 1000);
  const attempt = (more: Record<string, string>) =>
    retrying(options, signal, () =>
      attemptOnce(target, { ...request, headers: { ...request.headers, ...more }, timeoutMs }),
    );
  try {
    return await attempt({});
  } catch (cause) {
    const header = isApiError(cause) ? cause.problem['signatureRequired'] : undefined;
    if (!isApiError(cause) || typeof header !== 'string' || options.signChange === undefined) throw cause;
    const { path } = request;
    const { detail: reason, problem } = cause;
    const { method } = row;
    const signed = await options.signChange({
      method,
      path,
      body: input.body,
      reason,
      change: changeIn(problem),
    });
    if (signed === null) throw cause;
    return attempt({ [header]: signed });
  }
}

/** Absent from planes of older releases. */
function changeIn({ change }: Readonly<Record<string, unknown>>): UnsignedChange['change'] {
  if (!isObject(change)) return undefined;
  const members = Object.entries(change).map(([name, value]) => [
    name,
    value === null ? null : String(value),
  ]);
  return Object.fromEntries(members);
}

const isApiError = (cause: unknown): cause is GovApiError => cause instanceof GovApiError;

/** Separates the parts of an upload. A random text, which no file contains. */
const boundary = `gov-${crypto.randomUUID()}`;

/** JSON, or a file as `multipart/form-data` (RFC 7578). TypeError for a body that JSON has no form for. */
function payloadOf({ upload }: Operation, { body, file }: UncheckedInput): Uint8Array | undefined {
  if (upload === undefined) return body === undefined ? undefined : Buffer.from(jsonText(body));
  const disposition = `Content-Disposition: form-data; name="${upload.part}"; filename="file"`;
  return Buffer.concat([
    Buffer.from(`--${boundary}\r\n${disposition}\r\nContent-Type: application/octet-stream\r\n\r\n`),
    file ?? new Uint8Array(),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
}

interface Attempt {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array | undefined;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
}

async function attemptOnce(target: Target, attempt: Attempt): Promise<UncheckedAnswer> {
  const { connection, options, row } = target;
  const url = connection.base.origin + connection.fullPath(attempt.path);
  options.observe?.({ kind: 'request', method: row.method, url, bytes: attempt.body?.length ?? 0 });
  const startedAt = elapsedMs();
  const token = pinnedToken(target, attempt);
  const headers = token === null ? attempt.headers : { ...attempt.headers, authorization: `Bearer ${token}` };
  const reply = await connection.exchange({
    ...attempt,
    headers,
    method: row.method,
    maxBytes: limits.responseBytes,
  });
  if (token !== null) options.pin?.requireProven(reply, token);
  const ms = elapsedMs() - startedAt;
  options.observe?.({ kind: 'response', status: reply.status, ms, requestId: reply.headers['x-request-id'] });
  const success = row.success[reply.status];
  if (success === undefined) throw problemOf(reply);
  const body = bodyOf(reply, success);
  const receipted = options.onReceipt === undefined ? null : receiptedAnswer(reply.headers, body);
  if (receipted !== null) options.onReceipt?.(receipted);
  return { status: reply.status, headers: reply.headers, bytes: reply.bytes, body };
}

/** Null where the call sends its key. */
function pinnedToken({ connection, options, row }: Target, { path, headers, body }: Attempt): string | null {
  const { pin } = options;
  if (pin === undefined || row.upload !== undefined) return null;
  const request = {
    method: row.method,
    target: connection.fullPath(path),
    idempotencyKey: headers['idempotency-key'],
    body: body ?? new Uint8Array(),
  };
  return pin.tokenFor(request);
}

function headersOf(
  { options, row }: Target,
  input: UncheckedInput,
  body: Uint8Array | undefined,
): Record<string, string> {
  const headers: Record<string, string> = {
    accept: 'application/json, application/problem+json, */*;q=0.1',
    ...agentHeaders(options),
  };
  const access = accessOf(row);
  if (access === 'cron') Object.assign(headers, { [cronHeader]: input.cronSecret ?? '' });
  // an operation on the organization must work even if the project is gone
  else if (access === 'organization')
    Object.assign(headers, credentialHeaders({ ...options, project: undefined }));
  else Object.assign(headers, credentialHeaders(options));
  if (body !== undefined)
    headers['content-type'] =
      row.upload === undefined ? 'application/json' : `multipart/form-data; boundary=${boundary}`;
  if (input.ifMatch !== undefined) headers['if-match'] = input.ifMatch;
  if (row.method === 'POST') headers['idempotency-key'] = input.idempotencyKey ?? crypto.randomUUID();
  return headers;
}

/** The caller's credential and project. */
export const credentialHeaders = ({ apiKey, project }: ClientOptions): Record<string, string> => ({
  ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  ...(project === undefined ? {} : { [projectHeader]: project }),
});

/** Returns the path with its parameters and the query. Throws if a parameter would change the path's shape. */
export function pathOf(row: Operation, input: UncheckedInput): string {
  const path = row.path.replace(/\{([^}]+)\}|\*/g, (whole, name: string | undefined) => {
    const value = String(input.params?.[name ?? whole] ?? '');
    const segments = name === undefined ? value.split('/') : [value];
    if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
      throw new TypeError(`expected a value for ${name ?? 'the path'}, got ${JSON.stringify(value)}`);
    }
    return segments.map(encodeURIComponent).join('/');
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(input.query ?? {})) {
    if (value !== undefined) query.append(name, String(value));
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

function bodyOf(reply: Reply, success: Operation['success'][number]): unknown {
  if ('empty' in success) return null;
  if (!('mediaType' in success)) return jsonOf(reply);
  return String(success.mediaType).startsWith('text/') ? textOf(reply) : reply.bytes;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function textOf(reply: Reply): string {
  try {
    return utf8.decode(reply.bytes);
  } catch (cause) {
    throw notUnderstood('text that is not UTF-8', cause);
  }
}

function jsonOf(reply: Reply): unknown {
  const text = textOf(reply);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw notUnderstood(
      `${reply.headers['content-type'] ?? 'a body without a type'} that is not JSON`,
      cause,
    );
  }
}

const notUnderstood = (got: string, cause: unknown): GovNetworkError =>
  new GovNetworkError('INVALID_RESPONSE', `expected JSON from the service, got ${got}`, {
    hint: 'check that the base URL ends in /api/v1, and that no proxy answers in its place',
    cause,
  });

/** Returns the service's error. */
export function problemOf(reply: Reply): GovApiError {
  const isJson = /\bjson\b/.test(reply.headers['content-type'] ?? '');
  let problem: unknown;
  try {
    problem = isJson ? JSON.parse(textOf(reply)) : undefined;
  } catch {
    // the status alone still says what happened
    problem = undefined;
  }
  const members = typeof problem === 'object' && problem !== null ? { ...problem } : {};
  return apiError(reply.status, members, reply.headers);
}
