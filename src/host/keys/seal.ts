/** Seals texts that are stored and hold secrets, such as kept answers. Proven by `test/host/service/hosting.test.ts`. */
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { Seal } from '../../service/call/secrets.ts';

const ivBytes = 12;
const tagBytes = 16;

/**
 * AES-256-GCM with a key that HKDF-SHA-256 (RFC 5869) derives from the store key. The result is iv, ciphertext
 * and tag, base64url.
 */
export function createSeal(storeKey: Uint8Array, random: (size: number) => Uint8Array): Seal {
  const key = Buffer.from(hkdfSync('sha256', storeKey, '', 'gov.seal/v1', 32));
  return {
    seal: (text) => {
      const iv = random(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', key, iv);
      return Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString(
        'base64url',
      );
    },
    open: (sealed) => {
      const bytes = Buffer.from(sealed, 'base64url');
      if (bytes.length < ivBytes + tagBytes) return null;
      const iv = bytes.subarray(0, ivBytes);
      const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes });
      decipher.setAuthTag(bytes.subarray(-tagBytes));
      try {
        return (
          decipher.update(bytes.subarray(ivBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
        );
      } catch {
        return null;
      }
    },
  };
}
