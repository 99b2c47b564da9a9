/**
 * Calls of a plane without TLS that another program could stand in for (`src/core/request-token.ts`): a call sends a token
 * that is good for it alone, never the key, and takes no answer that the log of the plane did not sign.
 * Tested by `test/client/pinned.test.ts` against a real plane and one that pretends.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { limits } from '../contract/limits.ts';
import { verifyBytes } from '../core/note/signature.ts';
import { answerHeader, answerText, createRequestToken, type BoundRequest } from '../core/request-token.ts';
import { GovNetworkError } from './errors.ts';
import type { Reply } from './transport.ts';

/** A key of a plane, and the plane that the key is for. */
export interface PlanePin {
  readonly keyId: string;
  readonly projectId: string;
  /** Verifier keys of its log, as texts (C2SP signed-note). */
  readonly planeKeys: readonly string[];
}

/** What a client does with each request and each answer. */
export interface Pinning {
  /** Returns the token of one request. */
  tokenFor(request: BoundRequest): string;
  /** Throws `UNPROVEN_ANSWER` unless a key of the plane signed this answer to the request of the token. */
  requireProven(reply: Reply, token: string): void;
}

/** Pins a plane for the calls with a key. */
export function pinning(key: string, { keyId, projectId, planeKeys }: PlanePin): Pinning {
  let keys: readonly KeyObject[] | undefined;
  return {
    tokenFor(request) {
      const expiresMs = Date.now() + limits.requestTokenSeconds * 1000;
      return createRequestToken({ keyId, key }, request, { projectId, expiresMs });
    },
    requireProven: (reply, token) => requireProven(reply, token, (keys ??= keysOf(planeKeys))),
  };
}

function requireProven({ status, headers, bytes }: Reply, token: string, keys: readonly KeyObject[]): void {
  const signatures = (headers[answerHeader] ?? '')
    .split(',', mostSignatures)
    .map((each) => Buffer.from(each, 'base64url'));
  const text = answerText(token, status, bytes);
  if (keys.some((key) => signatures.some((each) => verifyBytes(key, text, each)))) return;
  const came = headers[answerHeader] === undefined ? 'none' : 'another one';
  throw new GovNetworkError(
    'UNPROVEN_ANSWER',
    `expected an answer that the pinned plane signed, got ${status} with ${came}`,
    {
      hint: 'another program may answer in place of the plane; if its keys or the key of this program were changed, run gov agents install',
    },
  );
}

/** A plane that rotates its keys signs with two. */
const mostSignatures = 4;

/**
 * The Ed25519 keys among verifier keys (C2SP signed-note: type 1, then 32 bytes). As JWK (RFC 8037), which a process imports
 * 1.5 ms sooner than DER for its first key: hooks need one.
 */
function keysOf(texts: readonly string[]): KeyObject[] {
  return texts.flatMap((text) => {
    // base64 has plus signs of its own
    const bytes = Buffer.from(/^[^+]+\+[0-9a-f]{8}\+(.+)$/.exec(text)?.[1] ?? '', 'base64');
    if (bytes.length !== 33 || bytes[0] !== 1) return [];
    const x = bytes.subarray(1).toString('base64url');
    return [createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })];
  });
}
