/**
 * Passkeys: registration and assertion of WebAuthn Level 3 (§7.1, §7.2), as far as an approval needs them. Checked are
 * type, challenge, origin, crossOrigin, the hash of the relying party id, user presence and user verification, and the
 * signature: ES256, EdDSA (Ed25519) or RS256. Attestation is not used: who enrols a key is the matter of the log.
 * Attacker controlled; nothing here throws. Proven by `test/core/approvals/passkey.test.ts`, with
 * @simplewebauthn/server as the oracle.
 */
import { createPublicKey, hash, verify, type KeyObject } from 'node:crypto';
import { isObject } from '../json/object.ts';
import { parseJson, type JsonObject } from '../json/parse.ts';

/** COSE algorithms (RFC 9053, RFC 8812), in the order of preference. */
export const coseAlgorithms = [-7, -8, -257] as const;

const flag = { userPresent: 0x01, userVerified: 0x04, attested: 0x40, extensions: 0x80 } as const;
const headBytes = 37;
const leastRsaBits = 2048;
/** First byte of a point in the only form that browsers give, byte 26 of its SubjectPublicKeyInfo. */
const uncompressed = 4;

export interface Passkey {
  /** SubjectPublicKeyInfo, base64. */
  readonly publicKey: string;
  readonly credentialId: string;
  readonly rpId: string;
  readonly origin: string;
}

/** Members in base64url, as `PublicKeyCredential.toJSON()` gives them. */
export interface Registration {
  readonly id: string;
  readonly clientDataJSON: string;
  readonly authenticatorData: string;
  readonly publicKey: string;
}

export interface Assertion {
  readonly clientDataJSON: string;
  readonly authenticatorData: string;
  readonly signature: string;
}

/** The challenge in client data, decoded; null if it is malformed. Attacker controlled. */
export function challengeOf(clientDataJSON: string): { challenge: Buffer; origin: string } | null {
  const data = clientData(clientDataJSON);
  const { challenge, origin } = data ?? {};
  const bytes = typeof challenge === 'string' ? base64url(challenge) : null;
  return bytes === null || typeof origin !== 'string' ? null : { challenge: bytes, origin };
}

/** Returns the passkey of a registration for this challenge, origin and relying party, or the fault. */
export function registered(
  { id, clientDataJSON, authenticatorData, publicKey }: Registration,
  expected: { readonly challenge: Uint8Array; readonly origin: string; readonly rpId: string },
): { readonly passkey: Passkey; readonly counter: number } | { readonly fault: string } {
  const { origin, rpId } = expected;
  const fault = clientDataFault(clientDataJSON, { ...expected, type: 'webauthn.create' });
  if (fault !== null) return { fault };
  const data = authenticator(authenticatorData, rpId);
  if ('fault' in data) return data;
  const der = base64url(publicKey);
  const key = der === null ? null : keyOf(der);
  const credentialId = base64url(id);
  if (der === null || key === null)
    return { fault: 'expected an ES256, EdDSA or RS256 public key, got another one' };
  if (credentialId === null || !isAttested(data.bytes, credentialId, key))
    return { fault: 'expected authenticator data with this credential id and public key, got other data' };
  return {
    passkey: { publicKey: der.toString('base64'), credentialId: id, rpId, origin },
    counter: data.counter,
  };
}

/** Returns the signature counter if the passkey signed this challenge, or the fault. */
export function asserted(
  { clientDataJSON, authenticatorData, signature }: Assertion,
  { publicKey, rpId, origin }: Passkey,
  challenge: Uint8Array,
): { readonly counter: number } | { readonly fault: string } {
  const fault = clientDataFault(clientDataJSON, { type: 'webauthn.get', challenge, origin });
  if (fault !== null) return { fault };
  const data = authenticator(authenticatorData, rpId);
  if ('fault' in data) return data;
  const der = Buffer.from(publicKey, 'base64');
  const key = der.toString('base64') === publicKey ? keyOf(der) : null;
  const bytes = base64url(signature);
  const client = base64url(clientDataJSON) ?? Buffer.alloc(0);
  const signed = Buffer.concat([data.bytes, hash('sha256', client, 'buffer')]);
  const digest = key?.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  const isValid =
    key !== null && bytes !== null && verify(digest, signed, { key, dsaEncoding: 'der' }, bytes);
  return isValid
    ? { counter: data.counter }
    : { fault: 'expected a valid signature of this statement, got an invalid one' };
}

/** The relying party of an origin: its host, or a parent domain of it. */
export function isRelyingParty(rpId: string, origin: string): boolean {
  let url: URL;
  try {
    url = new URL(origin);
  } catch {
    return false;
  }
  const isSecure = url.protocol === 'https:' || (url.protocol === 'http:' && url.hostname === 'localhost');
  return url.origin === origin && isSecure && (url.hostname === rpId || url.hostname.endsWith(`.${rpId}`));
}

