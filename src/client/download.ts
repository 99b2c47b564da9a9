/**
 * Downloads the artifact of an export (contract K8), of any length: what was received is written as it comes, and where
 * the connection breaks the rest is asked for (RFC 9110 §14, If-Range), with the delays of other calls. An attempt that
 * brought bytes counts for nothing, so a line that is cut again and again ends with the whole.
 * `test/client/download.test.ts` cuts one.
 */
import { createHash } from 'node:crypto';
import { limits } from '../contract/limits.ts';
import { table } from '../contract/table.ts';
import { credentialHeaders, pathOf, problemOf, type Client } from './create.ts';
import { type GovApiError, GovNetworkError } from './errors.ts';
import { pause, retryDelayMs } from './retry.ts';
import type { OpenReply } from './transport.ts';
import { version } from './version.ts';

/** Where bytes go. */
export interface DownloadSink {
  /** What is there already, from an earlier download. */
  readonly held: number;
  /** What is held, to be hashed. */
  read(): AsyncIterable<Uint8Array>;
  write(chunk: Uint8Array): Promise<void>;
  /** The artifact is another one: away with what is held. Throws where that cannot be. */
  restart(): Promise<void>;
}

export interface DownloadOptions {
  readonly exportId: string;
  /** `sha256` of the export, `sha256:…`: what is held is continued only of an artifact with this hash. */
  readonly sha256: string;
  /** `sizeBytes` of the export: of an answer that tells no length more is not taken. */
  readonly sizeBytes: number;
  readonly signal?: AbortSignal | undefined;
  /** How many bytes are there by now, and of how many. */
  readonly onProgress?: (received: number, total: number) => void;
}

export interface Downloaded {
  readonly sizeBytes: number;
  /** Of all bytes, those held before too: what the service told with them, which may be a newer artifact than asked for. */
  readonly sha256: string;
}

/**
 * Errors: those of a call; `GovNetworkError` INTEGRITY where the bytes are not those that the service told the hash of,
 * and what `sink` throws. Cost: one SHA-256 of the artifact; memory of one piece of 64 KB.
 */
export async function downloadExport(
  client: Client,
  sink: DownloadSink,
  options: DownloadOptions,
): Promise<Downloaded> {
  const download = new Download(client, sink, options);
  const held = await download.begin();
  if (held !== null) return held;
  for (let attempt = 0; ; attempt += 1) {
    const before = download.received;
    try {
      return await download.attempt();
    } catch (failure) {
      if (download.received > before) attempt = 0;
      const delayMs = retryDelayMs(failure, attempt, Math.random());
      if (delayMs === null || attempt >= (client.options.retries ?? limits.clientRetries)) throw failure;
      const reason = failure instanceof Error ? failure.message : String(failure);
      client.options.observe?.({ kind: 'retry', attempt: attempt + 1, delayMs, reason });
      await pause(delayMs, options.signal ?? client.options.signal);
    }
  }
}

class Download {
  readonly #client: Client;
  readonly #sink: DownloadSink;
  readonly #options: DownloadOptions;
  #hash = createHash('sha256');
  /** What the bytes so far are of. */
  #etag: string;
  received = 0;
  #restarts = 0;

  constructor(client: Client, sink: DownloadSink, options: DownloadOptions) {
    this.#client = client;
    this.#sink = sink;
    this.#options = options;
    this.#etag = `"${hexOf(options.sha256)}"`;
  }

