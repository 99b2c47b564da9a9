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

/** The header of the request: base64url of `{"approverId", "at", "ssh"}`. */
export const changeHeader = 'gov-change-signature';

/** The namespace of its SSH signature. */
export const changeNamespace = 'gov-change@v1';

export interface ChangeRequest {
  readonly method: string;
  readonly path: string;
  readonly bodyHash: string | null;
}

export interface ChangeSignature {
  readonly approverId: string;
  readonly at: string;
  /** As `ssh-keygen -Y sign` writes it. */
  readonly ssh: string;
}

export const bodyHashOf = (body: Json | undefined): string | null =>
  body === undefined ? null : sha256Text(canonicalize(body));

export const changeStatement = (
  { method, path, bodyHash }: ChangeRequest,
  { origin, approverId, at }: { readonly origin: string } & Omit<ChangeSignature, 'ssh'>,
): string => canonicalize({ type: 'gov.change-statement/1', origin, method, path, bodyHash, approverId, at });

export const writeChangeSignature = ({ approverId, at, ssh }: ChangeSignature): string =>
  Buffer.from(canonicalize({ approverId, at, ssh })).toString('base64url');

/** Returns null for any other text. Attacker controlled. */
export function readChangeSignature(header: string): ChangeSignature | null {
  try {
    const value = parseJson(Buffer.from(header, 'base64url'));
    if (!isObject(value)) return null;
    const { approverId, at, ssh } = value;
    return typeof approverId === 'string' && typeof at === 'string' && typeof ssh === 'string'
      ? { approverId, at, ssh }
      : null;
  } catch {
    return null;
  }
}
