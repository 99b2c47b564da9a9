/**
 * DSSE v1 envelopes (secure-systems-lab/dsse protocol.md) with in-toto Statement v1 payloads. The signatures are ECDSA
 * P-256 with SHA-256, which cosign and sigstore clients verify.
 * Proven by `test/core/note/dsse.test.ts` (vector of the specification, @sigstore/verify).
 */
import { type KeyObject, sign } from 'node:crypto';
import { encodeBase64 } from '../json/base64.ts';

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

const isP256 = (key: KeyObject): boolean =>
  key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';
