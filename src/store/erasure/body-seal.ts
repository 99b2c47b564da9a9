/**
 * Encryption of bodies at rest under the master key: AES-256-GCM (NIST SP 800-38D).
 * HKDF-SHA-256 (RFC 5869) derives the key from the master key. The nonce is 96 random bits, which is safe for
 * at most 2^32 bodies. The stored text is `gcm1.` and base64url of nonce, ciphertext and tag.
 * A body about subjects is stored as `gcm2.`. Its key also depends on the secrets of the subjects' keys
 * (`subject-keys.ts`). It opens only while none of them is destroyed.
 * Bodies recorded before the first use of a master key stay in clear until they are erased. The seal only
 * hides values; the digests in the records detect altered ones.
 * Proven by `test/store/sqlite/sealed.long.test.ts` and `test/store/erasure/subject-keys.test.ts`.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomFillSync } from 'node:crypto';
import { GovError } from '../../contract/problems.ts';
import { idsText, type SubjectKey } from './subject-keys.ts';

export const masterKeyBytes = 32;

/** `sealed` names the sealed thing in the message. */
export const otherMasterKey = (sealed: string, got: 'none' | 'another one'): GovError =>
  new GovError(
    'STORAGE_FAULT',
    `expected the master key that ${sealed} is sealed with, got ${got}; give the master key in GOV_MASTER_KEY_FILE, ` +
      'GOV_MASTER_KEY or the systemd credential master-key',
  );

export interface BodySeal {
  /** Without a master key nothing is sealed, and subjects have no keys. */
  readonly seals: boolean;
  /** `keys`: those of the body's subjects, in the order of their ids. */
  seal(text: string, keys?: readonly SubjectKey[]): string;
  /** Null if the body was sealed with another key or is altered. */
  open(stored: string, keys?: readonly SubjectKey[]): string | null;
  /** Drops the keys that were derived from keys of subjects. */
  forget(): void;
}

const mark = 'gcm1.';
const subjectMark = 'gcm2.';
const nonceBytes = 12;
const tagBytes = 16;
/** Most derived keys kept in memory. Deriving one costs 8 µs. */
const heldKeys = 4096;

export const isSealed = (stored: string): boolean => stored.startsWith(mark) || isOfSubjects(stored);
const isOfSubjects = (stored: string): boolean => stored.startsWith(subjectMark);

/** The seal without a master key. */
export const unsealed: BodySeal = {
  seals: false,
  seal: (text) => text,
  open: (stored) => (isSealed(stored) ? null : stored),
  forget: () => {},
};

/**
 * Cost: about 18 µs for a body of 0.7 KB, including the extra bytes written. Most of it starts the cipher.
 */
export function createBodySeal(masterKey: Uint8Array): BodySeal {
  const key = derived(masterKey, 'gov.bodies/v1');
  const ofSubjects = derived(masterKey, 'gov.subjectbodies/v1');
  const held = new Map<string, Buffer>();
  const keyOf = (ids: string, keys: readonly SubjectKey[]): Buffer => {
    let found = held.get(ids);
    if (found === undefined) {
      if (held.size >= heldKeys) held.clear();
      const secrets = Buffer.concat([ofSubjects, ...keys.map(({ secret }) => secret)]);
      held.set(ids, (found = derived(secrets, `gov.subjectbody/v1\n${ids}`)));
    }
    return found;
  };
  return {
    seals: true,
    seal: (text, keys = []) => {
      if (keys.length === 0) return mark + encrypted(key, text);
      return subjectMark + encrypted(keyOf(idsText(keys), keys), text);
    },
    open: (stored, keys = []) => {
      if (!isSealed(stored)) return stored;
      if (isOfSubjects(stored) !== keys.length > 0) return null;
      const with_ = keys.length === 0 ? key : keyOf(idsText(keys), keys);
      return decrypted(with_, Buffer.from(stored.slice(mark.length), 'base64url'));
    },
    forget: () => held.clear(),
  };
}

const derived = (key: Uint8Array, info: string): Buffer =>
  Buffer.from(hkdfSync('sha256', key, '', info, masterKeyBytes));

function encrypted(key: Buffer, text: string): string {
  const nonce = randomFillSync(Buffer.allocUnsafe(nonceBytes));
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return sealed.toString('base64url');
}

function decrypted(key: Buffer, bytes: Buffer): string | null {
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
}

/** The result of opening a body. */
export type OpenedBody =
  | { readonly text: string }
  /** A key that seals it is destroyed or lost: nothing of it is left. */
  | 'gone'
  /** It was sealed with another master key, or altered. */
  | 'closed';

/** A body in its stored form. */
export interface StoredBody {
  readonly disclosures: string;
  /** Ids of the subject keys that seal it (`idsText`), or null. */
  readonly keys: string | null;
}

/** `keys`: the present ones of the keys that the body names. */
export function openBody(seal: BodySeal, stored: StoredBody, keys: readonly SubjectKey[]): OpenedBody {
  const isWhole = stored.keys === null ? keys.length === 0 : idsText(keys) === stored.keys;
  if (seal.seals && stored.keys !== null && isSealed(stored.disclosures) && !isWhole) return 'gone';
  const text = seal.open(stored.disclosures, keys);
  return text === null ? 'closed' : { text };
}

/** The text in place of an altered body. It is not a list of disclosures. */
export const closedBody = 'sealed';
