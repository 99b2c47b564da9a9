/** C2SP tlog-witness: the request as bytes, and every answer that a witness may give to it. */
import { generateKeyPairSync } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { ed25519Cosigner, ed25519Signer, signCheckpoint } from '../../../src/core/note/checkpoint.ts';
import { emptyRoot, leafHash, merkleRoot } from '../../../src/core/merkle/tree.ts';
import { parseVerifierKey } from '../../../src/core/note/signed.ts';
import {
  decideWitness,
  formatWitnessRequest,
  originOf,
  parseSizeBody,
  parseWitnessRequest,
  type WitnessedLog,
} from '../../../src/core/note/witness.ts';
import { witnessRequest as example } from '../../vectors/c2sp.ts';
import { naiveConsistency } from '../merkle/naive.ts';

const origin = 'example.com/log42';
const signer = ed25519Signer(origin, generateKeyPairSync('ed25519').privateKey);
const stranger = ed25519Signer(origin, generateKeyPairSync('ed25519').privateKey);
const cosigner = ed25519Cosigner('w.example', generateKeyPairSync('ed25519').privateKey);
const leaves = Array.from({ length: 64 }, (_, at) => leafHash(`leaf ${at}`));
const rootAt = (size: number): Buffer => (size === 0 ? emptyRoot : merkleRoot(leaves.slice(0, size)));
const noteAt = (size: number, root = rootAt(size), signers = [signer]): string =>
  signCheckpoint({ origin, size, root, extensions: [] }, signers, { timestampSeconds: 1 });
const proof = (first: number, second: number): Buffer[] =>
  first === 0 || first === second ? [] : naiveConsistency(first, leaves.slice(0, second));
const request = (oldSize: number, size: number) => ({
  oldSize,
  proof: proof(oldSize, size),
  note: noteAt(size),
});
const keys = [parseVerifierKey(signer.verifierKey)];
const known = (size: number | null): WitnessedLog => ({
  keys,
  latest: size === null ? null : { size, root: rootAt(size) },
});
const bytes = (text: string): Buffer => Buffer.from(text);

describe('an add-checkpoint request', () => {
  it('the request of the C2SP tlog-witness example is read and written back byte for byte', () => {
    const read = parseWitnessRequest(bytes(example.body));
    expect(read.oldSize).toBe(example.oldSize);
    expect(read.proof.map((hash) => hash.toString('base64'))).toEqual(example.proof);
    expect(originOf(read.note)).toBe(example.origin);
    expect(formatWitnessRequest(read)).toBe(example.body);
  });

  it('an add-checkpoint request is read back unchanged', () => {
    const requests = fc.record({
      oldSize: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
      proof: fc.array(
        fc.uint8Array({ minLength: 32, maxLength: 32 }).map((hash) => Buffer.from(hash)),
        { maxLength: 5 },
      ),
      note: fc.constant(noteAt(3)),
    });
    fc.assert(
      fc.property(requests, (made) => {
        expect(parseWitnessRequest(bytes(formatWitnessRequest(made)))).toEqual(made);
      }),
    );
  });

  const note = noteAt(1);
  const hash = Buffer.alloc(32).toString('base64');
  it.each([
    ['nothing', ''],
    ['no empty line', 'old 0\n'],
    ['no old size', `\n\n${note}`],
    ['another word', `new 0\n\n${note}`],
    ['two spaces', `old  0\n\n${note}`],
    ['a leading zero', `old 01\n\n${note}`],
    ['a sign', `old +1\n\n${note}`],
    ['a size beyond 2^53-1', `old 9007199254740992\n\n${note}`],
    ['a carriage return', `old 0\r\n\n${note}`],
    ['a hash of 31 bytes', `old 1\n${Buffer.alloc(31).toString('base64')}\n\n${note}`],
    ['a hash without padding', `old 1\n${hash.slice(0, -1)}\n\n${note}`],
    ['a hash in base64url', `old 1\n${hash.replace('A', '-')}\n\n${note}`],
  ])('an add-checkpoint request is refused with %s', (_, body) => {
    expect(() => parseWitnessRequest(bytes(body))).toThrow('add-checkpoint: expected');
  });

  it('an add-checkpoint request is refused when its bytes are not UTF-8', () => {
    const body = Buffer.concat([bytes('old 0\n\n'), Buffer.from([0xff])]);
    expect(() => parseWitnessRequest(body)).toThrow('expected UTF-8');
  });

  it(`an add-checkpoint request has at most ${limits.witnessProofLines} proof lines`, () => {
    const lines = (count: number): Buffer => bytes(`old 1\n${`${hash}\n`.repeat(count)}\n${note}`);
    expect(parseWitnessRequest(lines(limits.witnessProofLines)).proof).toHaveLength(limits.witnessProofLines);
    expect(() => parseWitnessRequest(lines(limits.witnessProofLines + 1))).toThrow('at most 63 proof lines');
  });

  it('a conflict response contains the known size as one decimal line', () => {
    const sizes = ['0\n', '50\n', '', '50', '050\n', '-1\n', '5\n\n', '1e3\n', '9007199254740992\n'];
    expect(sizes.map(parseSizeBody)).toEqual([0, 50, null, null, null, null, null, null, null]);
  });
});

