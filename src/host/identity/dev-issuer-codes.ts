/**
 * The authorization code flow of the development issuer: OpenID Connect Core 1.0 §3.1 with PKCE (RFC 7636, S256 alone) and
 * `iss` in the answer (RFC 9207). It returns to consoles on this machine only, and keeps no session of its own, so each
 * sign-in asks. Proven by `test/host/identity/dev-issuer-codes.test.ts`.
 */
import { createHash } from 'node:crypto';
import { isLoopback } from '../../client/proxy.ts';
import { callbackFile } from '../../contract/auth-words.ts';
import { emailOf, refused, type Answer, type DevIdentity } from './dev-issuer-answers.ts';
import { authorizePage, faultPage } from './dev-issuer-pages.ts';

const codeSeconds = 60;
const maxCodes = 1000;
const challengePattern = /^[\w-]{43}$/;

interface Parts {
  readonly url: string;
  readonly clientId: string;
  readonly now: () => number;
  readonly randomBytes: (size: number) => Buffer;
}

interface IssuedCode extends DevIdentity {
  readonly redirectUri: string;
  readonly challenge: string;
  readonly untilMs: number;
}

export class AuthorizationCodes {
  readonly #parts: Parts;
  /** By code, the oldest first. */
  readonly #issued = new Map<string, IssuedCode>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The sign-in page, for an authorization request. */
  ask(request: URLSearchParams): Answer {
    const fault = this.#faultOf(request);
    if (fault !== null) return { status: 400, body: faultPage(fault) };
    return this.#page(request, 200);
  }

  /** The submitted page: the same parameters, and the address of the person. */
  answer(form: URLSearchParams): Answer {
    const fault = this.#faultOf(form);
    if (fault !== null) return { status: 400, body: faultPage(fault) };
    const email = emailOf(form);
    if (email === null) return this.#page(form, 400, 'Expected an e-mail address, such as ada@example.com.');
    const { url, now, randomBytes } = this.#parts;
    const code = randomBytes(32).toString('base64url');
    for (const [each, { untilMs }] of this.#issued) {
      if (untilMs > now() && this.#issued.size < maxCodes) break;
      this.#issued.delete(each);
    }
    const redirectUri = form.get('redirect_uri') ?? '';
    this.#issued.set(code, {
      email,
      atMs: now(),
      nonce: form.get('nonce'),
      redirectUri,
      challenge: form.get('code_challenge') ?? '',
      untilMs: now() + codeSeconds * 1000,
    });
    const location = new URL(redirectUri);
    location.searchParams.set('code', code);
    location.searchParams.set('iss', url);
    const state = form.get('state');
    if (state !== null) location.searchParams.set('state', state);
    return { status: 303, body: '', headers: { location: location.href } };
  }

  /** The person of a code, which from now on is used up. Null for a code that is unknown, too old, or another client's. */
  take(form: URLSearchParams): DevIdentity | Answer {
    const code = form.get('code') ?? '';
    const issued = this.#issued.get(code);
    this.#issued.delete(code);
    if (issued === undefined || issued.untilMs <= this.#parts.now()) return refused(400, 'invalid_grant');
    const verifier = form.get('code_verifier') ?? '';
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    if (challenge !== issued.challenge || form.get('redirect_uri') !== issued.redirectUri) {
      return refused(400, 'invalid_grant');
    }
    return issued;
  }

  #page(request: URLSearchParams, status: number, fault?: string): Answer {
    const redirectUri = request.get('redirect_uri') ?? '';
    return {
      status,
      body: authorizePage(request, new URL(redirectUri).host, fault),
      // browsers hold the redirect after a form against this directive too
      headers: { formAction: `'self' ${new URL(redirectUri).origin}` },
    };
  }

  /** What is wrong with a request. It is shown here and never sent to an address that nobody registered. */
  #faultOf(request: URLSearchParams): string | null {
    const redirectUri = request.get('redirect_uri') ?? '';
    if (request.get('client_id') !== this.#parts.clientId)
      return `Expected the client ${this.#parts.clientId}.`;
    if (!isConsole(redirectUri))
      return `Expected the redirect_uri of a console on this machine, /console/${callbackFile}.`;
    if (request.get('response_type') !== 'code') return 'Expected response_type=code.';
    if (!(request.get('scope') ?? '').split(' ').includes('openid')) return 'Expected the scope openid.';
    const isChallenged =
      request.get('code_challenge_method') === 'S256' &&
      challengePattern.test(request.get('code_challenge') ?? '');
    return isChallenged ? null : 'Expected PKCE: code_challenge, and code_challenge_method=S256.';
  }
}

function isConsole(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname, username, search, hash } = new URL(text);
  return (
    (protocol === 'http:' || protocol === 'https:') &&
    isLoopback(hostname.replace(/^\[|\]$/g, '')) &&
    pathname.endsWith(`/console/${callbackFile}`) &&
    username + search + hash === ''
  );
}
