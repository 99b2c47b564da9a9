/**
 * What is derived from the store's own key (32 bytes that outlive restarts): the cursor key and the key of
 * fingerprints (of requests, of events with a clientEventId, of what is redacted), each by HKDF-SHA-256 (RFC 5869)
 * under its own label, so that one cannot be used for the other. Proven by `test/service/call/cursors.test.ts`.
 */
import { createHmac, createSecretKey, hkdfSync } from 'node:crypto';

export interface Secrets {
  readonly cursorKey: Uint8Array;
  /**
   * HMAC-SHA-256 in hex; each use has texts that begin differently. Keyed, so that what is stored does not confirm
   * guesses of the content.
   */
  fingerprint(text: string): string;
}

export function deriveSecrets(storeKey: Uint8Array): Secrets {
  const derive = (label: string): Buffer => Buffer.from(hkdfSync('sha256', storeKey, '', label, 32));
  // made into a key once: from bytes, each HMAC would make it anew, at six times the cost
  const fingerprintKey = createSecretKey(derive('gov.fingerprint/v1'));
  return {
    cursorKey: derive('gov.cursor/v1'),
    fingerprint: (text) => createHmac('sha256', fingerprintKey).update(text).digest('hex'),
  };
}
