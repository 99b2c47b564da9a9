/**
 * Sends one POST over HTTPS to an address that a tenant gave (contract N7). No redirect, no proxy, no cookie,
 * one time limit over everything. The status decides; the body of the answer is dropped. Proven by
 * `test/host/outbound/post.test.ts`.
 */
import { request as httpsRequest, type Agent } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { limits } from '../../contract/limits.ts';
import type { OutboundAnswer, OutboundPost } from '../../service/hosting/outbound.ts';
import { retryAfterMs } from '../../core/retry-after.ts';
import { targetOf, type Lookup, type Target } from './target.ts';

export interface PostContext extends Lookup {
  /** Contains the authorities. Knows no proxy, and keeps idle connections for seconds. */
  readonly agent: Agent;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly userAgent: string;
}

/** Never rejects. The answer names the host, and neither path nor query, which may contain secrets. */
export async function post(message: OutboundPost, sending: PostContext): Promise<OutboundAnswer> {
  const startedAt = performance.now();
  const signal = AbortSignal.timeout(message.timeoutMs);
  const outcome = await outcomeOf(message, sending, signal);
  const durationMs = Math.round(performance.now() - startedAt);
  return { statusCode: null, retryAfterMs: null, isFinal: false, ...outcome, durationMs };
}

type Outcome = Partial<OutboundAnswer> & Pick<OutboundAnswer, 'ok' | 'failed'>;

async function outcomeOf(message: OutboundPost, sending: PostContext, signal: AbortSignal): Promise<Outcome> {
  try {
    const target = await beforeAbort(targetOf(message.url, sending), signal);
    if ('refused' in target) return { ok: false, failed: target.refused, isFinal: target.isFinal };
    const response = await exchange(target, { message, sending, signal });
    return judged(response, sending.now());
  } catch (error) {
    return { ok: false, failed: signal.aborted ? tooSlow(message.timeoutMs) : troubleOf(error) };
  }
}

const tooSlow = (timeoutMs: number): string => `no answer within ${timeoutMs / 1000} s`;

/** Waits no longer than the limit for work that cannot be stopped. */
function beforeAbort<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    work.then(resolve, reject);
  });
}

interface Context {
  readonly message: OutboundPost;
  readonly sending: PostContext;
  readonly signal: AbortSignal;
}

/** Resolves once the body ended or enough of it was read. */
function exchange(target: Target, context: Context): Promise<IncomingMessage> {
  const { url, name, port, addresses } = target;
  const { message, sending, signal } = context;
  return new Promise((resolve, reject) => {
    const request = httpsRequest({
      method: 'POST',
      host: name ?? addresses[0]?.address,
      port,
      path: `${url.pathname}${url.search}`,
      // the only addresses that the connection can use
      lookup: (_name, options, done) => {
        const [first] = addresses;
        if (options.all === true) done(null, [...addresses]);
        else done(null, first?.address ?? '', first?.family);
      },
      ...(name === null ? {} : { servername: name }),
      // a variable of the environment must not switch the check off
      rejectUnauthorized: true,
      agent: sending.agent,
      maxHeaderSize: limits.headerBytes,
      signal,
      headers: {
        ...message.headers,
        host: url.host,
        'content-length': message.body.length,
        'user-agent': sending.userAgent,
      },
    });
    const failed = (error: Error): void => {
      // a receiver may close a kept connection at the moment of its reuse
      if (request.reusedSocket && !signal.aborted) resolve(exchange(target, context));
      else reject(error);
    };
    request.once('error', failed);
    // 101 Switching Protocols ends a request with neither a response nor an error
    request.once('upgrade', (response, socket) => {
      socket.destroy();
      resolve(response);
    });
    request.once('response', (response) => {
      request.off('error', failed);
      const finish = (): void => {
        clearTimeout(timer);
        resolve(response);
        // a connection whose body was read to its end serves the next message
        if (!response.complete) request.destroy();
      };
      const timer = setTimeout(finish, limits.outboundBodyMs);
      let size = 0;
      request.on('error', finish); // the status has come, and the rest of the body does not matter
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > limits.outboundAnswerBytes) finish();
      });
      response.once('end', finish);
      response.once('close', finish);
    });
    request.end(message.body);
  });
}

function judged({ statusCode = 0, headers }: IncomingMessage, nowMs: number): Outcome {
  if (statusCode >= 200 && statusCode < 300) return { ok: true, statusCode, failed: null };
  const isRedirect = statusCode >= 300 && statusCode < 400;
  return {
    ok: false,
    statusCode,
    failed: `the receiver answered ${statusCode}${isRedirect ? ', and redirects are not followed' : ''}`,
    retryAfterMs: retryAfterMs(headers['retry-after'], {
      nowMs,
      mostSeconds: limits.outboundRetryAfterSeconds,
    }),
    // 410 Gone: the receiver wants no more
    isFinal: statusCode === 410,
  };
}

const troubles: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the receiver refused the connection',
  ECONNRESET: 'the receiver closed the connection without an answer',
  EPIPE: 'the receiver closed the connection without an answer',
  EHOSTUNREACH: 'the network has no way to the receiver',
  ENETUNREACH: 'the network has no way to the receiver',
  ETIMEDOUT: 'the receiver did not accept the connection in time',
  CERT_HAS_EXPIRED: 'the certificate of the receiver has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the receiver signed its certificate itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'an unknown authority signed the certificate of the receiver',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'an unknown authority signed the certificate of the receiver',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'an unknown authority signed the certificate of the receiver',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the receiver is for another name',
  HPE_HEADER_OVERFLOW: 'the receiver sent too many headers',
};

/** Words for an error; its own text may repeat what the receiver sent. */
function troubleOf(error: unknown): string {
  const code = codeOf(error);
  if (code.startsWith('HPE_')) return troubles[code] ?? 'the receiver answered with no HTTP';
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return 'the receiver speaks no TLS 1.2 or later';
  return troubles[code] ?? `the connection failed (${code === '' ? 'unknown' : code})`;
}

/** The code of the error, or of the first of several attempts. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
