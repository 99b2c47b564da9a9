/**
 * The statement with which an approver signs a change of the plane itself, such as the end of a policy (contract O23):
 * canonical JSON (RFC 8785) of exactly one request. The signature travels in a header of that request.
 *
 *   type       gov.change-statement/1
 *   origin     of the audit log
 *   method, path  of the request; the path is below the base path, with its query
 *   bodyHash   SHA-256 of the canonical body; null without one
 *   approverId the enrolled key that signs
 *   at         RFC 3339; the request is refused `limits.changeSignatureMinutes` later
 *
 * Proven by `test/service/approvers/presence.test.ts`.
 */
import { sha256Text } from '../hash.ts';
import { isObject } from '../json/object.ts';
import { canonicalize, parseJson, type Json } from '../json/parse.ts';
import type { SignatureRecord } from '../decided/approval.ts';

/** The header of the request: base64url of `{"approverId", "at", "ssh"}`, or with `passkey` in place of `ssh`. */
export const changeHeader = 'gov-change-signature';

/** The namespace of its SSH signature. */
export const changeNamespace = 'gov-change@v1';

export interface ChangeRequest {
  readonly method: string;
  readonly path: string;
  readonly bodyHash: string | null;
}

/** As `ssh-keygen -Y sign` writes it, or the assertion of a passkey whose challenge is the SHA-256 of the statement. */
type SignedBy = { readonly ssh: string } | { readonly passkey: NonNullable<SignatureRecord['passkey']> };

export type ChangeSignature = { readonly approverId: string; readonly at: string } & SignedBy;

export const bodyHashOf = (body: Json | undefined): string | null =>
  body === undefined ? null : sha256Text(canonicalize(body));

/** The members of the statement that do not depend on who signs. */
export const changeOf = ({ method, path, bodyHash }: ChangeRequest, origin: string) => ({
  type: 'gov.change-statement/1',
  origin,
  method,
  path,
  bodyHash,
});

export const changeStatement = (
  request: ChangeRequest,
  { origin, approverId, at }: { readonly origin: string; readonly approverId: string; readonly at: string },
): string => canonicalize({ ...changeOf(request, origin), approverId, at });

export const writeChangeSignature = (signature: ChangeSignature): string =>
  Buffer.from(canonicalize(signature)).toString('base64url');

/** Returns null for any other text. Attacker controlled. */
export function readChangeSignature(header: string): ChangeSignature | null {
  try {
    const value = parseJson(Buffer.from(header, 'base64url'));
    if (!isObject(value)) return null;
    const { approverId, at, ssh, passkey } = value;
    if (typeof approverId !== 'string' || typeof at !== 'string') return null;
    if (typeof ssh === 'string') return { approverId, at, ssh };
    return isAssertion(passkey) ? { approverId, at, passkey } : null;
  } catch {
    return null;
  }
}

const isAssertion = (value: unknown): value is NonNullable<SignatureRecord['passkey']> =>
  isObject(value) &&
  ['clientDataJSON', 'authenticatorData', 'signature'].every((name) => typeof value[name] === 'string');