describe('a witness', () => {
  it('a witness cosigns a checkpoint that extends its last one, for every pair of sizes', () => {
    for (const first of [0, 1, 2, 7, 8, 33, 64]) {
      for (const second of [1, 2, 3, 8, 9, 33, 63, 64].filter((size) => size >= first)) {
        const decision = decideWitness(request(first, second), known(first === 0 ? null : first));
        expect(decision, `${first} ${second}`).toMatchObject({ status: 200, checkpoint: { size: second } });
      }
    }
  });

  it('a witness cosigns an empty tree and then its first leaves', () => {
    expect(decideWitness(request(0, 0), known(null))).toMatchObject({ status: 200 });
    expect(decideWitness(request(0, 5), known(0))).toMatchObject({ status: 200 });
  });

  it.each([
    ['a log that it does not know', 404, request(0, 3), null],
    [
      'a stranger’s signature',
      403,
      { ...request(0, 3), note: noteAt(3, rootAt(3), [stranger]) },
      known(null),
    ],
    ['a cosignature alone', 403, { ...request(0, 3), note: noteAt(3, rootAt(3), [cosigner]) }, known(null)],
    ['a forged signature', 403, { ...request(0, 3), note: noteAt(3).replace(/\n3\n/, '\n4\n') }, known(null)],
    ['no note', 400, { ...request(0, 3), note: 'x' }, known(null)],
    ['no note of a log that it does not know', 400, { ...request(0, 3), note: 'x' }, null],
    ['an old size above the new one', 400, { ...request(3, 5), oldSize: 6 }, known(6)],
    ['a proof with old size 0', 422, { ...request(0, 5), proof: proof(3, 5) }, known(null)],
    ['no proof', 422, { ...request(3, 5), proof: [] }, known(3)],
    ['a proof of another size', 422, { ...request(3, 5), proof: proof(2, 5) }, known(3)],
    ['a proof at the same size', 422, { ...request(5, 5), proof: proof(3, 5) }, known(5)],
    ['another history', 422, { ...request(3, 5), note: noteAt(5, merkleRoot(leaves.slice(1, 6))) }, known(3)],
  ])('a witness does not cosign %s', (_, status, made, log) => {
    expect(decideWitness(made, log)).toMatchObject({ status, detail: expect.any(String) });
  });

  it('a witness names the size that it knows when the old size is wrong', () => {
    for (const [oldSize, size, latest] of [
      [3, 9, 5],
      [7, 9, 5],
      [0, 9, 5],
      [5, 9, null],
      [2, 3, 5],
    ] as const) {
      const decision = decideWitness(request(oldSize, size), known(latest));
      expect(decision).toMatchObject({ status: 409, knownSize: latest ?? 0 });
    }
  });

  it('a witness names no size when the same size has another root', () => {
    const made = { ...request(5, 5), note: noteAt(5, merkleRoot(leaves.slice(1, 6))) };
    expect(decideWitness(made, known(5))).toMatchObject({ status: 409, knownSize: null });
  });

  it('a witness ignores signatures of unknown keys beside a trusted one', () => {
    const note = noteAt(5, rootAt(5), [stranger, signer, cosigner]);
    expect(decideWitness({ ...request(3, 5), note }, known(3))).toMatchObject({ status: 200 });
  });

  it('a witness does not cosign with a changed bit in the proof', () => {
    const honest = request(11, 29);
    for (const [at, hash] of honest.proof.entries()) {
      for (const bit of [0, 100, 255]) {
        const changed = Buffer.from(hash);
        changed[bit >> 3]! ^= 1 << (bit & 7);
        const made = { ...honest, proof: honest.proof.with(at, changed) };
        expect(decideWitness(made, known(11)).status).toBe(422);
      }
    }
  });
});
