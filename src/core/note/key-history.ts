/**
 * The signing keys of a log, as the log records them: its first leaf (`gov.genesis/1`) has the first keys, and
 * `gov.key/1` leaves add and retire keys (`docs/how-to/rotate-keys.md`). Each such leaf has a note over its change, signed by an
 * Ed25519 key in force and, for an addition, by each added Ed25519 key. So neither write access to the database nor a new
 * key alone can add a key. Keys that the leaves below n put in force sign a checkpoint of n leaves. Retired keys stay in
 * the history, because old proofs need them.
 * Proven by `test/core/note/key-history.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { readJson, type JsonObject } from '../json/parse.ts';
import { openNote, signNote, type NoteSigner } from './signed.ts';
import { parseVerifierKey, type VerifierKey } from './key.ts';

export interface KeyChange {
  readonly change: 'add' | 'retire';
  /** Verifier key texts. */
  readonly keys: readonly string[];
}

/** Keys that one leaf added. */
export interface KeyGroup {
  readonly keys: readonly VerifierKey[];
  /** Index of the leaf that added them; they sign checkpoints of more leaves. */
  readonly from: number;
  /** Index of the leaf that retired them; null while they are in force. */
  readonly until: number | null;
}

/** Returns the signed text of a change at the leaf `index` of a log. */
export const keyChangeText = (origin: string, index: number, { change, keys }: KeyChange): string =>
  ['gov.key/1', origin, `${index}`, ...keys.map((key) => `${change} ${key}`), ''].join('\n');

/** Returns the fields of a `gov.key/1` leaf. `signers`: Ed25519, a key in force and each added key. */
export function keyLeafFields(
  origin: string,
  index: number,
  { change, keys, signers }: KeyChange & { readonly signers: readonly NoteSigner[] },
): JsonObject {
  const note = signNote(keyChangeText(origin, index, { change, keys }), signers);
  return change === 'add' ? { add: [...keys], note } : { retire: [...keys], note };
}

export class KeyHistory {
  readonly origin: string;
  #groups: KeyGroup[];

  /** Throws VALIDATION_ERROR if the record is not a first leaf with keys. */
  constructor(genesis: string) {
    const { type, origin, keys } = objectOf(genesis);
    const texts = textsOf(keys);
    if (type !== 'gov.genesis/1' || typeof origin !== 'string' || texts === null || texts.length === 0) {
      throw malformed('a first leaf gov.genesis/1 with the keys of the log');
    }
    this.origin = origin;
    this.#groups = [{ keys: texts.map((text) => keyOf(text, origin)), from: 0, until: null }];
  }

  get groups(): readonly KeyGroup[] {
    return this.#groups;
  }

  /** Keys that sign the next checkpoint, oldest first. */
  get inForce(): readonly VerifierKey[] {
    return this.#groups.flatMap(({ keys, until }) => (until === null ? keys : []));
  }

  get retired(): readonly VerifierKey[] {
    return this.#groups.flatMap(({ keys, until }) => (until === null ? [] : keys));
  }

  /**
   * Returns whether the owner of the log may have signed a head of `size` leaves that this log lacks with this public key
   * (32 bytes). A key in force may sign any size, since another history may have added it earlier. A retired key may sign
   * only sizes for which it was in force, since other parties may have it now.
   */
  couldSign(publicKey: Buffer, size: number): boolean {
    return this.#groups.some(
      ({ keys, from, until }) =>
        (until === null || (from < size && size <= until)) &&
        keys.some((key) => key.publicKey.equals(publicKey)),
    );
  }

  /** Returns whether a record may be a key change, by a text search. */
  static concerns(record: string): boolean {
    return record.includes('"gov.key/1"');
  }

  /**
   * Applies the key change in a record; ignores other records. Throws VALIDATION_ERROR for an invalid change and leaves the
   * history unchanged. Anyone with write access to the database controls the record.
   */
  read(index: number, record: string): void {
    const { type, add, retire, note } = objectOf(record);
    if (type !== 'gov.key/1') return;
    const change = add === undefined ? 'retire' : 'add';
    const texts = textsOf(change === 'add' ? add : retire);
    if (texts === null || texts.length === 0 || typeof note !== 'string') {
      throw malformed('keys that are added or retired, and a note');
    }
    const text = keyChangeText(this.origin, index, { change, keys: texts });
    if (change === 'add') this.#add(index, texts, { text, note });
    else this.#retire(index, texts, { text, note });
  }

  #add(index: number, texts: readonly string[], signed: SignedText): void {
    const keys = texts.map((text) => keyOf(text, this.origin));
    const known = new Set(this.#groups.flatMap((group) => group.keys.map(identity)));
    if (known.size + keys.length > limits.trustKeys) throw malformed(`at most ${limits.trustKeys} keys`);
    if (keys.some((key) => known.has(identity(key)))) throw malformed('keys that are new to the log');
    const fresh = keys.filter(isEd25519);
    if (fresh.length === 0) throw malformed('an Ed25519 key among the added keys');
    assertSigned(signed, this.inForce.filter(isEd25519), 'one');
    assertSigned(signed, fresh, 'all');
    this.#groups.push({ keys, from: index, until: null });
  }

  #retire(index: number, texts: readonly string[], signed: SignedText): void {
    const group = this.#groups.find(
      ({ keys, until }) => until === null && keys.map(({ text }) => text).join() === texts.join(),
    );
    if (group === undefined) throw malformed('keys in force that one leaf added');
    const left = this.inForce.filter((key) => !group.keys.includes(key) && isEd25519(key));
    if (left.length === 0) throw malformed('an Ed25519 key that stays in force');
    assertSigned(signed, left, 'one');
    this.#groups = this.#groups.map((each) => (each === group ? { ...each, until: index } : each));
  }
}

