/**
 * DSSE v1 envelopes (secure-systems-lab/dsse protocol.md) with in-toto Statement v1 payloads. The signatures are ECDSA
 * P-256 with SHA-256, which cosign and sigstore clients verify.
 * Proven by `test/core/note/dsse.test.ts` (vector of the specification, @sigstore/verify).
 */
import { type KeyObject, sign, verify } from 'node:crypto';
import { encodeBase64, decodeBase64 } from '../json/base64.ts';
import { isObject } from '../json/object.ts';

export const inTotoPayloadType = 'application/vnd.in-toto+json';
const statementType = 'https://in-toto.io/Statement/v1';

export interface DsseEnvelope {
  readonly payload: string;
  readonly payloadType: string;
  readonly signatures: readonly { readonly keyid?: string; readonly sig: string }[];
}

/** Returns the signed bytes: `DSSEv1 <length> <type> <length> <payload>`, lengths in bytes. */
export function pae(payloadType: string, payload: Uint8Array): Buffer {
  const type = Buffer.from(payloadType);
  return Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${payloadType} ${payload.length} `), payload]);
}

/** Returns an envelope with one DER signature by a P-256 private key. Throws TypeError for another key. */
export function signDsse(
  payloadType: string,
  payload: Uint8Array,
  privateKey: KeyObject,
  { keyid }: { readonly keyid?: string } = {},
): DsseEnvelope {
  if (!isP256(privateKey) || privateKey.type !== 'private') {
    throw new TypeError(`expected an ECDSA P-256 private key, got ${privateKey.asymmetricKeyType}`);
  }
  const sig = encodeBase64(sign('sha256', pae(payloadType, payload), privateKey));
  const signatures = [keyid === undefined ? { sig } : { keyid, sig }];
  return { payload: encodeBase64(payload), payloadType, signatures };
}

/**
 * Returns the payload if one of the signatures is by this P-256 key, else null. It ignores the key id, an unsigned hint.
 * It accepts DER and raw r||s signatures. The envelope is attacker controlled; never throws. The caller must check
 * `payloadType`.
 */
export function verifyDsse(envelope: unknown, publicKey: KeyObject): Buffer | null {
  if (!isEnvelope(envelope) || !isP256(publicKey)) return null;
  const payload = decodeEither(envelope.payload);
  if (payload === null) return null;
  const message = pae(envelope.payloadType, payload);
  return envelope.signatures.some(({ sig }) => verifySignature(message, sig, publicKey)) ? payload : null;
}

export interface Statement {
  readonly subject: readonly { readonly name: string; readonly digest: Readonly<Record<string, string>> }[];
  readonly predicateType: string;
  readonly predicate: unknown;
}

/** Returns an in-toto Statement v1 about one artifact; its JSON bytes are the payload to sign. */
export function inTotoStatement(
  subject: { readonly name: string; readonly sha256: string },
  predicateType: string,
  predicate: unknown,
): Statement & { readonly _type: string } {
  const { name, sha256 } = subject;
  return { _type: statementType, subject: [{ name, digest: { sha256 } }], predicateType, predicate };
}

/**
 * Returns the statement in an envelope that this key signed, else null: `verifyDsse`, then payload type and form of the
 * statement. The caller must compare the digest of the subject. The envelope is attacker controlled.
 */
export function openStatement(envelope: unknown, publicKey: KeyObject): Statement | null {
  const payload = verifyDsse(envelope, publicKey);
  if (payload === null || (envelope as DsseEnvelope).payloadType !== inTotoPayloadType) return null;
  try {
    const statement: unknown = JSON.parse(payload.toString());
    return isStatement(statement) ? statement : null;
  } catch {
    return null;
  }
}

const maxSignatures = 16;

function isEnvelope(value: unknown): value is DsseEnvelope {
  if (!isObject(value) || typeof value['payload'] !== 'string' || typeof value['payloadType'] !== 'string') {
    return false;
  }
  const { signatures } = value;
  return (
    Array.isArray(signatures) &&
    signatures.length <= maxSignatures &&
    signatures.every((each) => isObject(each) && typeof each['sig'] === 'string')
  );
}

function isStatement(value: unknown): value is Statement {
  if (!isObject(value) || value['_type'] !== statementType || typeof value['predicateType'] !== 'string')
    return false;
  const { subject } = value;
  return (
    Array.isArray(subject) &&
    subject.length > 0 &&
    subject.every(
      (each) =>
        isObject(each) &&
        typeof each['name'] === 'string' &&
        isObject(each['digest']) &&
        Object.values(each['digest']).every((digest) => typeof digest === 'string'),
    )
  );
}

const isP256 = (key: KeyObject): boolean =>
  key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';

/** The specification allows both base64 alphabets. */
const decodeEither = (text: string): Buffer | null =>
  decodeBase64(text.replaceAll('-', '+').replaceAll('_', '/'));

const rawSignatureBytes = 64;

function verifySignature(message: Uint8Array, sig: string, key: KeyObject): boolean {
  const signature = decodeEither(sig);
  if (signature === null) return false;
  const dsaEncoding = signature.length === rawSignatureBytes ? 'ieee-p1363' : 'der';
  try {
    return verify('sha256', message, { key, dsaEncoding }, signature);
  } catch {
    return false;
  }
}
