/** What a log says of the keys that sign it, and who may say so. */
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { hasMlDsa44 } from '../../../src/core/note/checkpoint.ts';
import {
  type KeyChange,
  KeyHistory,
  keyChangeText,
  keyLeafFields,
  provenKeys,
} from '../../../src/core/note/key-history.ts';
import {
  ed25519Cosigner,
  ed25519Signer,
  mlDsa44Signer,
  type NoteSigner,
  signNote,
} from '../../../src/core/note/signed.ts';
import { draftLeaf, type OtherDraft } from '../../../src/core/events/record.ts';
import { parseVerifierKey } from '../../../src/core/note/key.ts';
import type { JsonObject } from '../../../src/core/json/parse.ts';

const origin = 'gov.local/prj_a/audit';
const newKey = (name = origin): NoteSigner => ed25519Signer(name, generateKeyPairSync('ed25519').privateKey);
const record = (type: 'gov.genesis/1' | 'gov.key/1' | 'gov.config/1', fields: JsonObject): string =>
  (draftLeaf(type, fields) as OtherDraft).record;
const genesis = (...signers: NoteSigner[]): string =>
  record('gov.genesis/1', { origin, keys: signers.map(({ verifierKey }) => verifierKey) });
const vkeys = (signers: readonly NoteSigner[]): string[] => signers.map(({ verifierKey }) => verifierKey);
const leaf = (
  index: number,
  change: KeyChange['change'],
  keys: readonly NoteSigner[],
  signers: readonly NoteSigner[],
): string => record('gov.key/1', keyLeafFields(origin, index, { change, keys: vkeys(keys), signers }));
const inForce = (history: KeyHistory): string[] => history.inForce.map(({ text }) => text);

describe('the keys of a log', () => {
  const [old, fresh, other] = [newKey(), newKey(), newKey()];

  it('the keys of a log begin with those of its first leaf', () => {
    const history = new KeyHistory(genesis(old));
    expect(history).toMatchObject({ origin, retired: [] });
    expect(inForce(history)).toEqual([old.verifierKey]);
  });

  it('log keys can be added, sign together, and be retired, and retired keys stay known', () => {
    const history = new KeyHistory(genesis(old));
    history.read(5, leaf(5, 'add', [fresh], [old, fresh]));
    expect(inForce(history)).toEqual(vkeys([old, fresh]));
    history.read(9, leaf(9, 'retire', [old], [fresh]));
    expect(inForce(history)).toEqual(vkeys([fresh]));
    expect(history.retired.map(({ text }) => text)).toEqual(vkeys([old]));
    expect(history.groups.map(({ from, until }) => [from, until])).toEqual([
      [0, 9],
      [5, null],
    ]);
    history.read(12, leaf(12, 'add', [other], [fresh, other]));
    history.read(13, leaf(13, 'retire', [fresh], [other]));
    expect(inForce(history)).toEqual(vkeys([other]));
  });

  it.skipIf(!hasMlDsa44())('Ed25519 and ML-DSA-44 keys of a log are added and retired in pairs', () => {
    const post = (): NoteSigner => mlDsa44Signer(origin, generateKeyPairSync('ml-dsa-44').privateKey);
    const [first, second] = [
      [old, post()],
      [fresh, post()],
    ];
    const history = new KeyHistory(genesis(...first));
    history.read(1, leaf(1, 'add', second, [old, fresh]));
    expect(() => history.read(2, leaf(2, 'retire', [old], [fresh]))).toThrow('that one leaf added');
    history.read(2, leaf(2, 'retire', first, [fresh]));
    expect(inForce(history)).toEqual(vkeys(second));
  });

  it('the key history ignores leaves of other types', () => {
    const history = new KeyHistory(genesis(old));
    const said = record('gov.config/1', { add: vkeys([fresh]), text: 'gov.key/1' });
    expect(KeyHistory.concerns(said)).toBe(true);
    history.read(1, said);
    expect(inForce(history)).toEqual(vkeys([old]));
    expect(KeyHistory.concerns(record('gov.config/1', { text: '"gov.key/1"' }))).toBe(false);
  });

  const added = keyChangeText(origin, 5, { change: 'add', keys: vkeys([fresh]) });
  it.each([
    ['by the old key alone', leaf(5, 'add', [fresh], [old])],
    ['by the new key alone', leaf(5, 'add', [fresh], [fresh])],
    ['by strangers', leaf(5, 'add', [fresh], [other])],
    ['for another leaf', leaf(4, 'add', [fresh], [old, fresh])],
    ['for another key', record('gov.key/1', { add: vkeys([other]), note: signNote(added, [old, fresh]) })],
    ['twice', leaf(5, 'add', [old], [old])],
    ['with nothing', leaf(5, 'add', [], [old])],
    ['without a note', record('gov.key/1', { add: vkeys([fresh]) })],
    ['as no list', record('gov.key/1', { add: fresh.verifierKey, note: signNote(added, [old, fresh]) })],
    ['with a key of another log', leaf(5, 'add', [newKey('other.log')], [old])],
    [
      'with a witness’s key',
      leaf(5, 'add', [ed25519Cosigner(origin, generateKeyPairSync('ed25519').privateKey)], [old]),
    ],
    ['so that none is left', leaf(5, 'retire', [old], [old])],
    ['that are none', leaf(5, 'retire', [fresh], [old])],
  ])('the keys of a log are not changed %s', (_, said) => {
    const history = new KeyHistory(genesis(old));
    expect(() => history.read(5, said)).toThrow(expect.objectContaining({ code: expect.any(String) }));
    expect(inForce(history)).toEqual(vkeys([old]));
    expect(history.retired).toEqual([]);
  });

  it('a retired key cannot retire or add keys', () => {
    const history = new KeyHistory(genesis(old));
    history.read(5, leaf(5, 'add', [fresh], [old, fresh]));
    expect(() => history.read(6, leaf(6, 'retire', [old], [old]))).toThrow('expected a signature of');
    history.read(6, leaf(6, 'retire', [old], [fresh]));
    expect(() => history.read(7, leaf(7, 'add', [other], [old, other]))).toThrow('expected a signature of');
    expect(() => history.read(7, leaf(7, 'add', [old], [fresh, old]))).toThrow('new to the log');
  });

  it(`a log has at most ${limits.trustKeys} keys, as many as a trust file`, () => {
    const history = new KeyHistory(genesis(old));
    const more = Array.from({ length: limits.trustKeys - 1 }, () => newKey());
    history.read(1, leaf(1, 'add', more, [old, ...more]));
    expect(history.inForce).toHaveLength(limits.trustKeys);
    expect(() => history.read(2, leaf(2, 'add', [fresh], [old, fresh]))).toThrow('at most 32 keys');
  });

  it.each([
    ['another leaf', record('gov.config/1', { origin, keys: vkeys([old]) })],
    ['no keys', record('gov.genesis/1', { origin })],
    ['an empty list', record('gov.genesis/1', { origin, keys: [] })],
    ['no origin', record('gov.genesis/1', { keys: vkeys([old]) })],
    ['keys of another log', record('gov.genesis/1', { origin: 'x', keys: vkeys([old]) })],
    ['no object', '[]'],
  ])('the keys of a log are unknown when the log begins with %s', (_, said) => {
    expect(() => new KeyHistory(said)).toThrow('key leaf: expected');
  });
});

