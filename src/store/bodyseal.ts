/**
 * Bodies at rest: where a master key is given, each is AES-256-GCM (NIST SP 800-38D) under a key that HKDF-SHA-256
 * (RFC 5869) derives from it, with 96 random bits as nonce, so for at most 2^32 bodies. Kept as `gcm1.` and base64url of
 * nonce, ciphertext, tag. What was recorded before the key was given stays in clear until it is erased. The digests in
 * the records tell altered values; the seal only hides them. Proven by `test/store/sealed.test.ts`.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomFillSync } from 'node:crypto';

export const masterKeyBytes = 32;

export interface BodySeal {
  seal(text: string): string;
  /** Null where it was sealed with another key, or altered. */
  open(stored: string): string | null;
}

const mark = 'gcm1.';
const nonceBytes = 12;
const tagBytes = 16;

export const isSealed = (stored: string): boolean => stored.startsWith(mark);

/** Without a key. */
export const unsealed: BodySeal = {
  seal: (text) => text,
  open: (stored) => (isSealed(stored) ? null : stored),
};

/** Cost: about 18 µs a body of 0.7 KB with what is written more, most of it to begin a cipher. */
export function createBodySeal(masterKey: Uint8Array): BodySeal {
  const key = Buffer.from(hkdfSync('sha256', masterKey, '', 'gov.bodies/v1', masterKeyBytes));
  return {
    seal: (text) => {
      const nonce = randomFillSync(Buffer.allocUnsafe(nonceBytes));
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return mark + sealed.toString('base64url');
    },
    open: (stored) => {
      if (!isSealed(stored)) return stored;
      const bytes = Buffer.from(stored.slice(mark.length), 'base64url');
      if (bytes.length < nonceBytes + tagBytes) return null;
      const nonce = bytes.subarray(0, nonceBytes);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
      decipher.setAuthTag(bytes.subarray(-tagBytes));
      try {
        const text = decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8');
        return text + decipher.final('utf8');
      } catch {
        return null;
      }
    },
  };
}

/** A row with its body opened; what does not open is no list of disclosures. */
export const openedWith = <Row extends { readonly disclosures: string | null }>(
  seal: BodySeal,
  row: Row,
): Row => (row.disclosures === null ? row : { ...row, disclosures: seal.open(row.disclosures) ?? 'sealed' });
