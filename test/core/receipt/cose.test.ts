import { execFileSync } from 'node:child_process';
import { createHash, createPublicKey } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { CborTag, readCbor, writeCbor, type Cbor } from '../../../src/core/receipt/cbor.ts';
import { readReceipt, receiptBytes, signReceiptHead, verifyReceipt } from '../../../src/core/receipt/cose.ts';
import { parseVerifierKey } from '../../../src/core/note/key.ts';
import { ed25519Signer } from '../../../src/core/note/signed.ts';
import { naiveLeaf, naivePath, naiveRoot } from '../merkle/naive.ts';
import { logSigner, origin, privateKey, trust } from '../proofs/log.ts';

const leavesOf = (size: number): Buffer[] =>
  Array.from({ length: size }, (_, n) => naiveLeaf(Buffer.from(`leaf ${n}`)));

/** The receipt of leaves [first, last] in a tree. */
function receiptOf(leaves: readonly Buffer[], first: number, last = first, signer = logSigner): Buffer {
  const root = naiveRoot(leaves);
  const head = signReceiptHead({ origin, size: leaves.length, root, atSeconds: 1_780_000_000 }, signer);
  const path = (index: number) => ({ index, path: naivePath(index, leaves) });
  const paths = last === first ? ([path(first)] as const) : ([path(first), path(last)] as const);
  return receiptBytes(head, { paths, leaves: null });
}

describe('a receipt', () => {
  it('a receipt shows each leaf and each range of leaves, in trees of any size', () => {
    for (let size = 2; size <= 20; size++) {
      const leaves = leavesOf(size);
      for (let first = 0; first < size; first++) {
        for (let last = first; last < size; last++) {
          const verified = verifyReceipt(
            receiptOf(leaves, first, last),
            leaves.slice(first, last + 1),
            trust,
          );
          expect([verified.size, verified.paths[0].index]).toEqual([size, first]);
          expect(Buffer.from(verified.root)).toEqual(naiveRoot(leaves));
        }
      }
    }
  });

  it('a path of 27 hashes gives a receipt of at most 1,100 bytes, and two paths one of at most 2,100', () => {
    const hash = Buffer.alloc(32, 1);
    const head = signReceiptHead({ origin, size: 100_000_000, root: hash, atSeconds: 1 }, logSigner);
    const path = (index: number) => ({ index, path: Array.from({ length: 27 }, () => hash) });
    expect(receiptBytes(head, { paths: [path(99_999_999)], leaves: null }).length).toBeLessThan(1100);
    expect(receiptBytes(head, { paths: [path(1), path(9)], leaves: null }).length).toBeLessThan(2100);
  });

  it('other leaves, another order and another number of leaves are refused', () => {
    const leaves = leavesOf(11);
    const receipt = receiptOf(leaves, 3, 7);
    const shown = leaves.slice(3, 8);
    for (const other of [
      leaves.slice(2, 7),
      shown.toReversed(),
      shown.slice(1),
      [...shown, leaves[8]!],
      shown.map((leaf, at) => (at === 2 ? leaves[9]! : leaf)),
      [],
    ])
      expect(() => verifyReceipt(receipt, other, trust)).toThrow('one root');
  });

  it('a receipt of another log, by another key or of another tree is refused', () => {
    const leaves = leavesOf(5);
    const leaf = [leaves[2]!];
    const receipt = receiptOf(leaves, 2);
    expect(() => verifyReceipt(receipt, leaf, { ...trust, origin: 'other' })).toThrow('origin');
    const stranger = ed25519Signer(origin, privateKey('stranger'));
    expect(() => verifyReceipt(receiptOf(leaves, 2, 2, stranger), leaf, trust)).toThrow('no trusted Ed25519');
    const keys = [parseVerifierKey(stranger.verifierKey)];
    expect(verifyReceipt(receiptOf(leaves, 2, 2, stranger), leaf, { ...trust, keys }).size).toBe(5);
    const other = leavesOf(5).map((each, at) => (at === 4 ? naiveLeaf(Buffer.from('other')) : each));
    const mixed = Buffer.from(receipt);
    receiptOf(other, 2).copy(mixed, mixed.length - 64, mixed.length - 64);
    expect(() => verifyReceipt(mixed, leaf, trust)).toThrow('signature');
  });

  it('no changed byte is accepted', () => {
    const leaves = leavesOf(11);
    const receipt = receiptOf(leaves, 3, 7);
    for (let at = 0; at < receipt.length; at++) {
      for (const bit of [1, 0x80]) {
        const changed = Buffer.from(receipt);
        changed[at]! ^= bit;
        expect(() => verifyReceipt(changed, leaves.slice(3, 8), trust), `byte ${at}`).toThrow();
      }
    }
  });

  it('20,000 mutated receipts are refused, or show the same', () => {
    const leaves = leavesOf(11);
    const receipt = receiptOf(leaves, 3, 7);
    const shown = JSON.stringify(readReceipt(receipt));
    for (let n = 0; n < 20_000; n++) {
      const random = createHash('sha256').update(`${n}`).digest();
      const at = random.readUInt16BE(0) % receipt.length;
      const bytes = random.subarray(4, 4 + (random[2]! % 4));
      const changed = Buffer.concat([
        receipt.subarray(0, at),
        bytes,
        receipt.subarray(at + (random[3]! % 3)),
      ]);
      try {
        verifyReceipt(changed, leaves.slice(3, 8), trust);
        expect(JSON.stringify(readReceipt(changed))).toBe(shown);
      } catch (error) {
        expect(error).toHaveProperty('code');
      }
    }
  });

  it('a receipt of at most limits.receiptBytes is read', () => {
    expect(() => readReceipt(Buffer.alloc(limits.receiptBytes))).toThrow('CBOR: expected');
    expect(() => readReceipt(Buffer.alloc(limits.receiptBytes + 1))).toThrow('receipt: expected at most');
  });

  it('openssl verifies the signature of a receipt over the root that the path gives', () => {
    const leaves = leavesOf(9);
    const item = readCbor(receiptOf(leaves, 4));
    const parts = (item instanceof CborTag ? item.value : []) as readonly Cbor[];
    const [protectedBytes, , , signature] = parts as readonly [Uint8Array, Cbor, null, Uint8Array];
    const folder = mkdtempSync(join(tmpdir(), 'gov-receipt-'));
    const file = (name: string, content: string | Uint8Array): string => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    };
    const signed = writeCbor(['Signature1', protectedBytes, Buffer.alloc(0), naiveRoot(leaves)]);
    const pem = createPublicKey(privateKey('log')).export({ type: 'spki', format: 'pem' });
    const files = [file('key.pem', pem.toString()), file('signed', signed), file('signature', signature)];
    const words = `pkeyutl -verify -pubin -rawin -inkey ${files[0]} -in ${files[1]} -sigfile ${files[2]}`;
    const stdout = execFileSync('openssl', words.split(' '));
    expect(stdout.toString()).toContain('Signature Verified Successfully');
  });
});
