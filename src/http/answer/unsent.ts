/**
 * Bounds the answers that clients have not read yet. Bytes that the system does not take at once stay in
 * memory until the client reads them, so each caller, each organization and the process has a limit. A caller
 * over its limit gets no further answers; all others do. The server cuts a connection that takes nothing for
 * `limits.unsentStallSeconds`, or less than `limits.unsentBytesPerSecond` on average. An answer that the
 * system takes at once, as nearly all are, costs one comparison. Proven by
 * `test/http/answer/unsent.long.test.ts`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { Caller } from '../../service/call/caller.ts';

/** Limits of unread bytes. */
interface UnsentBounds {
  readonly callerBytes: number;
  readonly organizationBytes: number;
  readonly bytes: number;
}

interface UnsentOptions {
  /** The address of a client without a credential. */
  readonly addressOf: (request: IncomingMessage) => string;
  /** Whether the process serves several organizations. */
  readonly isHosted: boolean;
  readonly bounds: UnsentBounds;
  /** Default: `limits.unsentStallSeconds`. */
  readonly stallSeconds?: number | undefined;
}

/** The unread bytes of one caller or one organization. */
interface Account {
  readonly name: string;
  readonly called: string;
  readonly most: number;
}

interface Requester {
  readonly caller: Caller | null;
  readonly raw: IncomingMessage;
}

/** The limits for a process that may use `memoryBytes` of memory. */
export function unsentBounds(memoryBytes: number): UnsentBounds {
  const bytes = Math.min(limits.unsentBytes, memoryBytes / 4);
  return {
    bytes,
    organizationBytes: Math.min(limits.unsentBytesPerOrganization, bytes / 2),
    callerBytes: Math.min(limits.unsentBytesPerCaller, bytes / 8),
  };
}

export class UnsentBytes {
  readonly #options: UnsentOptions;
  readonly #stallMs: number;
  readonly #waiting = new Map<string, number>();
  #bytes = 0;

  constructor(options: UnsentOptions) {
    this.#options = options;
    this.#stallMs = (options.stallSeconds ?? limits.unsentStallSeconds) * 1000;
  }

  /**
   * OVERLOADED where too many bytes of earlier answers wait for this caller. Costs nothing where none wait.
   */
  check(request: Requester): void {
    if (this.#bytes === 0) return;
    let own = 0;
    for (const { name, called, most } of this.#accountsOf(request)) {
      const waiting = this.#waiting.get(name) ?? 0;
      if (waiting > most) throw unread(`${waiting} bytes of answers to ${called} wait, at most ${most} may`);
      own += waiting;
    }
    const { bytes } = this.#options.bounds;
    if (this.#bytes <= bytes || own === 0) return;
    throw unread(`${this.#bytes} bytes of answers wait in all, at most ${bytes} may, and some are to you`);
  }

  /** Counts an answer until the client has read it or its connection ends. */
  hold(request: Requester, response: ServerResponse, body: string | Uint8Array): void {
    if (response.destroyed) return;
    const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
    const accounts = this.#accountsOf(request);
    this.#add(accounts, bytes);
    this.#hurry(request, response, { bytes, ended: () => this.#add(accounts, -bytes) });
  }

  /** Counts like `hold`, for a streamed answer of which `held` bytes are in memory at a time. */
  holdStream(
    request: Requester,
    response: ServerResponse,
    { bytes, held }: { bytes: number; held: number },
  ): void {
    const accounts = this.#accountsOf(request);
    this.#add(accounts, held);
    this.#hurry(request, response, { bytes, ended: () => this.#add(accounts, -held) });
  }

  #hurry(
    request: Requester,
    response: ServerResponse,
    { bytes, ended }: { bytes: number; ended: () => void },
  ): void {
    const { socket } = request.raw;
    const patienceMs = socket.timeout;
    socket.setTimeout(this.#stallMs);
    const wholeMs = this.#stallMs + (bytes * 1000) / limits.unsentBytesPerSecond;
    const late = setTimeout(() => socket.destroy(), wholeMs).unref();
    response.once('close', () => {
      clearTimeout(late);
      ended();
      // else Node would apply the timeout of an idle connection
      if (socket.timeout === this.#stallMs) socket.setTimeout(patienceMs ?? 0);
    });
  }

  #add(accounts: readonly Account[], bytes: number): void {
    this.#bytes += bytes;
    for (const { name } of accounts) {
      const waiting = (this.#waiting.get(name) ?? 0) + bytes;
      if (waiting === 0) this.#waiting.delete(name);
      else this.#waiting.set(name, waiting);
    }
  }

  #accountsOf({ caller, raw }: Requester): Account[] {
    const { addressOf, isHosted, bounds } = this.#options;
    const most = bounds.callerBytes;
    if (caller === null) return [{ name: addressOf(raw), called: 'your address', most }];
    const own = { name: caller.id, called: 'you', most };
    if (!isHosted) return [own];
    const { organizationId } = caller.project;
    return [own, { name: organizationId, called: 'your organization', most: bounds.organizationBytes }];
  }
}

const unread = (found: string): GovError =>
  new GovError(
    'OVERLOADED',
    `expected earlier answers to be read: ${found}; read them, or end their connections, then repeat`,
    { retryAfterSeconds: limits.overloadRetrySeconds },
  );
