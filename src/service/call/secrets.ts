/**
 * Keys derived from the store's own key (32 bytes that stay the same across restarts): one for cursors, one
 * for fingerprints of requests, of events with a clientEventId and of redacted values. Each by HKDF-SHA-256
 * (RFC 5869) under its own label, so that neither can replace the other. Proven by
 * `test/service/call/cursors.test.ts`.
 */
import { createHmac, createSecretKey, hkdfSync } from 'node:crypto';

/** Seals texts with a key of the installation. */
export interface Seal {
  seal(text: string): string;
  /** Null for a text that this installation did not seal. */
  open(sealed: string): string | null;
}

export interface Secrets {
  readonly cursorKey: Uint8Array;
  /** The key of the terms of the search index. */
  readonly searchKey: Uint8Array;
  /**
   * HMAC-SHA-256 in hex. The texts of each use start differently. With a key, stored fingerprints do not
   * confirm guesses of the content.
   */
  fingerprint(text: string): string;
  /** The same of a long text, part by part. */
  fingerprinting(): FingerprintHasher;
}

export interface FingerprintHasher {
  add(part: string): void;
  finish(): string;
}

export function deriveSecrets(storeKey: Uint8Array): Secrets {
  const derive = (label: string): Buffer => Buffer.from(hkdfSync('sha256', storeKey, '', label, 32));
  // a key object is built once; from bytes, each HMAC would build its own, at six times the cost
  const fingerprintKey = createSecretKey(derive('gov.fingerprint/v1'));
  return {
    cursorKey: derive('gov.cursor/v1'),
    searchKey: derive('gov.search/v1'),
    fingerprint: (text) => createHmac('sha256', fingerprintKey).update(text).digest('hex'),
    fingerprinting: () => {
      const hmac = createHmac('sha256', fingerprintKey);
      return { add: (part) => void hmac.update(part), finish: () => hmac.digest('hex') };
    },
  };
}
