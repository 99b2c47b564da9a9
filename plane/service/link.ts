/**
 * The connection of a plane to its service: one host, with keep-alive. It uses the configured proxy,
 * authorities and client certificate, and signs each message (contract B10-B12). It follows no redirect. During
 * a rotation it tries both pairs of credentials. Proven by `test/plane/enrolment/exchange.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { Connection } from '../../src/client/transport.ts';
import type { Environment } from '../../src/client/proxy.ts';
import { version } from '../../src/client/version.ts';
import { limits } from '../../src/contract/limits.ts';
import { GovError } from '../../src/contract/problems.ts';
import { aheadMs } from '../../src/store/append/clock-skew.ts';
import { parseSigningSecret, signTelemetry } from '../../src/core/planes/signature.ts';
import { credentialsOf, type Enrolment, type PlaneCredential } from './enrolment.ts';

export interface LinkAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  /** The parsed body. Null where it is not JSON. An attacker may control it. */
  readonly body: unknown;
}

export interface LinkMessage {
  /** Absent: `POST`. */
  readonly method?: 'GET' | 'POST';
  /** Path below the base URL. */
  readonly path: string;
  /** JCS of the body, sent unchanged. '' for no body. */
  readonly canonical: string;
  /** Limit of the response. Absent: `limits.telemetryAnswerBytes`. */
  readonly maxBytes?: number;
  /** Absent: `limits.telemetryTimeoutSeconds`. */
  readonly timeoutMs?: number;
}

export type LinkFiles = Pick<Enrolment, 'service' | 'caFile' | 'certificateFile' | 'certificateKeyFile'>;

/** Opens a connection. VALIDATION_ERROR where a file cannot be read, CONFLICT where no address is known. */
export function connectionTo(files: LinkFiles, env: Environment): Connection {
  const { service, caFile, certificateFile, certificateKeyFile } = files;
  if (service === null) throw noAddress();
  const isMutual = certificateFile !== null && certificateKeyFile !== null;
  return new Connection({
    baseUrl: service,
    env,
    ca: caFile === null ? [] : [readPem(caFile)],
    certificate: isMutual ? { cert: readPem(certificateFile), key: readPem(certificateKeyFile) } : undefined,
  });
}

/** The error of a plane that was enrolled by file. */
const noAddress = (): GovError =>
  new GovError(
    'CONFLICT',
    'expected the address of a service, but this plane was enrolled by file and has none; keep mode manual-file in ' +
      'telemetry.json, get other credentials by another request (gov planes token ID, gov plane enroll --force ' +
      '--request FILE), or enrol it over the network (--service)',
  );

/** CONFLICT where no address of the service is known. */
export function refuseWithoutAddress({ service }: Pick<Enrolment, 'service'>): void {
  if (service === null) throw noAddress();
}

function readPem(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new GovError('VALIDATION_ERROR', `expected a PEM file at ${path}, which cannot be read`, { cause });
  }
}

/** Sends one request. GovNetworkError where no response arrived. */
export async function exchange(
  connection: Connection,
  {
    method = 'POST',
    path,
    canonical,
    maxBytes = limits.telemetryAnswerBytes,
    timeoutMs = limits.telemetryTimeoutSeconds * 1000,
  }: LinkMessage,
  headers: Readonly<Record<string, string>>,
): Promise<LinkAnswer> {
  const reply = await connection.exchange({
    method,
    path,
    headers: {
      accept: 'application/json',
      'user-agent': `gov-plane/${version}`,
      ...(canonical === '' ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: canonical === '' ? undefined : Buffer.from(canonical),
    timeoutMs,
    maxBytes,
    signal: undefined,
  });
  const { status, headers: sent, bytes } = reply;
  return { status, headers: sent, bytes, body: jsonOf(bytes) };
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString());
  } catch {
    return null;
  }
}

/** Code, detail and body of a problem response. Null for any other response. */
export function problemOf(
  answer: Pick<LinkAnswer, 'status' | 'body'>,
): { code: string; detail: string; body: Record<string, unknown> } | null {
  const { body } = answer;
  if (answer.status < 400 || typeof body !== 'object' || body === null) return null;
  const { code, detail } = body as Record<string, unknown>;
  if (typeof code !== 'string') return null;
  return { code, detail: typeof detail === 'string' ? detail : '', body: body as Record<string, unknown> };
}

/** The headers of a signed message. The signature covers `<timestamp>.<canonical>`. */
export function signedHeaders(
  { key, signingSecret }: PlaneCredential,
  canonical: string,
  nowMs: number,
): Record<'authorization' | 'x-telemetry-timestamp' | 'x-telemetry-signature', string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  return {
    authorization: `Bearer ${key}`,
    'x-telemetry-timestamp': timestamp,
    'x-telemetry-signature': signTelemetry(parseSigningSecret(signingSecret), timestamp, canonical),
  };
}

export interface LinkOptions {
  readonly enrolment: Enrolment;
  /** Contains HTTP_PROXY, HTTPS_PROXY and NO_PROXY. */
  readonly env: Environment;
  readonly now: () => number;
}

export class ServiceLink {
  readonly enrolment: Enrolment;
  readonly #connection: Connection | null;
  readonly #now: () => number;
  /** Whether the previous pair worked last. */
  #usesPrevious = false;
  #clockAheadMs: number | null = null;

  /** VALIDATION_ERROR where a file of the enrolment cannot be read. */
  constructor({ enrolment, env, now }: LinkOptions) {
    this.enrolment = enrolment;
    this.#connection = enrolment.service === null ? null : connectionTo(enrolment, env);
    this.#now = now;
  }

  /** The pair that worked last. The current pair at first. */
  get worked(): PlaneCredential {
    const { current, previous } = this.enrolment;
    return this.#usesPrevious && previous !== null
      ? { key: previous.key, signingSecret: previous.signingSecret }
      : current;
  }

  /**
   * Milliseconds by which this clock is ahead of the service, from its last response. Null before the first.
   */
  get clockAheadMs(): number | null {
    return this.#clockAheadMs;
  }

  /**
   * Returns the response to the first pair that the service accepts, else the first refusal. GovNetworkError
   * where no response arrived. CONFLICT where the plane was enrolled by file.
   */
  async send(message: LinkMessage): Promise<LinkAnswer> {
    const connection = this.#connection;
    if (connection === null) throw noAddress();
    const known = credentialsOf(this.enrolment, this.#now());
    const order = this.#usesPrevious ? known.toReversed() : known;
    let refused: LinkAnswer | undefined;
    for (const pair of order) {
      const askedMs = this.#now();
      const headers = signedHeaders(pair, message.canonical, askedMs);
      const answer = await exchange(connection, message, headers);
      // the header has whole seconds, rounded down
      const theirsMs = Date.parse(answer.headers['date'] ?? '') + 500;
      const ahead = -aheadMs({ askedMs, answeredMs: this.#now(), theirsMs });
      if (Number.isFinite(ahead)) this.#clockAheadMs = ahead;
      if (!isRefusal(answer)) {
        this.#usesPrevious = pair !== known[0];
        return answer;
      }
      refused ??= answer;
    }
    if (refused === undefined) throw new Error('an enrolment has a pair of credentials');
    return refused;
  }

  close(): void {
    this.#connection?.close();
  }
}

/** Whether the service refused this pair. A wrong clock refuses every pair, so it does not count. */
const isRefusal = (answer: LinkAnswer): boolean =>
  answer.status === 401 && problemOf(answer)?.code !== 'TIMESTAMP_OUT_OF_RANGE';
