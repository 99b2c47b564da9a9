import { generateKeyPairSync } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { ml_dsa44 } from '@noble/post-quantum/ml-dsa.js';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Checkpoint,
  ed25519Cosigner,
  ed25519Signer,
  hasMlDsa44,
  mlDsa44Signer,
  openCheckpoint,
  openTrustedCheckpoint,
  parseCheckpoint,
  signCheckpoint,
  type Trust,
} from '../../../src/core/note/checkpoint.ts';
import { formatCheckpoint } from '../../../src/core/note/tree-head.ts';
import { cosignatureMessage, cosignedMessage } from '../../../src/core/note/cosignature.ts';
import { emptyRoot, leafHash } from '../../../src/core/merkle/tree.ts';
import {
  joinNote,
  type NoteSigner,
  parseVerifierKey,
  signatureLine,
  splitNote,
} from '../../../src/core/note/signed.ts';
import { checkpoint as example } from '../../vectors/c2sp.ts';

const origin = 'example.com/log42';
const time = { timestampSeconds: 1_679_315_147 };
const log = ed25519Signer(origin, generateKeyPairSync('ed25519').privateKey);
const witness = ed25519Cosigner('witness.example.com/w1', generateKeyPairSync('ed25519').privateKey);
const other = ed25519Cosigner('witness.example.com/w2', generateKeyPairSync('ed25519').privateKey);
const checkpoint: Checkpoint = { origin, size: 20_852_163, root: leafHash('root'), extensions: [] };
const text = formatCheckpoint(checkpoint);
const keyOf = (signer: NoteSigner): ReturnType<typeof parseVerifierKey> =>
  parseVerifierKey(signer.verifierKey);
const trust: Trust = { origin, keys: [keyOf(log)], witnesses: [keyOf(witness), keyOf(other)], quorum: 1 };

describe('checkpoint text', () => {
  it('the checkpoint text of the C2SP example is read and written back byte for byte', () => {
    const root = Buffer.from(example.root, 'base64');
    const read = { origin: example.origin, size: example.size, root, extensions: [] };
    expect(parseCheckpoint(example.text)).toEqual(read);
    expect(formatCheckpoint(read)).toBe(example.text);
  });

  it('a checkpoint is read back unchanged', () => {
    const line = fc.string({ minLength: 1, unit: 'grapheme' }).filter((value) => !value.includes('\n'));
    const heads = fc.record({
      origin: line,
      size: fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.constant(Number.MAX_SAFE_INTEGER)),
      root: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((root) => Buffer.from(root)),
      extensions: fc.array(line, { maxLength: 3 }),
    });
    fc.assert(
      fc.property(heads, (head) => {
        expect(parseCheckpoint(formatCheckpoint(head))).toEqual(head);
      }),
    );
    const empty = { origin, size: 0, root: emptyRoot, extensions: [] };
    expect(parseCheckpoint(formatCheckpoint(empty))).toEqual(empty);
  });

  const root = checkpoint.root.toString('base64');
  it.each([
    '',
    '\n',
    `${origin}\n5\n${root}`,
    `${origin}\n5\n`,
    `\n5\n${root}\n`,
    `${origin}\n05\n${root}\n`,
    `${origin}\n-5\n${root}\n`,
    `${origin}\n+5\n${root}\n`,
    `${origin}\n5.0\n${root}\n`,
    `${origin}\n0x5\n${root}\n`,
    `${origin}\n 5\n${root}\n`,
    `${origin}\n٥\n${root}\n`,
    `${origin}\n9007199254740992\n${root}\n`,
    `${origin}\n18446744073709551615\n${root}\n`,
    `${origin}\n5\n${root.slice(0, -1)}\n`,
    `${origin}\n5\n${root.slice(4)}\n`,
    `${origin}\n5\n${root}\n\n`,
    `${origin}\n5\n${root}\n\nextension\n`,
    `${origin}\n5\r\n${root}\n`,
    `${origin}\n0\n${root}\n`,
  ])('parseCheckpoint refuses %j', (bad) => {
    expect(() => parseCheckpoint(bad)).toThrow('checkpoint: expected');
  });

  it('formatCheckpoint refuses members that would not be single lines', () => {
    for (const bad of [
      { origin: '' },
      { origin: 'a\n5' },
      { origin: `${origin}\n7\n${root}` },
      { size: -1 },
      { size: 2 ** 53 },
      { root: Buffer.alloc(31) },
      { extensions: [''] },
      { extensions: ['a\nb'] },
    ]) {
      expect(() => formatCheckpoint({ ...checkpoint, ...bad }), JSON.stringify(bad)).toThrow(
        'checkpoint: expected',
      );
    }
  });
});

