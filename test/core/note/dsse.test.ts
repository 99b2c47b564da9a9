import { generateKeyPairSync, verify } from 'node:crypto';
import { toSignedEntity, Verifier } from '@sigstore/verify';
import { describe, expect, it } from 'vitest';
import {
  type DsseEnvelope,
  inTotoPayloadType,
  inTotoStatement,
  pae,
  signDsse,
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

  it('a DSSE envelope has a signature of the pre-authentication encoding, and names the key', () => {
    expect(envelope).toMatchObject({ payloadType: 'text/plain', signatures: [{ keyid: 'k1' }] });
    const signature = Buffer.from(envelope.signatures[0]!.sig, 'base64');
    expect(verify('sha256', pae('text/plain', payload), publicKey, signature)).toBe(true);
    expect(verify('sha256', pae('text/plaim', payload), publicKey, signature)).toBe(false);
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
  const envelopeOf = (value: unknown): DsseEnvelope =>
    signDsse(inTotoPayloadType, Buffer.from(JSON.stringify(value)), privateKey);

  it('an in-toto statement has the form of Statement v1', () => {
    expect(statement).toEqual({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: 'prf_1', digest: { sha256: 'ab'.repeat(32) } }],
      predicateType: 'https://example.com/proof/v1',
      predicate: { a: 1 },
    });
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
