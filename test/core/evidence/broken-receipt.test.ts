import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { BrokenReceipt } from '../../../src/core/evidence/broken-receipt.ts';
import { brokenReceiptText, verifyEvidence } from '../../../src/core/evidence/file.ts';
import { encodeBase64 } from '../../../src/core/json/base64.ts';
import { mlDsa44Signer, signCheckpoint } from '../../../src/core/note/checkpoint.ts';
import { parseVerifierKey } from '../../../src/core/note/key.ts';
import { ed25519Cosigner, ed25519Signer } from '../../../src/core/note/signed.ts';
import type { Trust } from '../../../src/core/note/trust.ts';
import { receiptBytes, signReceiptHead, verifyReceipt } from '../../../src/core/receipt/cose.ts';
import { naiveLeaf, naivePath, naiveRoot } from '../merkle/naive.ts';
import { logSigner, origin, privateKey, seeded, trust as ed25519Only } from '../proofs/log.ts';

const slow = mlDsa44Signer(origin, generateKeyPairSync('ml-dsa-44').privateKey);
const trust: Trust = { ...ed25519Only, keys: [...ed25519Only.keys, parseVerifierKey(slow.verifierKey)] };
const at = 1_780_000_000;

const leavesOf = (size: number, history: string, fork: number): Buffer[] =>
  Array.from({ length: size }, (_, n) => naiveLeaf(Buffer.from(`${n < fork ? 'a' : history} ${n}`)));

function receiptOf(leaves: readonly Buffer[], first: number, last: number, signer = logSigner): Buffer {
  const head = { origin, size: leaves.length, root: naiveRoot(leaves), atSeconds: at };
  const path = (index: number) => ({ index, path: naivePath(index, leaves) });
  return receiptBytes(signReceiptHead(head, signer), {
    paths: last > first ? [path(first), path(last)] : [path(first)],
    leaves: null,
  });
}

const noteOf = (leaves: readonly Buffer[], seconds: number, signers = [logSigner, slow]): string =>
  signCheckpoint({ origin, size: leaves.length, root: naiveRoot(leaves), extensions: [] }, signers, {
    timestampSeconds: seconds,
  });

const mine = leavesOf(9, 'a', 0);
const forked = leavesOf(14, 'b', 6);
const short = leavesOf(6, 'a', 0);
const other = (index: number, leaves = forked) => ({
  index,
  leaf: leaves[index]!,
  path: naivePath(index, leaves),
});
const replaced: BrokenReceipt = {
  receipt: receiptOf(mine, 5, 8),
  leaves: mine.slice(5),
  checkpoint: noteOf(forked, at + 1),
  other: other(7),
};
const missing: BrokenReceipt = {
  ...replaced,
  checkpoint: noteOf(short, at + limits.receiptSeconds + 1),
  other: null,
};
const verdictOf = (evidence: BrokenReceipt | string, by: Trust | null = trust) =>
  verifyEvidence(Buffer.from(typeof evidence === 'string' ? evidence : brokenReceiptText(evidence)), by);

