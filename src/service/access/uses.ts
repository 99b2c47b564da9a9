/**
 * When credentials were used, to the minute (contract M3): collected in memory, since a write per request would double
 * the cost of each, and told to the store once a minute. A crash loses a minute of it. Proven by `test/service/access/uses.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { Use } from '../../store/port/store.ts';
import type { Services } from '../dependencies.ts';

const minuteMs = 60_000;

/** A credential whose uses are collected. */
export interface Counted {
  /** As which the store knows it. */
  readonly as: { readonly projectId: string; readonly keyId: string } | { readonly digest: Uint8Array };
  /** Of its last use that is known, since the epoch. */
  usedMinute: number;
}

export const minuteOf = (atMs: number | null): number => (atMs === null ? -1 : Math.floor(atMs / minuteMs));

export class Uses {
  readonly #used = new Map<string, Use>();

  /** Costs a comparison, but once a minute and credential. `name` tells credentials apart. */
  add(name: string, credential: Counted, nowMs: number): void {
    const minute = minuteOf(nowMs);
    if (credential.usedMinute >= minute) return;
    credential.usedMinute = minute;
    if (this.#used.size >= limits.credentialCacheKeys && !this.#used.has(name)) return;
    this.#used.set(name, { ...credential.as, atMs: minute * minuteMs });
  }

  /** Each credential that was used since the last call, once. */
  take(): Use[] {
    const uses = [...this.#used.values()];
    this.#used.clear();
    return uses;
  }
}

/** The answer tells the store what is left, and ends it. */
export function startReportingUses({
  store,
  credentials,
  log,
}: Pick<Services, 'store' | 'credentials' | 'log'>): () => Promise<void> {
  const report = async (): Promise<void> => {
    const uses = credentials.uses.take();
    if (uses.length === 0) return;
    try {
      await store.used(uses);
    } catch (error) {
      log.warn({ err: error, credentials: uses.length }, 'when credentials were used could not be stored');
    }
  };
  const timer = setInterval(() => void report(), minuteMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await report();
  };
}
