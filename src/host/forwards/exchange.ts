/**
 * One request over HTTP or HTTPS to a receiver of the operator. Follows no redirect, and bounds times and answer.
 * Proven by `test/host/forwards/http.test.ts`.
 */
import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { limits } from '../../contract/limits.ts';
import { retryAfterMs } from '../../core/retry-after.ts';
import type { TlsPlaces } from './config.ts';
import { secureContextOf } from './secure.ts';
import { failed, type TransportFailure } from './transport.ts';

export interface Answer {
  readonly status: number;
  /** Empty where it broke off. */
  readonly text: string;
  readonly isCut: boolean;
  /** It is longer than the part that was read. */
  readonly isLong: boolean;
  readonly retryAfterMs: number | null;
}

export interface ExchangeRequest {
  readonly method: 'POST' | 'PUT' | 'GET';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Ends the request, and the reading of its answer. */
  readonly signal?: AbortSignal | undefined;
}

export class Exchange {
  readonly #agent: HttpAgent;
  readonly #isEncrypted: boolean;

  constructor(isEncrypted: boolean, tls: TlsPlaces) {
    this.#isEncrypted = isEncrypted;
    const kept = { keepAlive: true, maxSockets: limits.forwardAtOnce };
    this.#agent = isEncrypted
      ? new HttpsAgent({
          ...kept,
          secureContext: secureContextOf(tls),
          ...(tls.serverName === null ? {} : { servername: tls.serverName }),
        })
      : new HttpAgent(kept);
  }

  /** Rejects where no answer came, or half of a refusal. */
  async ask(ask: ExchangeRequest): Promise<Answer> {
    return answerOf(await this.open(ask));
  }

  /** Rejects where no response came. The caller reads its body, within the same time. */
  open({ method, url, headers, body, signal }: ExchangeRequest): Promise<IncomingMessage> {
    const send = this.#isEncrypted ? requestHttps : requestHttp;
    const ms = limits.forwardTimeoutSeconds * 1000;
    return new Promise((resolve, reject) => {
      const options = {
        method,
        headers: { ...headers, 'content-length': body.length },
        agent: this.#agent,
        signal,
      };
      const request = send(url, options, resolve);
      const late = setTimeout(() => request.destroy(new Error(`no answer within ${ms / 1000} s`)), ms);
      request.once('close', () => clearTimeout(late));
      request.once('error', reject);
      request.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** A 2xx whose text breaks off has been received: its batch is not sent again. Rejects for a broken refusal. */
async function answerOf(response: IncomingMessage): Promise<Answer> {
  const { statusCode: status = 0 } = response;
  const read = await bodyWithin(response, limits.forwardAnswerBytes).catch((cause: unknown) => {
    if (status >= 200 && status <= 299) return null;
    throw new Error(`the answer ${status} broke off`, { cause });
  });
  return {
    status,
    text: read?.body.toString('utf8') ?? '',
    isCut: read === null,
    isLong: read?.isWhole === false,
    retryAfterMs: retryAfterOf(response),
  };
}

/** Reads the body to its end, and keeps the chunks of its first `most` bytes. */
export async function bodyWithin(
  response: IncomingMessage,
  most: number,
): Promise<{ readonly body: Buffer; readonly isWhole: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= most) chunks.push(chunk);
  }
  return { body: Buffer.concat(chunks), isWhole: size <= most };
}

/** A date is judged by the clock of the receiver, if it says its time. */
function retryAfterOf({ headers }: IncomingMessage): number | null {
  const receiverMs = Date.parse(headers.date ?? '');
  const nowMs = Number.isNaN(receiverMs) ? Date.now() : receiverMs;
  return retryAfterMs(headers['retry-after'], { nowMs, mostSeconds: limits.forwardRetryAfterSeconds });
}

/** The same bytes will be refused again. */
export const isRefusedContent = (status: number): boolean =>
  status === 400 || status === 413 || status === 422;

/** The status and the start of the text, on one line. */
export function saidIn({ status, text }: Pick<Answer, 'status' | 'text'>): string {
  return `${status} ${text.replaceAll(/\s+/g, ' ').trim().slice(0, 120)}`.trim();
}

/** What a status outside 2xx says. A refused content is final: the batch is split until one record is found. */
export function refusalOf(answer: Answer): TransportFailure {
  const { status, retryAfterMs } = answer;
  return failed(`the receiver answered ${saidIn(answer).replace(' ', ': ')}`, {
    retryAfterMs,
    isRefused: isRefusedContent(status),
  });
}

/** Undefined where the text is not JSON. */
export function readAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The members of a value that a receiver sent; none where it is not an object. */
export const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};
