/**
 * Answers that wait to be read (reliability P7). What the system does not take at once stays in memory until its client
 * reads it, so each caller, each organization and the process may have only so much of it: whoever is over the bound
 * gets no further answers, and everybody else goes on. A connection that takes nothing for `limits.unsentStallSeconds`,
 * or less than `limits.unsentBytesPerSecond` on the whole, is cut. Answers that are taken at once, as nearly all are,
 * cost a look at one number. Proven by `test/http/answer/unsent.alone.test.ts`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { Caller } from '../../service/call/handler.ts';

/** How many bytes may wait. */
export interface UnsentBounds {
  readonly callerBytes: number;
  readonly organizationBytes: number;
  readonly bytes: number;
}

interface UnsentOptions {
  /** Of a client without a credential. */
  readonly addressOf: (request: IncomingMessage) => string;
  /** Whether there are organizations beside each other. */
  readonly isHosted: boolean;
  readonly bounds: UnsentBounds;
  /** `limits.unsentStallSeconds` where absent. */
  readonly stallSeconds?: number | undefined;
}

/** Whose answers are counted together. */
interface Account {
  readonly name: string;
  readonly called: string;
  readonly most: number;
}

interface Asked {
  readonly caller: Caller | null;
  readonly raw: IncomingMessage;
}

/** The bounds of a process that may use so much memory. */
export function unsentBounds(memoryBytes: number): UnsentBounds {
  const bytes = Math.min(limits.unsentBytes, memoryBytes / 4);
  return {
    bytes,
    organizationBytes: Math.min(limits.unsentBytesPerOrganization, bytes / 2),
    callerBytes: Math.min(limits.unsentBytesPerCaller, bytes / 8),
  };
}

export class Unsent {
  readonly #options: UnsentOptions;
  readonly #stallMs: number;
  readonly #waiting = new Map<string, number>();
  #bytes = 0;

  constructor(options: UnsentOptions) {
    this.#options = options;
    this.#stallMs = (options.stallSeconds ?? limits.unsentStallSeconds) * 1000;
  }

  /** OVERLOADED where too much waits of what the caller asked for before. Costs nothing where nothing waits. */
  check(request: Asked): void {
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

  /** Counts an answer that was written to a response until it is read, or its connection ends. */
  hold(request: Asked, response: ServerResponse, body: string | Uint8Array): void {
    if (response.destroyed) return;
    const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
    const accounts = this.#accountsOf(request);
    this.#add(accounts, bytes);
    this.#hurry(request, response, { bytes, ended: () => this.#add(accounts, -bytes) });
  }

  /**
   * As `hold` for an answer of so many bytes of which `held` are in memory at a time.
   */
  holdStream(
    request: Asked,
    response: ServerResponse,
    { bytes, held }: { bytes: number; held: number },
  ): void {
    const accounts = this.#accountsOf(request);
    this.#add(accounts, held);
    this.#hurry(request, response, { bytes, ended: () => this.#add(accounts, -held) });
  }

  #hurry(
    request: Asked,
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
      // else Node gave it the time of a connection that waits for its next request
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

  #accountsOf({ caller, raw }: Asked): Account[] {
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
