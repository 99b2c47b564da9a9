/**
 * The `Idempotency-Key` header (contract D6; draft-ietf-httpapi-idempotency-key): reads and scopes the key,
 * fingerprints the request, and refuses a repeat while the first is still running. The outcome itself is kept
 * by the store in the transaction of the effect. The fingerprint is an HMAC, not a mere hash: it is of the body as it
 * came, so that whoever reads the database could try out what was redacted of it.
 * Proven by `test/http/idempotency.engines.test.ts`.
 */
import { limits } from '../contract/limits.ts';
import { GovError, problems, type ProblemCode } from '../contract/problems.ts';
import { sha256 } from '../core/hash.ts';
import { canonicalize, type Json } from '../core/json/parse.ts';
import type { Caller, Idempotency } from '../service/call/handler.ts';
import { fieldError } from '../service/call/schema.ts';
import type { Services } from '../service/dependencies.ts';

/** Visible ASCII, and the RFC 8941 string form around it. */
const visible = /^[\x21-\x7e]+$/;
const quoted = /^"((?:[^"\\]|\\["\\])*)"$/;

/** Where a request with a key was sent. */
export interface KeyedRequest {
  /** Null where the handler finds out who it is; it then makes the key that person's own. */
  readonly caller: Caller | null;
  readonly method: string;
  /** The row's path template; the fingerprint takes the real path. */
  readonly route: string;
  readonly url: string;
  readonly body: unknown;
}

/** Null where the header is absent. VALIDATION_ERROR for a malformed key. The key is an attacker's. */
export function readIdempotency(
  header: string | string[] | undefined,
  request: KeyedRequest,
  { fingerprint }: Pick<Services, 'fingerprint'>,
): Idempotency | null {
  if (header === undefined) return null;
  const key = unwrap(String(header));
  const { caller, method, route, url } = request;
  const who = caller === null ? [] : [caller.project.projectId, caller.id];
  const scope = ['gov.idempotency/1', ...who, method, route, key];
  const body = request.body === undefined ? '' : canonicalize(request.body as Json);
  return {
    key: sha256(JSON.stringify(scope)).toString('hex'),
    fingerprint: fingerprint(`gov.request/1\n${method}\n${url}\n${body}`),
  };
}

function unwrap(header: string): string {
  const key = quoted.exec(header)?.[1]?.replace(/\\(["\\])/g, '$1') ?? header;
  if (visible.test(key) && key.length <= limits.idempotencyKeyChars) return key;
  throw fieldError({
    pointer: '/Idempotency-Key',
    in: 'header',
    code: 'BAD_FORMAT',
    detail: `expected 1 to ${limits.idempotencyKeyChars} visible ASCII characters`,
    limit: limits.idempotencyKeyChars,
  });
}

/** Keys whose first request is still running in this process. */
export class InFlight {
  readonly #keys = new Set<string>();

  /** Runs `work` unless the same key is running: IDEMPOTENCY_IN_FLIGHT. */
  async run<Result>({ key }: Idempotency, work: () => Promise<Result>): Promise<Result> {
    if (this.#keys.has(key)) {
      throw new GovError(
        'IDEMPOTENCY_IN_FLIGHT',
        'a request with this key is still running; repeat it later',
        {
          retryAfterSeconds: 1,
        },
      );
    }
    this.#keys.add(key);
    try {
      return await work();
    } finally {
      this.#keys.delete(key);
    }
  }
}

const neverKept: ReadonlySet<ProblemCode> = new Set([
  'VALIDATION_ERROR',
  'INVALID_JSON',
  'JSON_TOO_COMPLEX',
  'UNKNOWN_FIELD',
  'READ_ONLY_FIELD',
  'INVALID_CURSOR',
  'IDEMPOTENCY_KEY_REUSE',
  'IDEMPOTENCY_IN_FLIGHT',
  'QUOTA_EXCEEDED',
  'EXPORT_LIMIT',
  'RATE_LIMITED',
]);

/** Whether an error is the outcome of an executed request, so that a repeat must get it again. */
export const isExecuted = ({ code }: GovError): boolean => {
  const { status } = problems[code];
  return status >= 400 && status < 500 && status !== 401 && status !== 403 && !neverKept.has(code);
};
