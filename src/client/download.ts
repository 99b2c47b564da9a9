/**
 * Downloads the artifact of an export or a report, of any length (contract K8). It writes bytes as they arrive. After a broken
 * connection it asks for the rest (RFC 9110 section 14, If-Range), with the delays of other calls. An attempt that
 * brought bytes does not count, so a line that breaks repeatedly still completes the download.
 * Tested by `test/client/download.test.ts`.
 */
import { createHash } from 'node:crypto';
import { limits } from '../contract/limits.ts';
import { table } from '../contract/table.ts';
import type { Client, UncheckedInput } from './create.ts';
import { GovNetworkError } from './errors.ts';
import { openReply } from './open.ts';
import { pause, retryDelayMs } from './retry.ts';
import type { OpenReply } from './transport.ts';

/** The destination of the bytes. */
export interface DownloadSink {
  /** Bytes kept from an earlier download. */
  readonly held: number;
  /** Reads the kept bytes, for the hash. */
  read(): AsyncIterable<Uint8Array>;
  write(chunk: Uint8Array): Promise<void>;
  /** Discards the kept bytes, because the artifact has changed. Throws if it cannot. */
  restart(): Promise<void>;
}

interface Common {
  /** SHA-256 of the file, `sha256:…`. Kept bytes are continued only from an artifact with this hash. */
  readonly sha256: string;
  /** Bytes of the file: the limit for a response without a length. */
  readonly sizeBytes: number;
  readonly signal?: AbortSignal | undefined;
  /** Receives the bytes so far, and the total. */
  readonly onProgress?: (received: number, total: number) => void;
}

export interface DownloadOptions extends Common {
  readonly exportId: string;
}

interface FileOptions extends Common {
  /** The operation that answers with the file, and its input. */
  readonly from: {
    readonly operation: 'downloadExport' | 'downloadReport';
    readonly input: UncheckedInput;
  };
}

export interface DownloadResult {
  readonly sizeBytes: number;
  /**
   * Hash of all bytes, including kept ones, as the service sent it. The artifact may be newer than the one asked for.
   */
  readonly sha256: string;
}

/**
 * Errors: those of a call; `GovNetworkError` INTEGRITY if the bytes do not match the service's hash; any error of `sink`.
 * Cost: one SHA-256 of the artifact; memory for one piece of 64 KB.
 */
export const downloadExport = (
  client: Client,
  sink: DownloadSink,
  { exportId, ...options }: DownloadOptions,
): Promise<DownloadResult> =>
  downloadFile(client, sink, {
    ...options,
    from: { operation: 'downloadExport', input: { params: { exportId } } },
  });

/** The same for the artifact of any operation that answers with ranges. */
export async function downloadFile(
  client: Client,
  sink: DownloadSink,
  options: FileOptions,
): Promise<DownloadResult> {
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
  readonly #options: FileOptions;
  #hash = createHash('sha256');
  /** Identifies the artifact that the bytes so far belong to. */
  #etag: string;
  received = 0;
  #restarts = 0;

  constructor(client: Client, sink: DownloadSink, options: FileOptions) {
    this.#client = client;
    this.#sink = sink;
    this.#options = options;
    this.#etag = `"${hexOf(options.sha256)}"`;
  }

  /** Hashes the kept bytes. Returns a result if they are already complete, else null. */
  async begin(): Promise<DownloadResult | null> {
    if (this.#sink.held === 0) return null;
    for await (const chunk of this.#sink.read()) this.#take(chunk);
    const sha256 = `sha256:${this.#hash.copy().digest('hex')}`;
    return sha256 === this.#options.sha256 ? { sizeBytes: this.received, sha256 } : null;
  }

  /** Asks for the missing bytes. */
  async attempt(): Promise<DownloadResult> {
    const reply = await this.#open();
    let total = totalOf(reply, this.received);
    const isOther = reply.status === 206 && (reply.headers['etag'] ?? this.#etag) !== this.#etag;
    if (total === null || isOther) {
      // the kept bytes are not part of this artifact
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
      throw integrity('a readable part of the artifact', `status ${reply.status}`);
    if (reply.status !== 200) for await (const _chunk of reply.chunks) break;
    await this.#sink.restart();
    this.#hash = createHash('sha256');
    this.received = 0;
  }

  #whole(reply: OpenReply, total: number): DownloadResult {
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

  #open(): Promise<OpenReply> {
    const range = this.received === 0 ? {} : { range: `bytes=${this.received}-`, 'if-range': this.#etag };
    const { operation, input } = this.#options.from;
    return openReply(this.#client, table[operation], {
      input,
      headers: { accept: '*/*, application/problem+json;q=0.9', ...range },
      accepted: this.received === 0 ? [200] : [200, 206, 416],
      signal: this.#options.signal,
    });
  }
}

/** Restarts from the beginning after an artifact that changed during the download, at most this many times. */
const mostRestarts = 3;

const hexOf = (sha256: string): string => sha256.replace(/^sha256:/, '');

/** Returns the artifact's total length if the response continues at `from`; null if it does not. */
function totalOf({ status, headers }: OpenReply, from: number): number | null {
  if (status === 200) {
    const length = headers['content-length'];
    // a response without a length ends when the connection ends
    return length !== undefined && /^[0-9]{1,15}$/.test(length) ? Number(length) : 0;
  }
  const [, first, total] =
    /^bytes ([0-9]{1,15})-[0-9]{1,15}\/([0-9]{1,15})$/.exec(headers['content-range'] ?? '') ?? [];
  return status === 206 && Number(first) === from ? Number(total) : null;
}

/** Returns the SHA-256 of a Repr-Digest field (RFC 9530) in base64; null if it has none. */
const reprDigest = (field: string | undefined): string | null =>
  /(?:^|,\s*)sha-256=:([A-Za-z0-9+/]{43}=):/.exec(field ?? '')?.[1] ?? null;

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
    hint: 'a proxy or network device changes the bytes; download again over another route',
  });
