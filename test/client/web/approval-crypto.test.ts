/** What verifies signed approvals outside of Node gives the answers of node:crypto. */
import * as node from 'node:crypto';
import { p256, p384, p521 } from '@noble/curves/nist.js';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPublicKey, hash, verify } from '../../../src/client/web/approval-crypto.ts';

type Digest = 'sha256' | 'sha384' | 'sha512';
interface Signature {
  readonly digest: Digest | null;
  readonly message: Uint8Array;
  readonly bytes: Uint8Array;
  readonly dsaEncoding?: 'der' | 'ieee-p1363';
}

/** The answer of Node and ours; a key that cannot be read verifies nothing. */
function answers(
  key: { jwk: node.JsonWebKey } | { der: Buffer },
  { digest, message, bytes, dsaEncoding = 'der' }: Signature,
) {
  const attempt = (run: () => boolean): boolean => {
    try {
      return run();
    } catch {
      return false;
    }
  };
  const given =
    'jwk' in key
      ? ({ key: key.jwk, format: 'jwk' } as const)
      : ({ key: key.der, format: 'der', type: 'spki' } as const);
  return {
    web: attempt(() => verify(digest, message, { key: createPublicKey(given as never), dsaEncoding }, bytes)),
    node: attempt(() => {
      const object = node.createPublicKey(given);
      // as the verifier of passkeys compares it
      const isExact = 'jwk' in key || object.export({ format: 'der', type: 'spki' }).equals(key.der);
      return isExact && node.verify(digest, message, { key: object, dsaEncoding }, bytes);
    }),
  };
}
const same = (web: boolean) => ({ web, node: web });
const message = Buffer.from('message');
const mutations = fc.record({ at: fc.nat(), bit: fc.nat(7) });
const flipped = (bytes: Uint8Array, { at, bit }: { at: number; bit: number }): Buffer => {
  const copy = Buffer.from(bytes);
  copy[at % copy.length]! ^= 1 << bit;
  return copy;
};

it('a hash of any bytes or text is that of Node', () => {
  const data = fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.string({ unit: 'binary' }));
  fc.assert(
    fc.property(data, fc.constantFrom<Digest>('sha256', 'sha384', 'sha512'), (value, name) => {
      expect(hash(name, value, 'base64')).toBe(node.hash(name, value, 'base64'));
    }),
    { numRuns: 40 },
  );
});

describe.each([
  ['P-256', 'sha256', p256],
  ['P-384', 'sha384', p384],
  ['P-521', 'sha512', p521],
] as const)('ECDSA on %s', (namedCurve, digest, curve) => {
  const { publicKey, privateKey } = node.generateKeyPairSync('ec', { namedCurve });
  const jwk = publicKey.export({ format: 'jwk' });
  const size = curve.Point.Fn.BYTES;
  const order = curve.Point.Fn.ORDER;
  const sign = (text: Uint8Array, dsaEncoding: 'der' | 'ieee-p1363') =>
    node.sign(digest, text, { key: privateKey, dsaEncoding });
  const number = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(2 * size, '0'), 'hex');

  it('a signature verifies in both encodings, and has the answer of Node with any bit of it or of the key changed', () => {
    fc.assert(
      fc.property(
        fc.uint8Array(),
        mutations,
        fc.constantFrom('der', 'ieee-p1363'),
        (text, change, dsaEncoding) => {
          const bytes = sign(text, dsaEncoding);
          const given = { digest, message: text, bytes, dsaEncoding };
          expect(answers({ jwk }, given)).toEqual(same(true));
          const changed = { ...given, bytes: flipped(bytes, change) };
          const { web, node: ours } = answers({ jwk }, changed);
          expect(web).toBe(ours);
          const x = flipped(Buffer.from(jwk.x!, 'base64url'), change).toString('base64url');
          expect(answers({ jwk: { ...jwk, x } }, given)).toEqual(same(false));
        },
      ),
      { numRuns: 4 },
    );
  });

  it('a longer hash than the curve is cut, as in Node', () => {
    const bytes = node.sign('sha512', message, privateKey);
    expect(answers({ jwk }, { digest: 'sha512', message, bytes })).toEqual(same(true));
  });

  it('both halves verify, and no number outside of 1 to the order does', () => {
    const bytes = sign(message, 'ieee-p1363');
    const [r, s] = [0, size].map((at) => BigInt(`0x${bytes.subarray(at, at + size).toString('hex')}`)) as [
      bigint,
      bigint,
    ];
    const of = (one: bigint, other: bigint) =>
      answers(
        { jwk },
        { digest, message, bytes: Buffer.concat([number(one), number(other)]), dsaEncoding: 'ieee-p1363' },
      );
    expect(of(r, order - s)).toEqual(same(true));
    for (const [one, other] of [
      [0n, s],
      [r, 0n],
      [order, s],
      [r, order],
      [0n, 0n],
      [1n, 1n],
    ] as const)
      expect(of(one, other)).toEqual(same(false));
    for (const each of [Buffer.alloc(0), bytes.subarray(1), Buffer.concat([bytes, Buffer.alloc(1)])])
      expect(answers({ jwk }, { digest, message, bytes: each, dsaEncoding: 'ieee-p1363' })).toEqual(
        same(false),
      );
  });
});

