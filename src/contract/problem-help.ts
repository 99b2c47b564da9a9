/** What to do about each problem, in one sentence. Proven by `test/contract/problems.test.ts`. */
import { fieldCodes } from './field-codes.ts';
import { problems, problemSlug, type ProblemCode } from './problems.ts';
import { telemetryFaults } from './telemetry.ts';

export const problemHelp: Readonly<Record<ProblemCode, string>> = {
  VALIDATION_ERROR:
    'Correct the fields in `errors`. Each entry has a pointer, a rule and the difference from the expected value.',
  INVALID_JSON:
    'Send RFC 8259 JSON in UTF-8. A byte order mark, repeated names, lone surrogates, U+0000 and numbers that a double cannot hold are refused.',
  JSON_TOO_COMPLEX: 'Send a flatter or smaller body, or several requests.',
  UNKNOWN_FIELD:
    'Remove the field or correct its spelling. The service refuses unknown fields and never drops them.',
  READ_ONLY_FIELD: 'Remove the field: the service sets it.',
  INVALID_CURSOR:
    'Start again without `cursor`. Send a cursor only with the filters of the list that returned it.',
  INVALID_TRANSITION: 'Choose one of the moves in `allowed`.',
  IDEMPOTENCY_KEY_REUSE: 'Send a new `Idempotency-Key` with each different request.',
  NAME_TAKEN: 'Choose another name.',
  RUN_HAS_NO_EVENTS: 'Check the run id. Record events before you prove or replay the run.',
  RUN_TOO_LARGE_FOR_SYNC: 'Send `"async": true` and poll the job.',
  PROOF_NOT_FOUND: 'Check the proof id and the project of the key.',
  REPORT_CONFLICT: 'Give the changed report a new id.',
  REPORT_INVALID: 'Run `gov log fsck` on the data plane. `reason` names the rule that the report violates.',
  UNAUTHENTICATED:
    'Send the key as `Authorization: Bearer gov_…` or `X-API-Key: gov_…`. A person signs in first with `gov auth login`.',
  INVALID_CREDENTIAL:
    'Check whether the key is mistyped, revoked or expired. Create a new key if in doubt; a person signs in again.',
  AMBIGUOUS_CREDENTIAL: 'Send one credential only.',
  ENVIRONMENT_MISMATCH:
    'Use `gov_live_…` keys and production projects under `/api/v1`. Use `gov_test_…` keys and sandbox projects under `/sandbox/api/v1`.',
  INVALID_SIGNATURE: 'Sign the timestamp and the canonical body with the current secret.',
  TIMESTAMP_OUT_OF_RANGE: 'Correct the clock of the client. `serverTime` is the time of the service.',
  ENTITLEMENT_REQUIRED: 'Change to a plan that includes this feature.',
  FORBIDDEN:
    'The credential is valid, but it does not permit this. The service accepts a session cookie from its own pages only; programs use an API key.',
  INSUFFICIENT_SCOPE: 'Use a key that holds the scope in `requiredScope`.',
  NOT_FOUND:
    'Check the id. Check the project of the key, or the project in `Gov-Project`: an object of another project is not found either.',
  METHOD_NOT_ALLOWED: 'Use one of the methods in the `Allow` header.',
  NOT_ACCEPTABLE: 'Add the media type of the response to `Accept`, or omit the header.',
  REQUEST_TIMEOUT: 'Send the request again, without pauses.',
  CONFLICT: 'Read the current state, then decide whether to repeat the request.',
  USER_EXISTS: 'Sign in instead.',
  GRAPH_SEALED: 'A committed graph never changes. Use another run.',
  JOB_NOT_RETRYABLE: 'Wait until the job ends. Only a failed or cancelled job can be retried.',
  ALREADY_ENDED:
    'There is nothing to cancel. Delete the file of a completed export with `DELETE /exports/{exportId}`.',
  JOB_PAYLOAD_UNAVAILABLE: 'Send the original request again. The service no longer has its copy.',
  EXPORT_NOT_READY: 'Wait until the export is completed.',
  EXPORT_FAILED: 'Create the export again.',
  EXPORT_EXPIRED: 'Create the export again.',
  IDEMPOTENCY_IN_FLIGHT: 'Wait, then repeat the same request to get its response.',
  GONE: 'The object existed, but the service no longer keeps it.',
  RANGE_NOT_SATISFIABLE:
    'Request bytes before the end. `size` and `Content-Range` contain the size of the file.',
  PRECONDITION_FAILED: 'Read the current revision, then decide whether to repeat the request.',
  PAYLOAD_TOO_LARGE: 'Send less: split the batch, or replace large values by their hash.',
  UNSUPPORTED_MEDIA_TYPE: 'Send `Content-Type: application/json` without `Content-Encoding`.',
  ATTESTATION_FAILED:
    'Examine the data plane. `reason` names the check that its answer failed. The challenge accepts no second answer.',
  CHALLENGE_EXPIRED: 'Wait for the next challenge.',
  UPGRADE_REQUIRED: 'Open the stream with a WebSocket client (RFC 6455), or read pages with `GET /events`.',
  QUOTA_EXCEEDED: 'Wait for the next period, or raise the quota.',
  REPORT_LIMIT: 'Wait until a report of the project is completed.',
  EXPORT_LIMIT:
    'Delete exports that you do not need, wait until some expire, or ask the operator to raise the limit.',
  RATE_LIMITED: 'Wait for the seconds in `Retry-After`.',
  HEADERS_TOO_LARGE: 'Send at most 100 headers in 16 KiB, and a URL of at most 8 KiB.',
  INTERNAL: 'The server has an error. Repeat the request later; report the request id if the error persists.',
  STORAGE_FULL: 'Free disk space. Reads keep working, and recording resumes by itself.',
  STORAGE_FAULT: 'The disk failed and the process stops. Check the disk, then start the process again.',
  CONFIG_EXPIRED:
    'Restore the connection to the service, or apply a newer file with `gov plane config apply`. The operator of the plane set the limit (`config.maxAgeSeconds` of `plane.json`).',
  CLOCK_BEHIND:
    'Set the clock of the server right. Where the log is wrong, because the clock was ahead once, wait until the time in the detail.',
  OVERLOADED: 'Wait for the seconds in `Retry-After`.',
  UNAVAILABLE:
    'The detail names what is missing, such as the index of the log or the identity provider. Wait for the seconds in `Retry-After`.',
  SHUTTING_DOWN: 'Repeat the request once the server is back.',
  AUDIT_UNAVAILABLE: 'The service refuses every action that it cannot record. See `/health/ready`.',
};

/** The text of `docs/reference/problems.md`, made from the register. */
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
    'This page is made from the error register; `test/contract/problems.test.ts` compares the two.',
    '',
    ...sections.map((section) => `${section}\n`),
    '## Codes in `errors`',
    '',
    'A validation error lists its findings in `errors`. The `code` of each one is one of these, and never changes either.',
    '',
    '| Code | Meaning |',
    '|---|---|',
    ...Object.entries(fieldCodes).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`),
    '',
    `A report or an attestation of a data plane that does not verify has one of ${telemetryFaults.map((fault) => `\`${fault}\``).join(', ')}.`,
    '',
  ].join('\n');
}
