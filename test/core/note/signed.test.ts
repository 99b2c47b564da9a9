import { createHash, createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { GovError } from '../../../src/contract/problems.ts';
import {
  ed25519Signer,
  joinNote,
  mlDsa44Signer,
  NoteError,
  type NoteFault,
  openNote,
  parseVerifierKey,
  signatureLine,
  signNote,
  verifierKeyText,
} from '../../../src/core/note/signed.ts';
import { keyIdText } from '../../../src/core/note/key.ts';
import { hasMlDsa44 } from '../../../src/core/note/signature.ts';
import { hasVectors, vectors } from '../../paths.ts';
import { signedNote } from '../../vectors/c2sp.ts';

const signerOf = (name: string): ReturnType<typeof ed25519Signer> =>
  ed25519Signer(name, generateKeyPairSync('ed25519').privateKey);

const alice = signerOf('alice.example/log');
const bob = signerOf('bob');
const aliceKey = parseVerifierKey(alice.verifierKey);
const bobKey = parseVerifierKey(bob.verifierKey);

/** The fault of the NoteError that `action` throws. */
function faultOf(action: () => unknown): NoteFault | undefined {
  try {
    action();
  } catch (error) {
    if (error instanceof NoteError) return error.fault;
    throw error;
  }
  return undefined;
}

describe('signed note', () => {
  it('openNote opens the example of C2SP signed-note', () => {
    const { name, keyId, verifierKey, text, note } = signedNote;
    const opened = openNote(note, [parseVerifierKey(verifierKey)]);
    expect(opened.text).toBe(text);
    expect(opened.verified).toMatchObject([{ name, keyId, timestampSeconds: null }]);
    expect(opened.unverified).toEqual([]);
  });

  it('openNote opens every signed note, as string and bytes, and none with a changed character', () => {
    const texts = fc.array(fc.string({ unit: 'grapheme' })).map((lines) => `${lines.join('\n')}\n`);
    const clean = texts.map((text) => text.replaceAll(/(?!\n)\p{Cc}/gu, ''));
    fc.assert(
      fc.property(clean, fc.nat(), (text, at) => {
        const note = signNote(text, [alice, bob]);
        expect(openNote(note, [bobKey]).text).toBe(text);
        expect(openNote(Buffer.from(note), [aliceKey, bobKey]).verified).toHaveLength(2);
        const bytes = Buffer.from(note);
        const end = Buffer.byteLength(text);
        bytes[at % end]! ^= 1;
        expect(faultOf(() => openNote(bytes, [aliceKey]))).toMatch(/malformed|invalid_signature/);
      }),
    );
  });

  it('openNote counts each key once and lists signatures of unknown keys as unverified', () => {
    const text = 'text\n';
    const lines = [alice, alice, bob, bob].map((signer) => signatureLine(text, signer));
    const opened = openNote(joinNote(text, lines), [aliceKey]);
    expect(opened.verified.map(({ name }) => name)).toEqual(['alice.example/log']);
    expect(opened.unverified).toEqual([{ name: 'bob', keyId: bob.keyId }]);
  });

  it('openNote refuses the whole note when one trusted signature is wrong', () => {
    const wrong = signatureLine('other\n', bob);
    const note = joinNote('text\n', [signatureLine('text\n', alice), wrong]);
    expect(faultOf(() => openNote(note, [aliceKey, bobKey]))).toBe('invalid_signature');
    expect(openNote(note, [aliceKey]).unverified).toEqual([{ name: 'bob', keyId: bob.keyId }]);
  });

  it('openNote accepts no signature of another key with the same name', () => {
    const note = signNote('text\n', [signerOf('bob')]);
    expect(faultOf(() => openNote(note, [bobKey]))).toBe('no_trusted_signature');
    expect(() => openNote(note, [bobKey])).toThrow(
      `expected a signature of bob+${keyIdText(bob.keyId)}, got bob+`,
    );
  });

  it('openNote separates text and signatures at the last empty line', () => {
    const text = 'a\n\nb\n\n— bob AAAAAAAA\n\n';
    expect(openNote(signNote(text, [bob]), [bobKey]).text).toBe(text);
  });

  it('openNote accepts up to 100 signatures and one megabyte', () => {
    const line = signatureLine('text\n', bob);
    const note = (count: number): string => `text\n\n${line.repeat(count)}`;
    expect(openNote(note(limits.noteSignatures), [bobKey]).verified).toHaveLength(1);
    expect(faultOf(() => openNote(note(limits.noteSignatures + 1), [bobKey]))).toBe('over_limit');
    const text = (bytes: number): string => `${'é'.repeat((bytes - line.length - 4) / 2)}\n`;
    const largest = text(limits.noteBytes);
    const signed = signNote(largest, [bob]);
    expect(Buffer.byteLength(signed)).toBeGreaterThan(limits.noteBytes - 3);
    expect(openNote(signed, [bobKey]).text).toBe(largest);
    expect(faultOf(() => signNote(`éé${largest}`, [bob]))).toBe('over_limit');
    expect(faultOf(() => openNote(Buffer.alloc(limits.noteBytes + 1), [bobKey]))).toBe('over_limit');
  });

  it.each([
    '',
    '\n',
    '\n\n',
    'text\n',
    'text\n\n',
    'text\n\n\n',
    'text\n\n— bob AAAAAAAA',
    'text\n\n-- bob AAAAAAAA\n',
    'text\n\n—  bob AAAAAAAA\n',
    'text\n\n— bob  AAAAAAAA\n',
    'text\n\n— bob AAAAAAAA \n',
    'text\n\n— bob\u00a0b AAAAAAAA\n',
    'text\n\n— bo+b AAAAAAAA\n',
    'text\n\n— bob AAAAAA==\n',
    'text\n\n— bob AAAAAAB=\n',
    'text\n\n— bob AAAAAAAA\r\n',
    'te\txt\n\n— bob AAAAAAAA\n',
    'te\ud800xt\n\n— bob AAAAAAAA\n',
    'text\n\n— bob AAAAAAAA\nmore\n',
  ])('openNote reports %j as malformed', (note) => {
    expect(faultOf(() => openNote(note, [bobKey]))).toBe('malformed');
  });

  it('openNote refuses bytes that are not UTF-8, with overlong forms and surrogates', () => {
    for (const bad of ['ff', 'c080', 'eda080', 'f4908080', 'e2 80'.replace(' ', '')]) {
      const note = Buffer.concat([Buffer.from(bad, 'hex'), Buffer.from('text\n\n— bob AAAAAAAA\n')]);
      expect(
        faultOf(() => openNote(note, [bobKey])),
        bad,
      ).toBe('malformed');
    }
    const bom = '\ufefftext\n';
    expect(openNote(Buffer.from(signNote(bom, [bob])), [bobKey]).text).toBe(bom);
  });

  it('signNote refuses text without a final newline or with control characters', () => {
    for (const text of ['', 'abc', 'a\rb\n', '\0\n', '\ud800\n']) {
      expect(
        faultOf(() => signNote(text, [bob])),
        JSON.stringify(text),
      ).toBe('malformed');
    }
    expect(faultOf(() => joinNote('a\n', ['— bob AAAAAAAA\n', '\n— bob AAAAAAAA\n']))).toBe('malformed');
    expect(faultOf(() => signNote('a\n', []))).toBe('malformed');
  });
});

describe('verifier keys', () => {
  it('a verifier key has the key id that C2SP defines', () => {
    for (const [algorithm, type] of [
      ['ed25519', 1],
      ['ed25519-cosignature', 4],
    ] as const) {
      const text = verifierKeyText('a name/ß'.replace(' ', ''), algorithm, aliceKey.publicKey);
      const preimage = Buffer.concat([Buffer.from('aname/ß\n'), Buffer.from([type]), aliceKey.publicKey]);
      const keyId = createHash('sha256').update(preimage).digest('hex').slice(0, 8);
      expect(text.split('+')[1]).toBe(keyId);
      expect(parseVerifierKey(text)).toMatchObject({ name: 'aname/ß', algorithm, text });
    }
  });

  it.skipIf(!hasMlDsa44())('an ML-DSA-44 verifier key has exactly 1,312 bytes', () => {
    const { verifierKey } = mlDsa44Signer('pq', generateKeyPairSync('ml-dsa-44').privateKey);
    const key = parseVerifierKey(verifierKey);
    expect(key).toMatchObject({ name: 'pq', algorithm: 'ml-dsa-44' });
    expect(key.publicKey).toHaveLength(1312);
    for (const publicKey of [key.publicKey.subarray(1), Buffer.concat([key.publicKey, Buffer.alloc(1)])]) {
      const raw = Buffer.concat([Buffer.from([6]), publicKey]);
      const id = createHash('sha256').update('pq\n').update(raw).digest('hex').slice(0, 8);
      expect(() => parseVerifierKey(`pq+${id}+${raw.toString('base64')}`)).toThrow(
        'a public key for ml-dsa-44',
      );
      expect(() => verifierKeyText('pq', 'ml-dsa-44', publicKey)).toThrow('1312');
    }
  });

  it('a verifier key has a name without spaces and plus signs', () => {
    for (const name of ['', 'a b', 'a+b', 'a\nb', 'a\u2003b', 'a\u0085b', '\ud800']) {
      expect(() => verifierKeyText(name, 'ed25519', aliceKey.publicKey), JSON.stringify(name)).toThrow(
        RangeError,
      );
      expect(() => ed25519Signer(name, generateKeyPairSync('ed25519').privateKey)).toThrow(RangeError);
    }
  });

  it('a signer needs a private key of its own algorithm', () => {
    expect(() => ed25519Signer('a', generateKeyPairSync('ed25519').publicKey)).toThrow(
      'expected a private key',
    );
    expect(() => ed25519Signer('a', generateKeyPairSync('x25519').privateKey)).toThrow(
      'expected a private key',
    );
  });
});

interface NoteVectors {
  readonly open: readonly {
    readonly name: string;
    readonly verifiers: readonly string[];
    readonly msg?: string;
    readonly msgHex?: string;
    readonly ok: boolean;
    readonly verified?: readonly string[];
    readonly unverified?: readonly string[];
    readonly unverifiedCount?: number;
    readonly error?: string;
  }[];
  readonly sign: {
    readonly skey: string;
    readonly text: string;
    readonly signed: string;
    readonly badTexts: string[];
  };
  readonly badVerifierKeys: readonly string[];
}

const faults: Record<string, NoteFault[]> = {
  'malformed note': ['malformed', 'over_limit'],
  'note has no verifiable signatures': ['no_trusted_signature'],
  'ambiguous key EnochRoot+af0cfe78': ['ambiguous_key'],
  'invalid signature for key PeterNeumann+c74f20a3': ['invalid_signature'],
};

describe.skipIf(!hasVectors)(
  'golang.org/x/mod/sumdb/note vectors (skipped where GOV_VECTORS is absent)',
  () => {
    const suite = hasVectors
      ? (JSON.parse(readFileSync(vectors('signed-note/note.json'), 'utf8')) as NoteVectors)
      : ({ open: [] } as unknown as NoteVectors);

    it.each(suite.open)('the Go note vector $name gives the published result', (each) => {
      const keys = each.verifiers.map(parseVerifierKey);
      const note = each.msg ?? Buffer.from(each.msgHex ?? '', 'hex');
      if (!each.ok) {
        expect(faults[each.error ?? '']).toContain(faultOf(() => openNote(note, keys)));
        return;
      }
      const { verified, unverified } = openNote(note, keys);
      const text = ({ name, keyId }: { name: string; keyId: number }): string =>
        `${name}+${keyIdText(keyId)}`;
      expect(verified.map(text)).toEqual(each.verified);
      if (each.unverified !== undefined) expect(unverified.map(text)).toEqual(each.unverified);
      if (each.unverifiedCount !== undefined) expect(unverified).toHaveLength(each.unverifiedCount);
    });

    it('signNote writes the same signature as the Go package', () => {
      const seed = Buffer.from(suite.sign.skey.split('+').slice(4).join('+'), 'base64').subarray(1);
      const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
      const signer = ed25519Signer(
        'PeterNeumann',
        createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }),
      );
      expect(signNote(suite.sign.text, [signer])).toBe(suite.sign.signed);
      for (const text of suite.sign.badTexts)
        expect(faultOf(() => signNote(text, [signer]))).toBe('malformed');
    });

    it('parseVerifierKey refuses bad keys, substrings of a good key, and changed bytes', () => {
      const good = suite.open[0]!.verifiers[0]!;
      expect(parseVerifierKey(good).name).toBe('PeterNeumann');
      const bad = [...suite.badVerifierKeys];
      for (let at = 0; at < good.length; at++) {
        bad.push(good.slice(0, at), good.slice(at + 1));
        bad.push(good.slice(0, at) + String.fromCharCode(good.charCodeAt(at) + 1) + good.slice(at + 1));
      }
      for (const text of bad) expect(() => parseVerifierKey(text), text).toThrow(GovError);
    });
  },
);