describe('keys in DER', () => {
  const { publicKey, privateKey } = node.generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const der = publicKey.export({ format: 'der', type: 'spki' });
  const signature = node.sign('sha256', message, privateKey);

  it('another spelling of a signature in DER has the answer of Node', () => {
    const spellings = [
      Buffer.concat([signature, Buffer.from([0])]),
      Buffer.concat([Buffer.from([0x30, 0x81]), signature.subarray(1)]),
      Buffer.concat([Buffer.from([0x31]), signature.subarray(1)]),
      Buffer.concat([
        Buffer.from([0x30, signature[1]! + 1, 0x02, signature[3]! + 1, 0]),
        signature.subarray(4),
      ]),
      Buffer.from('3006020101020101', 'hex'),
      Buffer.from('3006020181020101', 'hex'),
      Buffer.from('300402000200', 'hex'),
      Buffer.from('3080', 'hex'),
      Buffer.alloc(0),
    ];
    for (const bytes of spellings)
      expect(answers({ der }, { digest: 'sha256', message, bytes })).toEqual(same(false));
    expect(answers({ der }, { digest: 'sha256', message, bytes: signature })).toEqual(same(true));
  });

  it('a key with any bit changed verifies nothing, as in Node', () => {
    for (let at = 0; at < der.length * 8; at += 5) {
      const changed = flipped(der, { at: at >> 3, bit: at & 7 });
      expect(answers({ der: changed }, { digest: 'sha256', message, bytes: signature })).toEqual(same(false));
    }
  });
});

describe('RSA', () => {
  const pairs = [1024, 2048, 3072].map((modulusLength) => node.generateKeyPairSync('rsa', { modulusLength }));
  const integer = (bytes: Buffer): Buffer =>
    bytes[0]! < 0x80 ? bytes : Buffer.concat([Buffer.alloc(1), bytes]);
  const element = (tag: number, ...parts: Buffer[]): Buffer => {
    const content = Buffer.concat(parts);
    const { length } = content;
    const size =
      length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 255];
    return Buffer.concat([Buffer.from([tag, ...size]), content]);
  };
  const spki = (n: Buffer, e: Buffer, algorithm = '06092a864886f70d0101010500'): Buffer =>
    element(
      0x30,
      element(0x30, Buffer.from(algorithm, 'hex')),
      element(0x03, Buffer.alloc(1), element(0x30, element(0x02, integer(n)), element(0x02, integer(e)))),
    );

  it('a signature verifies with SHA-256 and SHA-512, and not with a bit changed or another length', () => {
    for (const { publicKey, privateKey } of pairs) {
      const key = { der: publicKey.export({ format: 'der', type: 'spki' }) };
      for (const digest of ['sha256', 'sha512'] as const) {
        const bytes = node.sign(digest, message, privateKey);
        expect(answers(key, { digest, message, bytes })).toEqual(same(true));
        expect(answers({ jwk: publicKey.export({ format: 'jwk' }) }, { digest, message, bytes })).toEqual(
          same(true),
        );
        for (const other of [
          flipped(bytes, { at: 9, bit: 1 }),
          bytes.subarray(1),
          Buffer.concat([Buffer.alloc(1), bytes]),
          Buffer.alloc(0),
        ])
          expect(answers(key, { digest, message, bytes: other })).toEqual(same(false));
        expect(answers(key, { digest: digest === 'sha256' ? 'sha512' : 'sha256', message, bytes })).toEqual(
          same(false),
        );
      }
    }
  });

  it('padding of another form is refused, as in Node, also with the exponent 1 that shows it', () => {
    const { n = '' } = pairs[1]!.publicKey.export({ format: 'jwk' });
    const modulus = Buffer.from(n, 'base64url');
    const digest = node.hash('sha256', message, 'buffer');
    const info = Buffer.from('3031300d060960864801650304020105000420', 'hex');
    const padded = (head: number[], fill: number, ...rest: Buffer[]): Buffer => {
      const tail = Buffer.concat([Buffer.alloc(1), ...rest]);
      return Buffer.concat([Buffer.from(head), Buffer.alloc(256 - head.length - tail.length, fill), tail]);
    };
    const sound = padded([0, 1], 0xff, info, digest);
    const one = Buffer.from([1]);
    expect(answers({ der: spki(modulus, one) }, { digest: 'sha256', message, bytes: sound })).toEqual(
      same(true),
    );
    const forms = [
      padded([0, 2], 0xff, info, digest),
      padded([0, 1], 0xfe, info, digest),
      padded([0, 1], 0xff, digest),
      padded([0, 1], 0xff, info, digest, Buffer.alloc(1)),
      padded([0, 1], 0xff, Buffer.from('302f300b06096086480165030402010420', 'hex'), digest),
    ];
    for (const bytes of forms)
      expect(answers({ der: spki(modulus, one) }, { digest: 'sha256', message, bytes })).toEqual(same(false));
    const even = Buffer.from(modulus);
    even[255]! &= 0xfe;
    for (const der of [
      spki(even, one),
      spki(modulus, Buffer.alloc(1)),
      spki(modulus, Buffer.alloc(300, 1)),
      spki(Buffer.alloc(2100, 0xff), one),
      spki(Buffer.from([1]), one),
    ])
      expect(answers({ der }, { digest: 'sha256', message, bytes: sound })).toEqual(same(false));
  });

  it('a key in another spelling than that of DER is refused', () => {
    const { n = '' } = pairs[1]!.publicKey.export({ format: 'jwk' });
    const modulus = Buffer.from(n, 'base64url');
    const e = Buffer.from([1, 0, 1]);
    expect(createPublicKey({ key: spki(modulus, e), format: 'der' }).asymmetricKeyType).toBe('rsa');
    for (const der of [
      spki(modulus, Buffer.concat([Buffer.alloc(1), e])),
      spki(modulus, e, '06092a864886f70d010101'),
      spki(modulus, e, '06092a864886f70d01010a0500'),
      Buffer.concat([spki(modulus, e), Buffer.alloc(1)]),
      spki(modulus, e).subarray(1),
      Buffer.alloc(0),
    ])
      expect(() => createPublicKey({ key: der, format: 'der' })).toThrow(/expected/);
  });
});
