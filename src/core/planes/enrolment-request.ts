/**
 * Enrolment by file (contract B9; `docs/reference/telemetry-protocol.md`, "Without a network"): request and answer of a data plane that
 * reaches no service. Neither contains the one-time token, and nobody who transports the files can use or change them:
 *
 * - the request has an HMAC-SHA-256, keyed with SHA-256 of the token, over `gov.enrolrequest/1` "\n" JCS of its members, in
 *   a note signed by the key of the plane: so its author has the token and this key;
 * - the answer has the credentials sealed (HPKE, RFC 9180, mode_psk) to a single-use key of the request, with SHA-256 of
 *   the token as shared secret and the rest of the answer as authenticated data: so only the requesting plane can open it,
 *   and its author issued the token.
 *
 * Proven by `test/core/planes/enrolment-request.test.ts`.
 */
import { createHmac } from 'node:crypto';
import type { EnrolmentAnswer, EnrolmentRequest } from '../../contract/telemetry.ts';
import { decodeBase64, encodeBase64 } from '../json/base64.ts';
import { sha256 } from '../hash.ts';
import { hpkeOpen, hpkeSeal } from '../note/hpke.ts';
import { canonicalText } from '../json/canonical.ts';
import { readJson } from '../json/parse.ts';
import { signNote, type NoteSigner } from '../note/signed.ts';
import { checkClaim, faultAt, type Fault, type PlaneIdentity } from './identity.ts';

const requestSchema = 'gov.enrolrequest/1';
export const answerSchema = 'gov.enrolanswer/1';

/** Returns the secret that both sides share: SHA-256 of the token, 32 bytes. The service stores it, not the token. */
export const enrolmentSecret = (token: string): Buffer => sha256(token);

/** Returns a request. `sealTo`: public half of a single-use X25519 key, whose private half the plane stores. */
export function enrolmentRequest(
  { origin, auditOrigin, verifierKey, auditVerifierKey }: PlaneIdentity,
  {
    secret,
    sealTo,
    signer,
  }: { readonly secret: Uint8Array; readonly sealTo: Uint8Array; readonly signer: NoteSigner },
): EnrolmentRequest {
  const said = {
    schemaVersion: requestSchema,
    origin,
    auditOrigin,
    verifierKey,
    auditVerifierKey,
    sealTo: encodeBase64(sealTo),
  } as const;
  return { ...said, possession: signNote(claimText(said, secret), [signer]) };
}

function claimText(
  {
    possession: _possession,
    ...said
  }: Omit<EnrolmentRequest, 'possession'> & { readonly possession?: string },
  secret: Uint8Array,
): string {
  const proof = createHmac('sha256', secret)
    .update(`${requestSchema}\n${canonicalText(said)}`)
    .digest('hex');
  return `${requestSchema}\n${proof}\n${said.origin}\n`;
}

/** Returns the fault of a request for the plane with this token, or null. The request is attacker controlled. */
export function checkEnrolmentRequest(request: EnrolmentRequest, secret: Uint8Array): Fault | null {
  const fault = checkClaim(request.possession, request, claimText(request, secret));
  if (fault !== null) return fault;
  if (decodeBase64(request.sealTo) !== null) return null;
  return faultAt('origin_mismatch', '/sealTo', 'expected 32 bytes in canonical base64, got another spelling');
}

/** The sealed credentials. */
export interface SealedCredentials {
  readonly key: string;
  readonly signingSecret: string;
}

/** The members of an answer that are not sealed. */
export type OpenAnswer = Omit<EnrolmentAnswer, 'enc' | 'sealed'>;

const contextOf = (open: OpenAnswer, secret: Uint8Array) =>
  ({ info: answerSchema, psk: secret, pskId: requestSchema, aad: canonicalText(open) }) as const;

/** Returns the answer. Throws if `sealTo` is an invalid X25519 point; the caller reports VALIDATION_ERROR. */
export function enrolmentAnswer(
  open: OpenAnswer,
  { key, signingSecret }: SealedCredentials,
  { secret, ephemeral }: { readonly secret: Uint8Array; readonly ephemeral: Uint8Array },
): EnrolmentAnswer {
  const publicKey = decodeBase64(open.sealTo) ?? Buffer.alloc(0);
  const message = canonicalText({ key, signingSecret });
  const { enc, ciphertext } = hpkeSeal(message, { ...contextOf(open, secret), publicKey, ephemeral });
  return { ...open, enc: encodeBase64(enc), sealed: encodeBase64(ciphertext) };
}

/** Returns the credentials; null if this is not an answer to this request by the issuer of the token. */
export function openEnrolmentAnswer(
  { enc, sealed, ...open }: EnrolmentAnswer,
  { secret, sealingKey }: { readonly secret: Uint8Array; readonly sealingKey: Uint8Array },
): SealedCredentials | null {
  const bytes = { enc: decodeBase64(enc), ciphertext: decodeBase64(sealed) };
  if (bytes.enc === null || bytes.ciphertext === null) return null;
  const message = hpkeOpen(
    { enc: bytes.enc, ciphertext: bytes.ciphertext },
    { ...contextOf(open, secret), privateKey: sealingKey },
  );
  // The author has the token, so the message is trusted.
  return message === null ? null : (readJson(message) as unknown as SealedCredentials);
}
