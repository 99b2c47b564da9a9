import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { splitViewText, verifyEvidence } from '../../../src/core/evidence/file.ts';
import { headsText, readHeads } from '../../../src/core/evidence/heads-file.ts';
import { signCheckpoint } from '../../../src/core/note/checkpoint.ts';
import { compareHeads, SignedHead } from '../../../src/core/note/heads.ts';
import { parseVerifierKey } from '../../../src/core/note/key.ts';
import { ed25519Signer } from '../../../src/core/note/signed.ts';
import { naiveLeaf, naivePath, naiveRoot } from '../merkle/naive.ts';
import { logSigner, origin, privateKey, trust } from '../proofs/log.ts';

const leavesOf = (size: number, history: string, fork: number): Buffer[] =>
  Array.from({ length: size }, (_, n) => naiveLeaf(Buffer.from(`${n < fork ? 'a' : history} ${n}`)));

function headOf(leaves: readonly Buffer[], index: number, signer = logSigner): SignedHead {
  const checkpoint = { origin, size: leaves.length, root: naiveRoot(leaves), extensions: [] };
  const keys = [...trust.keys, parseVerifierKey(signer.verifierKey)].slice(-1);
  const head = SignedHead.open(signCheckpoint(checkpoint, [signer]), { ...trust, keys });
  head.add({ index, leaf: leaves[index]!, path: naivePath(index, leaves) });
  return head;
}

function evidenceOf(one: SignedHead, other: SignedHead): string {
  const compared = compareHeads(one, other);
  const paths = compared.result === 'split' ? compared.paths : ([[], []] as const);
  return splitViewText({ heads: [one, other], paths });
}

const verdictOf = (text: string | Buffer, by = trust) => verifyEvidence(Buffer.from(text), by);
const one = headOf(leavesOf(5, 'a', 0), 4);
const other = headOf(leavesOf(9, 'b', 3), 4);
const text = evidenceOf(one, other);

describe('evidence of a split view', () => {
  it('evidence of a split view is verified with the keys of the log alone', () => {
    expect(verdictOf(text)).toEqual({
      verified: true,
      code: null,
      shows: 'split_view',
      origin,
      detail: 'the log of 9 leaves does not begin with the log of 5 leaves',
    });
    expect(text.length).toBeLessThan(2000);
  });

  it('without a trusted key evidence shows nothing', () => {
    expect(verifyEvidence(Buffer.from(text), null).code).toBe('NO_TRUSTED_KEY');
    const stranger = parseVerifierKey(ed25519Signer(origin, privateKey('stranger')).verifierKey);
    expect(verdictOf(text, { ...trust, keys: [stranger] }).code).toBe('SIGNATURE_INVALID');
  });

  it('heads of an honest log accuse nobody', () => {
    const later = headOf(leavesOf(9, 'a', 0), 4);
    expect(verdictOf(evidenceOf(one, later)).code).toBe('EVIDENCE_SHOWS_NOTHING');
    expect(verdictOf(evidenceOf(one, one)).code).toBe('EVIDENCE_SHOWS_NOTHING');
  });

  it('a head that somebody else signed accuses nobody', () => {
    const forged = headOf(leavesOf(9, 'b', 3), 4, ed25519Signer(origin, privateKey('stranger')));
    expect(verdictOf(evidenceOf(one, forged)).code).toBe('SIGNATURE_INVALID');
  });

  it('a changed byte of evidence is refused', () => {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length - 1; at++) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      expect(verdictOf(changed).verified, `byte ${at}`).toBe(false);
    }
  });

  it('a missing, added or repeated member is refused', () => {
    const value = JSON.parse(text) as Record<string, unknown>;
    for (const name of Object.keys(value)) {
      const { [name]: _, ...rest } = value;
      expect(verdictOf(JSON.stringify(rest)).code).toBe('MALFORMED_EVIDENCE');
    }
    expect(verdictOf(JSON.stringify({ ...value, more: 1 })).code).toBe('MALFORMED_EVIDENCE');
    expect(verdictOf(text.replace('{', '{"kind":"split_view",')).code).toBe('MALFORMED_EVIDENCE');
    expect(verdictOf(`${text.trimEnd()}x`).code).toBe('MALFORMED_EVIDENCE');
  });

  it('evidence of at most limits.evidenceBytes is read', () => {
    const padded = (bytes: number): string =>
      text.trimEnd() + ' '.repeat(bytes - Buffer.byteLength(text) + 1);
    expect(verdictOf(padded(limits.evidenceBytes)).verified).toBe(true);
    expect(verdictOf(padded(limits.evidenceBytes + 1)).code).toBe('MALFORMED_EVIDENCE');
  });
});

describe('a file of heads', () => {
  const file = headsText(origin, { heads: [one, other], untrusted: [] });

  it('heads are read with the paths that were written', () => {
    const { heads, untrusted } = readHeads(Buffer.from(file), trust);
    expect(heads.map(({ size, note, paths }) => ({ size, note, paths }))).toEqual(
      [one, other].map(({ size, note, paths }) => ({ size, note, paths: [...paths] })),
    );
    expect(untrusted).toEqual([]);
  });

  it('a head by another key is kept apart, and written again', () => {
    const stranger = headOf(leavesOf(7, 'a', 0), 1, ed25519Signer(origin, privateKey('stranger')));
    const mixed = headsText(origin, { heads: [one, stranger], untrusted: [] });
    const { heads, untrusted } = readHeads(Buffer.from(mixed), trust);
    expect([heads.length, untrusted.length]).toEqual([1, 1]);
    expect(headsText(origin, { heads, untrusted })).toBe(mixed);
  });

  it('a file with the heads of three key sets is still read, and the newest retired ones are kept', () => {
    const by = (name: string): SignedHead[] =>
      Array.from({ length: limits.keptHeads }, (_, n) =>
        headOf(leavesOf(n + 1, 'a', 0), n, ed25519Signer(origin, privateKey(name))),
      );
    const membersOf = (text: string): string[] =>
      (JSON.parse(text) as { heads: object[] }).heads.map((head) => JSON.stringify(head));
    const first = headsText(origin, { heads: by('second'), untrusted: [] });
    const { untrusted } = readHeads(Buffer.from(first), trust);
    const oldest = readHeads(Buffer.from(headsText(origin, { heads: by('first'), untrusted: [] })), trust);
    const all = { heads: [one, other], untrusted: [...untrusted, ...oldest.untrusted] };
    const again = readHeads(Buffer.from(headsText(origin, all)), trust);
    expect(again.heads).toHaveLength(2);
    expect(again.untrusted.slice(0, limits.keptHeads)).toEqual(untrusted);
    expect(membersOf(headsText(origin, again))).toHaveLength(2 * limits.keptHeads);
  });

  it('a head of another log and a path to another root are refused', () => {
    expect(() => readHeads(Buffer.from(file), { ...trust, origin: 'gov.local/other' })).toThrow('/origin');
    const value = JSON.parse(file) as { heads: { paths: { index: number }[] }[] };
    value.heads[0]!.paths[0]!.index = 3;
    expect(() => readHeads(Buffer.from(JSON.stringify(value)), trust)).toThrow('a path to the root');
  });
});