function clientDataFault(
  encoded: string,
  expected: { readonly type: string; readonly challenge: Uint8Array; readonly origin: string },
): string | null {
  const data = clientData(encoded);
  if (data === null) return 'expected clientDataJSON, got another text';
  const { type, challenge, origin, crossOrigin = false } = data;
  const wanted = Buffer.from(expected.challenge).toString('base64url');
  if (type !== expected.type) return `expected clientDataJSON of type ${expected.type}, got ${shown(type)}`;
  if (challenge !== wanted) return 'expected the challenge of this statement, got another one';
  if (origin !== expected.origin) return `expected origin ${expected.origin}, got ${shown(origin)}`;
  if (crossOrigin !== false || data['topOrigin'] !== undefined)
    return 'expected a page of its own, got one in the frame of another origin';
  return null;
}

interface AuthenticatorData {
  readonly bytes: Buffer;
  readonly counter: number;
}

function authenticator(encoded: string, rpId: string): AuthenticatorData | { readonly fault: string } {
  const bytes = base64url(encoded);
  if (bytes === null || bytes.length < headBytes)
    return { fault: 'expected authenticator data, got other bytes' };
  const flags = bytes[32] ?? 0;
  if (!bytes.subarray(0, 32).equals(hash('sha256', rpId, 'buffer')))
    return { fault: `expected authenticator data for ${rpId}, got those for another relying party` };
  if ((flags & flag.userPresent) === 0) return { fault: 'expected the flag user present, got none' };
  if ((flags & flag.userVerified) === 0)
    return {
      fault: 'expected the flag user verified, got none: the authenticator has to check a PIN or a biometric',
    };
  if ((flags & (flag.attested | flag.extensions)) === 0 && bytes.length !== headBytes)
    return { fault: `expected ${headBytes} bytes of authenticator data, got ${bytes.length}` };
  return { bytes, counter: bytes.readUInt32BE(33) };
}

/** Whether authenticator data attest this credential id and this key. The COSE key is written, not read. */
function isAttested(bytes: Buffer, id: Buffer, key: KeyObject): boolean {
  const flags = bytes[32] ?? 0;
  if ((flags & flag.attested) === 0 || bytes.length < headBytes + 18 + id.length) return false;
  const from = headBytes + 18;
  const hasId =
    bytes.readUInt16BE(headBytes + 16) === id.length && bytes.subarray(from, from + id.length).equals(id);
  const rest = bytes.subarray(from + id.length);
  const cose = coseKey(key);
  const isWhole = (flags & flag.extensions) !== 0 || rest.length === cose.length;
  return hasId && isWhole && rest.subarray(0, cose.length).equals(cose);
}

/** The COSE_Key (RFC 9052 §7) in the canonical CBOR of CTAP2, the only form that authenticators write. */
function coseKey(key: KeyObject): Buffer {
  const { kty, x = '', y = '', n = '', e = '' } = key.export({ format: 'jwk' });
  const bytes = (text: string, head: number[]): Buffer =>
    Buffer.concat([Buffer.from(head), Buffer.from(text, 'base64url')]);
  if (kty === 'EC') {
    const head = Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01]);
    return Buffer.concat([head, bytes(x, [0x21, 0x58, 0x20]), bytes(y, [0x22, 0x58, 0x20])]);
  }
  if (kty === 'OKP') {
    const head = Buffer.from([0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06]);
    return Buffer.concat([head, bytes(x, [0x21, 0x58, 0x20])]);
  }
  const modulus = Buffer.from(n, 'base64url');
  const exponent = Buffer.from(e, 'base64url');
  const head = Buffer.from([
    0xa4,
    0x01,
    0x03,
    0x03,
    0x39,
    0x01,
    0x00,
    0x20,
    0x59,
    modulus.length >> 8,
    modulus.length & 0xff,
  ]);
  return Buffer.concat([head, modulus, Buffer.from([0x21, 0x40 | exponent.length]), exponent]);
}

function keyOf(der: Buffer): KeyObject | null {
  try {
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
    if (!key.export({ format: 'der', type: 'spki' }).equals(der)) return null;
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
    if (type === 'ec') return details?.namedCurve === 'prime256v1' && der[26] === uncompressed ? key : null;
    if (type === 'rsa') return (details?.modulusLength ?? 0) >= leastRsaBits ? key : null;
    return type === 'ed25519' ? key : null;
  } catch {
    return null;
  }
}

/** Client data as JSON (RFC 8259). Its bytes are signed, so their spelling does not matter. */
function clientData(encoded: string): JsonObject | null {
  const bytes = base64url(encoded);
  try {
    const data = bytes === null ? null : parseJson(bytes);
    return isObject(data) ? (data as JsonObject) : null;
  } catch {
    return null;
  }
}

function base64url(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : null;
}

const shown = (value: unknown): string => JSON.stringify(value ?? null).slice(0, 128);
