/**
 * Lists of tools that a call waits for. A pinned tool runs only under a definition that the server has listed in this
 * session, and a client may call before it has the answer to tools/list, or keep a list from an earlier session. So a call
 * waits for the lists that were asked for before it; then the proxy asks for one itself.
 * Tested by `test/cli/commands/mcp/early.long.test.ts` and `test/cli/commands/mcp/http.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { limits } from '../../contract/limits.ts';
import type { JsonObject } from '../../core/json/canonical.ts';
import { isObject } from '../../core/json/object.ts';
import { definitionsIn } from '../../core/mcp/definition.ts';
import { looseBounds, type Envelope } from '../../core/mcp/envelope.ts';
import type { Pins, PinState } from './pins.ts';

/** The lists that clients of one server have asked for, and have no answer to. */
export class PendingLists {
  readonly #pending = new Set<Promise<void>>();

  /** Returns what to call when the list has its answer, or can get none. */
  begin(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pending.add(promise);
    return () => {
      this.#pending.delete(promise);
      resolve();
    };
  }

  /** Resolves when the lists that are pending now have their answers. */
  async answered(): Promise<void> {
    await Promise.all(this.#pending);
  }
}

/** What one call can wait for. */
export interface ToolListRequest {
  /** `PendingLists.answered`, as of the arrival of the call. */
  readonly asked: Promise<void>;
  /** Asks the server for its tools, and gives them to the pins. Rejects with the reason, as a sentence about the server. */
  readonly ask: (signal: AbortSignal) => Promise<void>;
}

/** Where a tool stands; `missing` says why the server has not listed it. */
export type ToolState = PinState | { readonly is: 'hidden'; readonly missing: string };

/**
 * Returns where a tool stands, after the lists that it waits for. Waits at most `limits.mcpListSeconds`. Rejects if the pins
 * cannot be read, and when the call is cancelled.
 */
export async function standingAfterLists(
  name: string,
  { pins, listing, signal }: { pins: Pins; listing: ToolListRequest; signal: AbortSignal },
): Promise<ToolState> {
  const before = await pins.standing(name);
  if ('definition' in before) return before;
  const late = AbortSignal.timeout(limits.mcpListSeconds * 1000);
  const stop = AbortSignal.any([signal, late]);
  try {
    await unless(stop, listing.asked);
    const asked = await pins.standing(name);
    if (asked.is !== 'hidden') return asked;
    await unless(stop, listing.ask(stop));
  } catch (cause) {
    signal.throwIfAborted();
    if (late.aborted)
      return { is: 'hidden', missing: `did not answer tools/list within ${limits.mcpListSeconds} s` };
    if (!(cause instanceof ListError)) throw cause;
    return { is: 'hidden', missing: cause.message };
  }
  return pins.standing(name);
}

/** The server gave no list; the message says why, and fits after the name of the server. */
export class ListError extends Error {
  override readonly name = 'ListError';
}

/** Lists all pages. `send` sends one request with these params; `meta` is that of the call, which has the client's revision. */
export async function listTools(
  pins: Pins,
  meta: JsonObject,
  send: (params: JsonObject) => Promise<Envelope>,
): Promise<void> {
  const envelope = Object.entries(meta).filter(([name]) => name.startsWith('io.modelcontextprotocol/'));
  const own = envelope.length === 0 ? {} : { _meta: Object.fromEntries(envelope) };
  const late = AbortSignal.timeout(limits.mcpListSeconds * 1000);
  let cursor: string | undefined;
  do {
    if (late.aborted)
      throw new ListError(`did not end its pages of tools/list within ${limits.mcpListSeconds} s`);
    const answer = await send({ ...own, ...(cursor === undefined ? {} : { cursor }) });
    cursor = takePage(pins, answer);
  } while (cursor !== undefined);
}

/** Returns the cursor of the next page. */
function takePage(pins: Pins, answer: Envelope): string | undefined {
  try {
    if (answer.has('error')) {
      const error = answer.value('error', looseBounds);
      const text = isObject(error) && typeof error['message'] === 'string' ? error['message'] : '';
      throw new ListError(`answered tools/list with an error: ${text.slice(0, limits.actionChars)}`);
    }
    pins.list(definitionsIn(answer));
    const result = answer.value('result', looseBounds);
    const next = isObject(result) ? result['nextCursor'] : undefined;
    return typeof next === 'string' ? next : undefined;
  } catch (fault) {
    if (!(fault instanceof GovError)) throw fault;
    throw new ListError(`answered tools/list with what cannot be read safely: ${fault.message}`);
  }
}

/** Waits for `work`. Rejects when the signal fires before. */
async function unless<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([work, stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