  /** Hashes what is held; not null where that is all. */
  async begin(): Promise<Downloaded | null> {
    if (this.#sink.held === 0) return null;
    for await (const chunk of this.#sink.read()) this.#take(chunk);
    const sha256 = `sha256:${this.#hash.copy().digest('hex')}`;
    return sha256 === this.#options.sha256 ? { sizeBytes: this.received, sha256 } : null;
  }

  /** Asks for what is missing. */
  async attempt(): Promise<Downloaded> {
    const reply = await this.#open();
    let total = totalOf(reply, this.received);
    const isOther = reply.status === 206 && (reply.headers['etag'] ?? this.#etag) !== this.#etag;
    if (total === null || isOther) {
      // what is held is no part of it
      await this.#restart(reply);
      return this.attempt();
    }
    if (reply.status === 200 && this.received > 0) await this.#restart(reply);
    this.#etag = reply.headers['etag'] ?? this.#etag;
    const { onProgress } = this.#options;
    onProgress?.(this.received, total);
    const most = total > 0 ? total : this.#options.sizeBytes;
    for await (const chunk of reply.chunks) {
      if (this.received + chunk.length > most) throw integrity(`${most} bytes`, 'more');
      await this.#sink.write(chunk);
      this.#take(chunk);
      if (this.received > total) total = this.received;
      onProgress?.(this.received, total);
    }
    return this.#whole(reply, total);
  }

  #take(chunk: Uint8Array): void {
    this.#hash.update(chunk);
    this.received += chunk.length;
  }

  async #restart(reply: OpenReply): Promise<void> {
    this.#restarts += 1;
    if (this.received === 0 || this.#restarts > mostRestarts)
      throw integrity('a part of the artifact that can be read', `status ${reply.status}`);
    if (reply.status !== 200) for await (const _chunk of reply.chunks) break;
    await this.#sink.restart();
    this.#hash = createHash('sha256');
    this.received = 0;
  }

  #whole(reply: OpenReply, total: number): Downloaded {
    if (this.received < total) throw cutShort(this.received, total);
    const sha256 = this.#hash.copy().digest();
    const told = reprDigest(reply.headers['repr-digest']);
    if (told !== null && told !== sha256.toString('base64')) {
      throw integrity(`bytes with the SHA-256 ${told} of Repr-Digest`, sha256.toString('base64'));
    }
    const hex = sha256.toString('hex');
    const expected = /^"([0-9a-f]{64})"$/.exec(this.#etag)?.[1] ?? hexOf(this.#options.sha256);
    if (hex !== expected) throw integrity(`bytes with the SHA-256 ${expected}`, hex);
    return { sizeBytes: this.received, sha256: `sha256:${hex}` };
  }

  async #open(): Promise<OpenReply> {
    const { connection, options } = this.#client;
    const row = table.downloadExport;
    const range = this.received === 0 ? {} : { range: `bytes=${this.received}-`, 'if-range': this.#etag };
    const path = pathOf(row, { params: { exportId: this.#options.exportId } });
    options.observe?.({
      kind: 'request',
      method: row.method,
      url: connection.base.origin + connection.fullPath(path),
      bytes: 0,
    });
    const startedAt = process.hrtime.bigint();
    const reply = await connection.stream({
      method: row.method,
      path,
      headers: {
        accept: 'application/json, text/csv, application/problem+json;q=0.9',
        'accept-encoding': 'identity',
        'user-agent': options.userAgent ?? `gov/${version} node/${process.versions.node}`,
        ...credentialHeaders(options),
        ...range,
      },
      body: undefined,
      timeoutMs: options.timeoutMs ?? limits.clientTimeoutSeconds * 1000,
      signal: this.#options.signal ?? options.signal,
    });
    const ms = Number(process.hrtime.bigint() - startedAt) / 1e6;
    const requestId = reply.headers['x-request-id'];
    options.observe?.({ kind: 'response', status: reply.status, ms, requestId });
    const isPart = reply.status === 200 || (range.range !== undefined && [206, 416].includes(reply.status));
    if (!isPart) throw await refusalOf(reply);
    return reply;
  }
}

/** An artifact that changed while it came is asked for from the beginning so often. */
const mostRestarts = 3;

const hexOf = (sha256: string): string => sha256.replace(/^sha256:/, '');

/** How long the artifact is, of an answer that goes on at `from`; null where it does not. */
function totalOf({ status, headers }: OpenReply, from: number): number | null {
  if (status === 200) {
    const length = headers['content-length'];
    // what says no length ends where it ends
    return length !== undefined && /^[0-9]{1,15}$/.test(length) ? Number(length) : 0;
  }
  const [, first, total] =
    /^bytes ([0-9]{1,15})-[0-9]{1,15}\/([0-9]{1,15})$/.exec(headers['content-range'] ?? '') ?? [];
  return status === 206 && Number(first) === from ? Number(total) : null;
}

/** The SHA-256 of a Repr-Digest field (RFC 9530), base64; null where it tells none. */
const reprDigest = (field: string | undefined): string | null =>
  /(?:^|,\s*)sha-256=:([A-Za-z0-9+/]{43}=):/.exec(field ?? '')?.[1] ?? null;

async function refusalOf({ status, headers, chunks }: OpenReply): Promise<GovApiError> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    read.push(chunk);
    size += chunk.length;
    if (size > limits.bodyBytes) break;
  }
  return problemOf({ status, headers, bytes: Buffer.concat(read) });
}

const cutShort = (received: number, total: number): GovNetworkError =>
  new GovNetworkError(
    'ERR_STREAM_PREMATURE_CLOSE',
    `expected ${total} bytes, got ${received} before the end`,
    {
      retryable: true,
    },
  );

const integrity = (expected: string, got: string): GovNetworkError =>
  new GovNetworkError('INTEGRITY', `expected ${expected}, got ${got}`, {
    hint: 'something between here and the service changes what passes; download it again, by another way',
  });