describe('evidence of a broken receipt', () => {
  it('another leaf in the place of an acknowledged one is shown with the keys of the log alone', () => {
    expect(verdictOf(replaced)).toEqual({
      verified: true,
      code: null,
      shows: 'broken_receipt',
      origin,
      detail:
        'the log acknowledged leaf 7 at 2026-05-28T20:26:40.000Z, and its tree of 14 leaves has another leaf in this place',
    });
  });

  it('a tree that the log signed 61 s after the receipt, and that ends before the leaf, is shown', () => {
    expect(verdictOf(missing)).toMatchObject({ verified: true, shows: 'broken_receipt' });
    const early = { ...missing, checkpoint: noteOf(short, at + limits.receiptSeconds) };
    expect(verdictOf(early).code).toBe('EVIDENCE_SHOWS_NOTHING');
  });

  it('a witness that cosigns an old tree later accuses nobody', () => {
    const witness = ed25519Cosigner('witness.example/w1', privateKey('witness'));
    const cosigned = signCheckpoint(
      { origin, size: short.length, root: naiveRoot(short), extensions: [] },
      [logSigner, witness],
      { timestampSeconds: at + 1000 },
    );
    const by = { ...trust, witnesses: [parseVerifierKey(witness.verifierKey)], quorum: 1 };
    expect(verdictOf({ ...missing, checkpoint: cosigned }, by).code).toBe('EVIDENCE_SHOWS_NOTHING');
    expect(verdictOf({ ...missing, checkpoint: noteOf(short, at + 1000, [logSigner]) }).code).toBe(
      'EVIDENCE_SHOWS_NOTHING',
    );
  });

  it('no leaf of an honest log, no receipt and no later tree of it accuses the log', () => {
    const all = leavesOf(24, 'a', 0);
    for (let size = 1; size <= 24; size++) {
      for (const later of [size, Math.min(24, size + 3), 24]) {
        for (let index = 0; index < size; index += 3) {
          const checkpoint = noteOf(all.slice(0, later), at + 1000, [logSigner]);
          const receipt = receiptOf(all.slice(0, size), index, index);
          const honest = { receipt, leaves: [all[index]!], checkpoint };
          const shown = other(index, all.slice(0, later));
          expect(verdictOf({ ...honest, other: shown }).verified).toBe(false);
          expect(verdictOf({ ...honest, other: null }).verified).toBe(false);
        }
      }
    }
  });

  it('a receipt or a tree by another key, other leaves and a leaf from another place show nothing', () => {
    const stranger = ed25519Signer(origin, privateKey('stranger'));
    const codeOf = (change: Partial<BrokenReceipt>) => verdictOf({ ...replaced, ...change }).code;
    expect(codeOf({ receipt: receiptOf(mine, 5, 8, stranger) })).toBe('SIGNATURE_INVALID');
    expect(codeOf({ checkpoint: noteOf(forked, at, [stranger]) })).toBe('SIGNATURE_INVALID');
    expect(codeOf({ leaves: forked.slice(5, 9) })).toBe('NOT_INCLUDED');
    expect(codeOf({ other: { ...other(7), leaf: mine[7]! } })).toBe('NOT_INCLUDED');
    expect(codeOf({ other: other(9) })).toBe('EVIDENCE_SHOWS_NOTHING');
    expect(codeOf({ other: other(5) })).toBe('EVIDENCE_SHOWS_NOTHING');
    expect(verdictOf(replaced, null).code).toBe('NO_TRUSTED_KEY');
    expect(verdictOf(replaced, { ...trust, origin: 'other' }).code).toBe('ORIGIN_MISMATCH');
  });

  it('a missing, added or repeated member is refused', () => {
    const text = brokenReceiptText(replaced);
    const value = JSON.parse(text) as Record<string, unknown>;
    for (const name of Object.keys(value)) {
      const { [name]: _, ...rest } = value;
      expect(verdictOf(JSON.stringify(rest)).code, name).toBe('MALFORMED_EVIDENCE');
    }
    expect(verdictOf(JSON.stringify({ ...value, paths: [] })).code).toBe('MALFORMED_EVIDENCE');
    expect(verdictOf(text.replace('{', '{"kind":"broken_receipt",')).code).toBe('MALFORMED_EVIDENCE');
    const receipt = encodeBase64(replaced.receipt);
    expect(verdictOf(text.replace(receipt, `${receipt.slice(0, -2)}==`)).verified).toBe(false);
  });

  it('none of 20,000 changed receipts and evidence files is accepted with another meaning', () => {
    const random = seeded('mutations', 20_000 * 8);
    const files = [replaced, missing].map((each) => Buffer.from(brokenReceiptText(each)));
    const meant = files.map((file) => verifyEvidence(file, trust));
    for (let round = 0; round < 20_000; round++) {
      const [where, how, byte, to] = [0, 4, 5, 6].map((part) => random.readUInt8(round * 8 + part));
      const place = random.readUInt32LE(round * 8);
      if (round % 2 === 0) {
        const changed = mutated(replaced.receipt, { place, how: how!, byte: byte!, to: to! });
        if (changed.equals(replaced.receipt)) continue;
        expect(() => verifyReceipt(changed, replaced.leaves, trust), `round ${round}`).toThrow();
        continue;
      }
      const file = files[where! % 2]!;
      const verdict = verifyEvidence(mutated(file, { place, how: how!, byte: byte!, to: to! }), trust);
      if (verdict.verified) expect(verdict, `round ${round}`).toEqual(meant[where! % 2]);
    }
  }, 60_000);
});

/** Changes, removes, adds or repeats bytes at a place. */
function mutated(
  bytes: Uint8Array,
  { place, how, byte, to }: { place: number; how: number; byte: number; to: number },
): Buffer {
  const copy = Buffer.from(bytes);
  const at = place % copy.length;
  const end = Math.min(copy.length, at + (to % 16) + 1);
  switch (how % 4) {
    case 0:
      copy[at] = byte;
      return copy;
    case 1:
      return Buffer.concat([copy.subarray(0, at), copy.subarray(end)]);
    case 2:
      return Buffer.concat([copy.subarray(0, at), Buffer.from([byte]), copy.subarray(at)]);
  }
  return Buffer.concat([copy.subarray(0, end), copy.subarray(at)]);
}
