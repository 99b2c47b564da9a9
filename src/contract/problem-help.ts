/** What to do about each problem, in a sentence: shown on its page and in `docs/reference/problems.md`. */
import { problems, problemSlug, type ProblemCode } from './problems.ts';

export const problemHelp: Readonly<Record<ProblemCode, string>> = {
  VALIDATION_ERROR: 'Correct the fields listed in `errors`; each names its place, its rule and what came.',
  INVALID_JSON:
    'Send RFC 8259 JSON in UTF-8 without byte order mark, repeated names, lone surrogates, U+0000 or numbers that a double would change.',
  JSON_TOO_COMPLEX: 'Send a flatter or smaller body, or several requests.',
  UNKNOWN_FIELD: 'Remove the field, or correct its spelling; unknown fields are refused, never dropped.',
  READ_ONLY_FIELD: 'Remove the field: the service sets it.',
  INVALID_CURSOR: 'Start again without `cursor`, and repeat a cursor only with the filters it came with.',
  INVALID_TRANSITION: 'Choose one of the moves in `allowed`.',
  IDEMPOTENCY_KEY_REUSE: 'Use a fresh `Idempotency-Key` for another request.',
  NAME_TAKEN: 'Choose another name.',
  RUN_HAS_NO_EVENTS: 'Check the run id, and record events before proving the run.',
  RUN_TOO_LARGE_FOR_SYNC: 'Ask with `"async": true` and poll the job.',
  PROOF_NOT_FOUND: 'Check the proof id and the project of the key.',
  REPORT_CONFLICT: 'Give the changed report a new id.',
  REPORT_INVALID: 'Look at the log of the data plane with `gov log fsck`; `reason` says what does not hold.',
  UNAUTHENTICATED:
    'Send the key as `Authorization: Bearer gov_…` or `X-API-Key: gov_…`; a person signs in first (`gov auth login`).',
  INVALID_CREDENTIAL:
    'Check the key; it may be mistyped, revoked or expired. Create a new one if in doubt; a person signs in again.',
  AMBIGUOUS_CREDENTIAL: 'Send one credential only.',
  ENVIRONMENT_MISMATCH:
    'Use `gov_live_…` keys and production projects under `/api/v1`, `gov_test_…` keys and sandbox projects under `/sandbox/api/v1`.',
  INVALID_SIGNATURE: 'Sign the timestamp and the canonical body with the current secret.',
  TIMESTAMP_OUT_OF_RANGE: 'Set the clock; `serverTime` says what time it is here.',
  ENTITLEMENT_REQUIRED: 'The plan of the organization has to include this first.',
  FORBIDDEN:
    'The credential is valid but may not do this. A session cookie is taken from pages of the service alone; programs use an API key.',
  INSUFFICIENT_SCOPE: 'Use a key that holds the scope in `requiredScope`.',
  NOT_FOUND:
    'Check the id and the project of the key, or the one in `Gov-Project`; what another project owns is not found either.',
  METHOD_NOT_ALLOWED: 'Use one of the methods in the `Allow` header.',
  NOT_ACCEPTABLE: 'Allow the media type of the answer in `Accept`, or leave the header out.',
  REQUEST_TIMEOUT: 'Send the request again, without pauses.',
  CONFLICT: 'Read the current state, then decide again.',
  USER_EXISTS: 'Sign in instead.',
  GRAPH_SEALED: 'A committed graph does not change; use another run.',
  JOB_NOT_RETRYABLE: 'Wait for the job; only failed ones can be retried.',
  JOB_PAYLOAD_UNAVAILABLE: 'Send the original request again; its stored copy is gone.',
  EXPORT_NOT_READY: 'Wait until the export has completed.',
  EXPORT_FAILED: 'Create the export again.',
  EXPORT_EXPIRED: 'Create the export again.',
  IDEMPOTENCY_IN_FLIGHT: 'Wait, then repeat the same request to get its answer.',
  GONE: 'It existed and is no longer kept.',
  RANGE_NOT_SATISFIABLE: 'Ask for bytes before the size, which `size` and `Content-Range` tell.',
  PRECONDITION_FAILED: 'Read the current version and decide again.',
  PAYLOAD_TOO_LARGE: 'Send less: split batches, or replace large values by their hash.',
  UNSUPPORTED_MEDIA_TYPE: 'Send `Content-Type: application/json` without `Content-Encoding`.',
  ATTESTATION_FAILED:
    'Look at the data plane: what its answer says does not hold, as `reason` says; nothing can be sent again.',
  CHALLENGE_EXPIRED: 'Wait for the next challenge.',
  QUOTA_EXCEEDED: 'Wait for the next period, or raise the quota.',
  EXPORT_LIMIT:
    'Delete exports that are not needed, wait until some expire, or have the operator raise the bound.',
  RATE_LIMITED: 'Wait as long as `Retry-After` says.',
  HEADERS_TOO_LARGE: 'Send at most 100 headers in 16 KiB, and a URL of at most 8 KiB.',
  INTERNAL: 'A fault of the server. Repeat later; report the request id if it stays.',
  STORAGE_FULL: 'Free disk space; recording resumes by itself. Reads keep working.',
  STORAGE_FAULT: 'The disk failed. The process stops; check the disk, then start it again.',
  OVERLOADED: 'Wait as long as `Retry-After` says.',
  SHUTTING_DOWN: 'Repeat once the server is back.',
  AUDIT_UNAVAILABLE: 'Nothing is done that cannot be recorded; see `/health/ready`.',
};

/** `docs/reference/problems.md`, of which every line comes from the register. */
export function problemsPage(): string {
  const sections = Object.entries(problems).map(([code, { status, title, retryable }]) =>
    [
      `## ${problemSlug(code as ProblemCode)}`,
      '',
      `\`${code}\` · status ${status} · ${retryable ? 'the same request may succeed later' : 'do not repeat unchanged'}`,
      '',
      `${title}. ${problemHelp[code as ProblemCode]}`,
    ].join('\n'),
  );
  return [
    '# Problems',
    '',
    'Every error body is an RFC 9457 problem. Its `type` ends in one of these names, and its `code` never changes.',
    'Generated by `npm run docs`; do not edit.',
    '',
    ...sections.map((section) => `${section}\n`),
  ].join('\n');
}
