/**
 * Entity tags (RFC 9110 §8.8.3): the tag of an answer by its content, and what `If-Match` and `If-None-Match` say about
 * it. Proven by `test/http/conditional.test.ts`.
 */
import { createHash } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { canonicalize, type Json } from '../../core/json/canonical.ts';

/** Hex digits of a tag by content. */
const tagDigits = 32;

/** The header of an answer whose tag is a hash of its body. */
export function contentTag(body: object): { readonly etag: string } {
  // answers are JSON
  const hash = createHash('sha256').update(canonicalize(body as unknown as Json));
  return { etag: `"${hash.digest('hex').slice(0, tagDigits)}"` };
}

/** Whether a list of entity tags contains this one (RFC 9110 §8.8.3.2). An attacker controls the list. */
export function hasTag(list: string, etag: string, comparison: 'weak' | 'strong'): boolean {
  if (list.trim() === '*') return true;
  return list.split(',').some((each) => {
    const tag = each.trim();
    return tag === etag || (comparison === 'weak' && tag === `W/${etag}`);
  });
}

/**
 * PRECONDITION_FAILED where `If-Match` names another state of `what` than `body`, or any state of what does not exist
 * (null). An attacker controls the header.
 */
export function requireTag(ifMatch: string | null, body: object | null, what: string): void {
  if (ifMatch === null) return;
  const sent = ifMatch.slice(0, limits.echoChars);
  if (body === null)
    throw new GovError(
      'PRECONDITION_FAILED',
      `expected no If-Match, since ${what} is not set yet, got ${sent}`,
    );
  const { etag } = contentTag(body);
  if (hasTag(ifMatch, etag, 'strong')) return;
  throw new GovError(
    'PRECONDITION_FAILED',
    `expected If-Match ${etag}, the ETag of ${what}, got ${sent}; read it again`,
  );
}
