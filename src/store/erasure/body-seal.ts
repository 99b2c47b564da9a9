/**
 * Bodies at rest: where a master key is given, each is AES-256-GCM (NIST SP 800-38D) under a key that HKDF-SHA-256
 * (RFC 5869) derives from it, with 96 random bits as nonce, so for at most 2^32 bodies. Kept as `gcm1.` and base64url of
 * nonce, ciphertext, tag. A body about subjects is kept as `gcm2.`: its key is derived from the secrets of their keys
 * too (`subject-keys.ts`), so that it opens only as long as none of them is destroyed. What was recorded before the master
 * key was given stays in clear until it is erased. The digests in the records tell altered values; the seal only hides
 * them. Proven by `test/store/sqlite/sealed.alone.test.ts` and `test/store/erasure/subject-keys.test.ts`.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomFillSync } from 'node:crypto';
import { GovError } from '../../contract/problems.ts';
import { idsText, type SubjectKey } from './subject-keys.ts';

export const masterKeyBytes = 32;

/** `sealed`: what it is. */
export const otherMasterKey = (sealed: string, got: 'none' | 'another one'): GovError =>
  new GovError(
    'STORAGE_FAULT',
    `expected the master key that ${sealed} is sealed with, got ${got}; give the master key in GOV_MASTER_KEY_FILE, ` +
      'GOV_MASTER_KEY or the systemd credential master-key',
  );

export interface BodySeal {
  /** Without a master key nothing is sealed, and subjects have no keys. */
  readonly seals: boolean;
  /** `keys`: of the subjects that it is about, in the order of their ids. */
  seal(text: string, keys?: readonly SubjectKey[]): string;
  /** Null where it was sealed with another key, or altered. */
  open(stored: string, keys?: readonly SubjectKey[]): string | null;
  /** Drops what was derived from keys of subjects. */
  forget(): void;
}

const mark = 'gcm1.';
const subjectMark = 'gcm2.';
const nonceBytes = 12;
const tagBytes = 16;
/** Derived keys that are held: to derive one costs 8 µs. */
const heldKeys = 4096;

export const isSealed = (stored: string): boolean => stored.startsWith(mark) || isOfSubjects(stored);
const isOfSubjects = (stored: string): boolean => stored.startsWith(subjectMark);

/** Without a key. */
export const unsealed: BodySeal = {
  seals: false,
  seal: (text) => text,
  open: (stored) => (isSealed(stored) ? null : stored),
  forget: () => {},
};

/** Cost: about 18 µs a body of 0.7 KB with what is written more, most of it to begin a cipher. */
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

/** What became of a body that is read. */
export type Opened =
  | { readonly text: string }
  /** A key that it is sealed with is destroyed, or lost: nothing of it is left. */
  | 'gone'
  /** It was sealed with another master key, or altered. */
  | 'closed';

/** A body as it is stored. */
export interface StoredBody {
  readonly disclosures: string;
  /** Ids of the keys of subjects that it is sealed with (`idsText`); null where there are none. */
  readonly keys: string | null;
}

/** `keys`: those that the body names, as far as they are there. */
export function openBody(seal: BodySeal, stored: StoredBody, keys: readonly SubjectKey[]): Opened {
  const isWhole = stored.keys === null ? keys.length === 0 : idsText(keys) === stored.keys;
  if (seal.seals && stored.keys !== null && isSealed(stored.disclosures) && !isWhole) return 'gone';
  const text = seal.open(stored.disclosures, keys);
  return text === null ? 'closed' : { text };
}

/** What stands for a body that is altered: no list of disclosures. */
export const closedBody = 'sealed';
