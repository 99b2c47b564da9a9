/**
 * Enrolment by file (contract B9; docs/how-to/report-to-a-service.md "Without a network"): what a data plane that reaches no service asks,
 * and what it is answered. Neither carries the one-time token, and nobody on the way can use or change either:
 *
 * - the request has an HMAC-SHA-256, by SHA-256 of the token, over `gov.enrolrequest/1` "\n" JCS of all that it says, in
 *   a note signed by the plane's own key: so it was made by somebody who has the token, and holds that key;
 * - the answer has the credentials sealed (HPKE, RFC 9180, mode_psk) to a key of the request that is of use once, with
 *   SHA-256 of the token as the shared secret and the rest of the answer as what is authenticated: so the plane that
 *   asked opens it alone, and it was made by whoever issued the token.
 *
 * Proven by `test/core/plane/enrolment-request.test.ts`.
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

export const requestSchema = 'gov.enrolrequest/1';
export const answerSchema = 'gov.enrolanswer/1';

/** What both sides know of the token: the service keeps this and not the token. 32 bytes. */
export const enrolmentSecret = (token: string): Buffer => sha256(token);

/** A request. `sealTo`: public half of an X25519 key of use once, whose other half the plane keeps for the answer. */
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

/** What does not hold of a request for the plane that waits for this token. An attacker controls the request. */
export function checkEnrolmentRequest(request: EnrolmentRequest, secret: Uint8Array): Fault | null {
  const fault = checkClaim(request.possession, request, claimText(request, secret));
  if (fault !== null) return fault;
  if (decodeBase64(request.sealTo) !== null) return null;
  return faultAt(
    'origin_mismatch',
    '/sealTo',
    'expected 32 bytes in base64 as it writes them, got another spelling',
  );
}

/** What is sealed. */
export interface SealedCredentials {
  readonly key: string;
  readonly signingSecret: string;
}

/** All of an answer that everybody may read. */
export type OpenAnswer = Omit<EnrolmentAnswer, 'enc' | 'sealed'>;

const contextOf = (open: OpenAnswer, secret: Uint8Array) =>
  ({ info: answerSchema, psk: secret, pskId: requestSchema, aad: canonicalText(open) }) as const;

/** The answer; VALIDATION_ERROR is the caller's to give where it throws: `sealTo` is no point of use. */
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

/** The credentials, or null where it is no answer to this request by whoever issued the token. */
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
  // whoever has the token made it
  return message === null ? null : (readJson(message) as unknown as SealedCredentials);
}
