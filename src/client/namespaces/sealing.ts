/**
 * Values of the namespace `secrets`: each is sealed by AES-256-GCM under a key of the caller, and named by a fingerprint,
 * HMAC-SHA-256 under another key, so that equal values show and guessed ones do not. The additional data of GCM is the
 * record's id and the member's name, so that no value can be moved. Tested by `test/client/namespaces/sealing.test.ts`.
 */
import { GovConflictError } from '../answers.ts';

/** A value as it is stored. */
export interface SealedValue {
  readonly fingerprint: string;
  /** Base64 of the nonce of 12 bytes, the ciphertext and the tag. */
  readonly sealed: string;
}

/** What the operations return instead of a value. */
export interface RedactedValue {
  readonly redacted: true;
  /** 32 hex digits; equal for equal values under one key. */
  readonly fingerprint: string;
}

/** Where a value is. */
export interface FieldAddress {
  readonly id: string;
  readonly name: string;
}

const utf8 = new TextEncoder();
const nonceBytes = 12;

/** Node and browsers each declare a type of their own. */
type SecretKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

export class ValueSealer {
  readonly #cipher: Promise<SecretKey>;
  readonly #mac: Promise<SecretKey>;

  /** `key`: 32 bytes. */
  constructor(key: Uint8Array) {
    this.#cipher = derived(key, 'seal', { name: 'AES-GCM', length: 256 });
    this.#mac = derived(key, 'fingerprint', { name: 'HMAC', hash: 'SHA-256', length: 256 });
  }

  /** `value` is JSON text. */
  async seal(value: string, place: FieldAddress): Promise<SealedValue> {
    const iv = crypto.getRandomValues(new Uint8Array(nonceBytes));
    const algorithm = { name: 'AES-GCM', iv, additionalData: boundTo(place) };
    const text = await crypto.subtle.encrypt(algorithm, await this.#cipher, utf8.encode(value));
    const mac = await crypto.subtle.sign('HMAC', await this.#mac, utf8.encode(value));
    return {
      fingerprint: new Uint8Array(mac).subarray(0, 16).reduce((hex, byte) => hex + hexOf(byte), ''),
      sealed: base64Of(Uint8Array.from([...iv, ...new Uint8Array(text)])),
    };
  }

  /** Returns the JSON text. Throws `GovConflictError` if another key sealed it, or its file was changed. */
  async open({ sealed }: SealedValue, place: FieldAddress): Promise<string> {
    const bytes = Uint8Array.from(atob(sealed), (letter) => letter.charCodeAt(0));
    const iv = bytes.subarray(0, nonceBytes);
    const algorithm = { name: 'AES-GCM', iv, additionalData: boundTo(place) };
    try {
      const text = await crypto.subtle.decrypt(algorithm, await this.#cipher, bytes.subarray(nonceBytes));
      return new TextDecoder().decode(text);
    } catch (cause) {
      const detail = `expected the key that sealed ${place.name} of ${place.id}, got another one`;
      const error = new GovConflictError(
        409,
        { title: 'The secret does not open', code: 'CONFLICT', detail },
        {},
      );
      error.cause = cause;
      throw error;
    }
  }
}

const boundTo = ({ id, name }: FieldAddress): Uint8Array<ArrayBuffer> =>
  utf8.encode(JSON.stringify(['gov.secret/1', id, name]));

/** A key of its own for each use (HKDF, RFC 5869). */
async function derived(
  key: Uint8Array,
  use: string,
  algorithm: { readonly name: string; readonly length: number; readonly hash?: string },
): Promise<SecretKey> {
  const { subtle } = crypto;
  const base = await subtle.importKey('raw', Uint8Array.from(key), 'HKDF', false, ['deriveKey']);
  const info = utf8.encode(`gov.namespaces/1 ${use}`);
  const hkdf = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(32), info };
  const usages: ('sign' | 'encrypt' | 'decrypt')[] = use === 'seal' ? ['encrypt', 'decrypt'] : ['sign'];
  return subtle.deriveKey(hkdf, base, algorithm, false, usages);
}

const hexOf = (byte: number): string => byte.toString(16).padStart(2, '0');

function base64Of(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}