describe('signed checkpoint', () => {
  it('a signed checkpoint opens with the key and origin of its log', () => {
    const note = signCheckpoint(checkpoint, [log]);
    const opened = openCheckpoint(note, [keyOf(log)], origin);
    expect(opened).toMatchObject({
      checkpoint,
      text,
      signedBy: [{ name: origin, keyId: log.keyId }],
      unverified: [],
    });
    expect(openCheckpoint(Buffer.from(note), [keyOf(log)], origin).checkpoint).toEqual(checkpoint);
  });

  it('a checkpoint does not open under another origin, without a trusted key, or changed', () => {
    const note = signCheckpoint(checkpoint, [log]);
    expect(() => openCheckpoint(note, [keyOf(log)], 'example.com/log4')).toThrow('expected the origin');
    expect(() => openCheckpoint(note, [keyOf(witness)], origin)).toThrow('expected a signature of witness');
    expect(() => openCheckpoint(note, [], origin)).toThrow('expected a signature of none');
    fc.assert(
      fc.property(fc.nat(), fc.nat(7), (at, bit) => {
        const bytes = Buffer.from(note);
        bytes[at % bytes.length]! ^= 1 << bit;
        expect(() => openCheckpoint(bytes, [keyOf(log)], origin)).toThrow();
      }),
      { numRuns: 400 },
    );
  });

  it('a note signed by the log is refused when its text is not a checkpoint', () => {
    const note = joinNote('no checkpoint\n', [signatureLine('no checkpoint\n', log)]);
    expect(() => openCheckpoint(note, [keyOf(log)], origin)).toThrow('three or more lines');
  });
});

describe('cosignatures', () => {
  it('a cosignature signs the message of C2SP tlog-cosignature at the time that it contains', () => {
    const note = signCheckpoint(checkpoint, [witness], time);
    const { signature } = splitNote(note).signatures[0]!;
    expect(signature).toHaveLength(72);
    expect(signature.readBigUInt64BE()).toBe(1_679_315_147n);
    const message = Buffer.from(`cosignature/v1\ntime 1679315147\n${text}`);
    expect(cosignatureMessage(Buffer.from(text), time.timestampSeconds)).toEqual(message);
    expect(ed25519.verify(signature.subarray(8), message, keyOf(witness).publicKey)).toBe(true);
  });

  it('a cosignature binds its time', () => {
    const note = signCheckpoint(checkpoint, [witness], time);
    const [line] = splitNote(note).signatures;
    const moved = Buffer.from(line!.signature);
    moved[7]! ^= 1;
    expect(keyOf(witness).verify(Buffer.from(text), line!.signature)).toBe(true);
    expect(keyOf(witness).verify(Buffer.from(text), moved)).toBe(false);
    moved.fill(0xff, 0, 8);
    expect(keyOf(witness).verify(Buffer.from(text), moved)).toBe(false);
    expect(keyOf(witness).verify(Buffer.from(text), line!.signature.subarray(0, 7))).toBe(false);
  });

  it('a cosignature cannot be made without a time', () => {
    for (const timestampSeconds of [0, -1, 1.5, NaN, 2 ** 53]) {
      expect(() => signCheckpoint(checkpoint, [witness], { timestampSeconds })).toThrow('POSIX time');
    }
    expect(() => signCheckpoint(checkpoint, [witness])).toThrow('POSIX time');
  });

  it('an Ed25519 cosignature is not valid as a note signature of the same key, and vice versa', () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const plain = ed25519Signer('w', privateKey);
    const cosigner = ed25519Cosigner('w', privateKey);
    expect(plain.keyId).not.toBe(cosigner.keyId);
    const note = signCheckpoint(checkpoint, [cosigner], time);
    expect(() => openCheckpoint(note, [keyOf(plain)], origin)).toThrow('expected a signature of w+');
  });
});

