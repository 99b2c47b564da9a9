/**
 * Collects when credentials were used, to the minute (contract M3). `src/service/access/report-uses.ts` stores them once a
 * minute, because a write for each request would double its cost. A crash loses a minute of uses. Proven by
 * `test/service/credentials/uses.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { Use } from '../../store/port/store.ts';

const minuteMs = 60_000;

/** A credential whose uses are collected. */
export interface UsedCredential {
  /** The credential's name in the store. */
  readonly as: { readonly projectId: string; readonly keyId: string } | { readonly digest: Uint8Array };
  /** The minute since the epoch of its last known use. */
  usedMinute: number;
}

export const minuteOf = (atMs: number | null): number => (atMs === null ? -1 : Math.floor(atMs / minuteMs));

export class Uses {
  readonly #used = new Map<string, Use>();

  /** Records a use; usually costs one comparison. `name` identifies the credential. */
  add(name: string, credential: UsedCredential, nowMs: number): void {
    const minute = minuteOf(nowMs);
    if (credential.usedMinute >= minute) return;
    credential.usedMinute = minute;
    if (this.#used.size >= limits.credentialCacheKeys && !this.#used.has(name)) return;
    this.#used.set(name, { ...credential.as, atMs: minute * minuteMs });
  }

  /** Each credential used since the last call, once. */
  take(): Use[] {
    const uses = [...this.#used.values()];
    this.#used.clear();
    return uses;
  }
}