/** A `gov.key/1` leaf. Attacker controlled. */
export interface KeyLeaf {
  readonly index: number;
  readonly record: string;
}

/**
 * Returns the trusted keys, and those that they vouch for: a key is proven if a leaf adds it under a signature of an
 * Ed25519 key that is trusted or proven, and that no earlier leaf retired, and of each added Ed25519 key. Skips leaves
 * that prove nothing, because a trust file may be younger than they are. Proves no more than the trusted keys do: a
 * thief of one can make such leaves.
 */
export function provenKeys(
  origin: string,
  trusted: readonly VerifierKey[],
  leaves: readonly KeyLeaf[],
): VerifierKey[] {
  const proven = [...trusted];
  const retired = new Set<string>();
  const inForce = (): VerifierKey[] => proven.filter((key) => isEd25519(key) && !retired.has(identity(key)));
  for (const { index, record } of leaves.toSorted((one, other) => one.index - other.index)) {
    try {
      const { add, retire, note } = objectOf(record);
      const change = add === undefined ? 'retire' : 'add';
      const texts = textsOf(change === 'add' ? add : retire) ?? [];
      const keys = texts.map((text) => keyOf(text, origin));
      const signed = {
        text: keyChangeText(origin, index, { change, keys: texts }),
        note: typeof note === 'string' ? note : '',
      };
      const ids = new Set(keys.map(identity));
      assertSigned(
        signed,
        inForce().filter((key) => !ids.has(identity(key))),
        'one',
      );
      if (change === 'retire') for (const id of ids) retired.add(id);
      else {
        assertSigned(signed, keys.filter(isEd25519), 'all');
        const known = new Set(proven.map(identity));
        proven.push(...keys.filter((key) => !known.has(identity(key))));
      }
    } catch (cause) {
      // readJson throws SyntaxError for text that is not JSON
      if (!(cause instanceof GovError || cause instanceof SyntaxError)) throw cause;
    }
  }
  return proven;
}

interface SignedText {
  readonly text: string;
  readonly note: string;
}

function assertSigned({ text, note }: SignedText, keys: readonly VerifierKey[], which: 'one' | 'all'): void {
  const opened = openNote(note, keys);
  if (opened.text !== text) throw malformed('a note over this change');
  if (which === 'all' && opened.verified.length < keys.length) throw malformed('a signature of each new key');
}

const isEd25519 = ({ algorithm }: VerifierKey): boolean => algorithm === 'ed25519';
const identity = ({ publicKey }: VerifierKey): string => publicKey.toString('hex');

function keyOf(text: string, origin: string): VerifierKey {
  const key = parseVerifierKey(text);
  if (key.name !== origin || key.algorithm === 'ed25519-cosignature') throw malformed(`keys of ${origin}`);
  return key;
}

function objectOf(record: string): JsonObject {
  const value = readJson(record);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed('an object');
  return value as JsonObject;
}

const textsOf = (value: unknown): string[] | null =>
  Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : null;

const malformed = (expected: string): GovError =>
  new GovError('VALIDATION_ERROR', `key leaf: expected ${expected}, got another leaf`);