describe('keys that trusted keys vouch for', () => {
  const [first, second, third, thief] = [newKey(), newKey(), newKey(), newKey()];
  const added = (index: number, key: NoteSigner, by: NoteSigner) => ({
    index,
    record: leaf(index, 'add', [key], [by, key]),
  });
  const retired = (index: number, key: NoteSigner, by: NoteSigner) => ({
    index,
    record: leaf(index, 'retire', [key], [by]),
  });
  const proven = (trusted: readonly NoteSigner[], leaves: Parameters<typeof provenKeys>[2]): string[] =>
    provenKeys(
      origin,
      trusted.map(({ verifierKey }) => parseVerifierKey(verifierKey)),
      leaves,
    ).map(({ text }) => text);
  const chain = [added(5, second, first), retired(6, first, second), added(9, third, second)];

  it('follows a chain of rotations from a trusted key, in the order of the leaves', () => {
    expect(proven([first], chain)).toEqual(vkeys([first, second, third]));
    expect(proven([first], chain.toReversed())).toEqual(vkeys([first, second, third]));
  });

  it('skips rotations from before the trusted key', () => {
    expect(proven([second], chain)).toEqual(vkeys([second, third]));
    expect(proven([third], chain)).toEqual(vkeys([third]));
  });

  it('does not accept a key that a stranger, a retired key or only the new key signed', () => {
    expect(proven([first], [added(5, thief, thief)])).toEqual(vkeys([first]));
    expect(proven([first], [...chain, added(12, thief, first)])).toEqual(vkeys([first, second, third]));
    const alone = { index: 5, record: leaf(5, 'add', [thief], [first]) };
    expect(proven([first], [alone])).toEqual(vkeys([first]));
  });

  it('does not accept a rotation at another index, with other keys, or of another form', () => {
    expect(proven([first], [{ ...added(5, second, first), index: 6 }])).toEqual(vkeys([first]));
    const { record: honest } = added(5, second, first);
    const swapped = honest.replace(second.verifierKey, thief.verifierKey);
    expect(proven([first], [{ index: 5, record: swapped }])).toEqual(vkeys([first]));
    for (const text of ['', '{}', '[]', 'null', '{"add":[1]}', '{"add":[],"note":""}'])
      expect(proven([first], [{ index: 1, record: text }])).toEqual(vkeys([first]));
  });
});