describe.skipIf(!hasMlDsa44())('ML-DSA-44 (skipped where node:crypto lacks it)', () => {
  const name = 'witness.example.com/pq';
  const { privateKey } = hasMlDsa44() ? generateKeyPairSync('ml-dsa-44') : generateKeyPairSync('ed25519');
  const signer = hasMlDsa44() ? mlDsa44Signer(name, privateKey) : log;

  it('an ML-DSA-44 cosignature signs the cosigned_message of C2SP tlog-cosignature', () => {
    const note = signCheckpoint(checkpoint, [signer], time);
    const { signature } = splitNote(note).signatures[0]!;
    const message = Buffer.concat([
      Buffer.from('subtree/v1\n\0'),
      Buffer.from([name.length]),
      Buffer.from(name),
      Buffer.from('00000000641850cb', 'hex'),
      Buffer.from([origin.length]),
      Buffer.from(origin),
      Buffer.from('0000000000000000', 'hex'),
      Buffer.from('00000000013e2dc3', 'hex'),
      checkpoint.root,
    ]);
    expect(cosignedMessage(Buffer.from(text), name, time.timestampSeconds)).toEqual(message);
    expect(signature).toHaveLength(8 + 2420);
    expect(ml_dsa44.verify(signature.subarray(8), message, keyOf(signer).publicKey)).toBe(true);
    expect(openCheckpoint(note, [keyOf(signer)], origin).signedBy[0]?.timestampSeconds).toBe(1_679_315_147);
  });

  it('a log may sign with ML-DSA-44 beside Ed25519, without a time', () => {
    const pq = mlDsa44Signer(origin, generateKeyPairSync('ml-dsa-44').privateKey);
    const note = signCheckpoint(checkpoint, [log, pq]);
    expect(openCheckpoint(note, [keyOf(log)], origin).unverified).toHaveLength(1);
    expect(openCheckpoint(note, [keyOf(pq)], origin).signedBy[0]?.timestampSeconds).toBe(0);
    expect(openCheckpoint(note, [keyOf(log), keyOf(pq)], origin).signedBy).toHaveLength(2);
    expect(() => openCheckpoint(note.replace('20852163', '20852164'), [keyOf(pq)], origin)).toThrow(
      'got an invalid one',
    );
  });

  it('an ML-DSA-44 cosignature binds the name of the cosigner, so two names may share a key', () => {
    const key = keyOf(signer);
    const line = splitNote(signCheckpoint(checkpoint, [signer], time)).signatures[0]!;
    const renamed = keyOf(mlDsa44Signer('other', privateKey));
    expect(key.verify(Buffer.from(text), line.signature)).toBe(true);
    expect(renamed.verify(Buffer.from(text), line.signature)).toBe(false);
    expect(key.verify(Buffer.from('no checkpoint\n'), line.signature)).toBe(false);
  });

  it('an ML-DSA-44 cosigner name has at most 255 bytes', () => {
    const longest = mlDsa44Signer('n'.repeat(255), privateKey);
    expect(
      openCheckpoint(signCheckpoint(checkpoint, [longest]), [keyOf(longest)], origin).signedBy,
    ).toHaveLength(1);
    expect(() => signCheckpoint(checkpoint, [mlDsa44Signer('n'.repeat(256), privateKey)])).toThrow(
      '255 bytes',
    );
    expect(() => signCheckpoint({ ...checkpoint, origin: 'o'.repeat(256) }, [longest])).toThrow('255 bytes');
  });

  it('an ML-DSA-44 signer refuses a text that is not a checkpoint', () => {
    expect(() => signatureLine('no checkpoint\n', signer)).toThrow('three or more lines');
  });
});

