import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { toSignedEntity, Verifier } from '@sigstore/verify';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type DsseEnvelope,
  inTotoPayloadType,
  inTotoStatement,
  openStatement,
  pae,
  signDsse,
  verifyDsse,
} from '../../../src/core/note/dsse.ts';
import { example } from '../../vectors/dsse.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const payload = Buffer.from('hello wörld');
const envelope = signDsse('text/plain', payload, privateKey, { keyid: 'k1' });

describe('DSSE envelope', () => {
  it('a DSSE envelope signs the pre-authentication encoding, with lengths in bytes', () => {
    expect(pae(example.payloadType, Buffer.from(example.payload)).toString()).toBe(example.pae);
    expect(pae('é', payload).toString()).toBe('DSSEv1 2 é 12 hello wörld');
  });

  it('a DSSE envelope opens with the key that signed it and with no other', () => {
    expect(envelope).toMatchObject({ payloadType: 'text/plain', signatures: [{ keyid: 'k1' }] });
    expect(verifyDsse(envelope, publicKey)).toEqual(payload);
    const other = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    expect(verifyDsse(envelope, other.publicKey)).toBeNull();
    expect(verifyDsse(envelope, generateKeyPairSync('ed25519').publicKey)).toBeNull();
    expect(verifyDsse(envelope, generateKeyPairSync('ec', { namedCurve: 'secp384r1' }).publicKey)).toBeNull();
  });

  it('a DSSE envelope opens with any one valid signature, whatever the key ids say', () => {
    const [good] = envelope.signatures;
    const signatures = [{ keyid: 'k1', sig: 'AAAA' }, { sig: '' }, { ...good!, keyid: 'other' }];
    expect(verifyDsse({ ...envelope, signatures }, publicKey)).toEqual(payload);
    expect(verifyDsse({ ...envelope, signatures: signatures.slice(0, 2) }, publicKey)).toBeNull();
    expect(verifyDsse({ ...envelope, signatures: [] }, publicKey)).toBeNull();
    const many = (count: number): unknown => ({
      ...envelope,
      signatures: Array.from({ length: count }, () => good),
    });
    expect(verifyDsse(many(16), publicKey)).toEqual(payload);
    expect(verifyDsse(many(17), publicKey)).toBeNull();
  });

  it('a DSSE envelope may have raw r||s signatures and the URL-safe alphabet', () => {
    const raw = sign('sha256', pae('text/plain', payload), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    const urlSafe = raw.toString('base64').replaceAll('+', '-').replaceAll('/', '_');
    expect(verifyDsse({ ...envelope, signatures: [{ sig: raw.toString('base64') }] }, publicKey)).toEqual(
      payload,
    );
    expect(verifyDsse({ ...envelope, signatures: [{ sig: urlSafe }] }, publicKey)).toEqual(payload);
  });

  it('a DSSE envelope with a changed bit in payload, type or signature does not open', () => {
    fc.assert(
      fc.property(fc.constantFrom('payload', 'payloadType', 'sig'), fc.nat(), (member, bit) => {
        const flip = (base64: string): string => {
          const bytes = Buffer.from(base64, 'base64');
          bytes[Math.floor(bit / 8) % bytes.length]! ^= 1 << (bit % 8);
          return bytes.toString('base64');
        };
        const changed: DsseEnvelope = {
          payload: member === 'payload' ? flip(envelope.payload) : envelope.payload,
          payloadType: member === 'payloadType' ? 'text/plaim' : envelope.payloadType,
          signatures: envelope.signatures.map(({ sig }) => ({ sig: member === 'sig' ? flip(sig) : sig })),
        };
        expect(verifyDsse(changed, publicKey)).toBeNull();
      }),
    );
  });

  it('opening a DSSE envelope returns null and never throws, whatever an attacker sends', () => {
    const anything = fc.oneof(
      fc.anything(),
      fc.record({ payload: fc.anything(), payloadType: fc.string(), signatures: fc.anything() }),
    );
    fc.assert(
      fc.property(anything, (hostile) => {
        expect(verifyDsse(hostile, publicKey)).toBeNull();
        expect(openStatement(hostile, publicKey)).toBeNull();
      }),
    );
  });

  it('a DSSE envelope is signed by P-256 private keys only', () => {
    for (const key of [publicKey, generateKeyPairSync('ed25519').privateKey]) {
      expect(() => signDsse('text/plain', payload, key)).toThrow('expected an ECDSA P-256 private key');
    }
  });
});

describe('in-toto statement', () => {
  const statement = inTotoStatement(
    { name: 'prf_1', sha256: 'ab'.repeat(32) },
    'https://example.com/proof/v1',
    { a: 1 },
  );
  const envelopeOf = (value: unknown, type = inTotoPayloadType): DsseEnvelope =>
    signDsse(type, Buffer.from(JSON.stringify(value)), privateKey);

  it('an in-toto statement has the form of Statement v1, and opens', () => {
    expect(statement).toEqual({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: 'prf_1', digest: { sha256: 'ab'.repeat(32) } }],
      predicateType: 'https://example.com/proof/v1',
      predicate: { a: 1 },
    });
    expect(openStatement(envelopeOf(statement), publicKey)).toEqual(statement);
  });

  it.each([
    null,
    [],
    {},
    { ...statement, _type: 'https://in-toto.io/Statement/v0.1' },
    { ...statement, subject: [] },
    { ...statement, subject: [{ name: 'x', digest: 'ab' }] },
    { ...statement, subject: [{ name: 'x', digest: { sha256: 5 } }] },
    { ...statement, subject: [{ digest: { sha256: 'ab' } }] },
    { ...statement, predicateType: undefined },
  ])('an in-toto statement does not open as %j', (value) => {
    expect(openStatement(envelopeOf(value), publicKey)).toBeNull();
  });

  it('an in-toto statement does not open under another payload type or as invalid JSON', () => {
    expect(openStatement(envelopeOf(statement, 'application/json'), publicKey)).toBeNull();
    expect(openStatement(signDsse(inTotoPayloadType, Buffer.from('{'), privateKey), publicKey)).toBeNull();
  });

  it('an in-toto statement verifies with @sigstore/verify, and not with a byte changed', () => {
    const verifyElsewhere = ({ payload, payloadType, signatures }: DsseEnvelope): void => {
      const bundle = {
        mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
        content: {
          $case: 'dsseEnvelope',
          dsseEnvelope: {
            payload: Buffer.from(payload, 'base64'),
            payloadType,
            signatures: signatures.map(({ sig, keyid = '' }) => ({ sig: Buffer.from(sig, 'base64'), keyid })),
          },
        },
        verificationMaterial: {
          content: { $case: 'publicKey', publicKey: { hint: 'k1' } },
          tlogEntries: [],
          timestampVerificationData: undefined,
        },
      };
      const trust = {
        certificateAuthorities: [],
        timestampAuthorities: [],
        tlogs: [],
        ctlogs: [],
        publicKey: () => ({ publicKey, validFor: () => true }),
      };
      const verifier = new Verifier(trust as never, {
        tlogThreshold: 0,
        ctlogThreshold: 0,
        timestampThreshold: 0,
      });
      verifier.verify(toSignedEntity(bundle as never));
    };
    const good = envelopeOf(statement);
    verifyElsewhere(good);
    const changed = { ...good, payload: Buffer.from('{}').toString('base64') };
    expect(() => verifyElsewhere(changed)).toThrow('signature verification failed');
  });
});

describe('the example of DSSE protocol.md', () => {
  it('the envelope of DSSE protocol.md opens with its key, and with no other type', () => {
    const coordinate = (decimal: string): string =>
      Buffer.from(BigInt(decimal).toString(16).padStart(64, '0'), 'hex').toString('base64url');
    const jwk = { kty: 'EC', crv: 'P-256', x: coordinate(example.key.x), y: coordinate(example.key.y) };
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    expect(verifyDsse(example.envelope, key)?.toString()).toBe(example.payload);
    expect(verifyDsse({ ...example.envelope, payloadType: 'http://example.com/Other' }, key)).toBeNull();
  });
});