describe('trusted checkpoint', () => {
  const lines = [
    signatureLine(text, log),
    signatureLine(text, witness, time),
    signatureLine(text, other, time),
  ];

  it('a trusted checkpoint needs as many distinct witnesses as the quorum says', () => {
    const cases: [readonly string[], number, readonly number[]][] = [
      [lines.slice(0, 1), 0, [0]],
      [lines.slice(0, 2), 1, [0, 1]],
      [[...lines.slice(0, 2), signatureLine(text, witness, { timestampSeconds: 5 })], 1, [0, 1]],
      [lines, 2, [0, 1, 2]],
    ];
    for (const [present, count, met] of cases) {
      for (const quorum of [0, 1, 2, 3]) {
        const opened = openTrustedCheckpoint(joinNote(text, present), { ...trust, quorum });
        expect(opened.signedBy.map(({ name }) => name)).toEqual([origin]);
        expect(opened.witnessedBy).toHaveLength(count);
        expect(opened.quorumMet).toBe(met.includes(quorum));
      }
    }
  });

  it('a trusted checkpoint needs the signature of its log, however many witnesses cosigned', () => {
    const note = joinNote(text, lines.slice(1));
    expect(() => openTrustedCheckpoint(note, trust)).toThrow(`expected a signature of ${origin}+`);
  });

  it('a trusted checkpoint is refused when a trusted witness has a forged cosignature', () => {
    const forged = signatureLine(formatCheckpoint({ ...checkpoint, size: 5 }), witness, time);
    expect(() => openTrustedCheckpoint(joinNote(text, [lines[0]!, forged]), trust)).toThrow(
      'got an invalid one',
    );
  });

  it('a trust built by hand counts no key twice, nor a log key as its own witness', () => {
    const doubled = { ...trust, witnesses: [keyOf(witness), parseVerifierKey(witness.verifierKey)] };
    expect(() => openTrustedCheckpoint(joinNote(text, lines), doubled)).toThrow('expected one key');
    const { privateKey } = generateKeyPairSync('ed25519');
    const self = [
      ed25519Signer(origin, privateKey),
      ed25519Cosigner('w', privateKey),
      ed25519Cosigner('v', privateKey),
    ];
    const note = signCheckpoint(checkpoint, self, time);
    const [key, ...witnesses] = self.map(keyOf);
    expect(openTrustedCheckpoint(note, { origin, keys: [key!], witnesses, quorum: 1 }).quorumMet).toBe(false);
    const twins = openTrustedCheckpoint(
      joinNote(text, [lines[0]!, ...note.split('\n\n')[1]!.match(/.+\n/g)!]),
      {
        ...trust,
        witnesses,
      },
    );
    expect(twins.witnessedBy).toHaveLength(1);
  });

  it.skipIf(!hasMlDsa44())('a cosignature without a time does not count for the quorum', () => {
    const pq = mlDsa44Signer('w', generateKeyPairSync('ml-dsa-44').privateKey);
    const timeless = signCheckpoint(checkpoint, [log, pq]);
    const timed = joinNote(text, [lines[0]!, signatureLine(text, pq, time)]);
    const pqTrust = { ...trust, witnesses: [keyOf(pq)] };
    expect(openTrustedCheckpoint(timeless, pqTrust).quorumMet).toBe(false);
    expect(openTrustedCheckpoint(timed, pqTrust).quorumMet).toBe(true);
  });
});
