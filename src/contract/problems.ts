/**
 * The error register: every problem that `gov` answers with. Bodies follow RFC 9457.
 * The HTTP status of a problem is defined here only. Proven by `test/contract/problems.test.ts`, which compares
 * this table with the thrown codes, `docs/reference/problems.md` and the operations.
 */

import type { FieldCode } from './field-codes.ts';
import type { TelemetryFault } from './telemetry.ts';

/** One problem type: its HTTP status, the fixed title, and whether the same request may succeed later. */
export interface Problem {
  readonly status: number;
  readonly title: string;
  readonly retryable: boolean;
}

const problem = (status: number, title: string, retryable = false): Problem => ({
  status,
  title,
  retryable,
});

export const problems = {
  VALIDATION_ERROR: problem(400, 'The request does not match the interface'),
  INVALID_JSON: problem(400, 'The body is not strict JSON (RFC 7493)'),
  JSON_TOO_COMPLEX: problem(400, 'The body nests too deep or holds too many values'),
  UNKNOWN_FIELD: problem(400, 'The request has a field that the interface does not know'),
  READ_ONLY_FIELD: problem(400, 'The request sets a field that only the service sets'),
  INVALID_CURSOR: problem(400, 'The cursor does not belong to this list and these filters'),
  INVALID_TRANSITION: problem(400, 'This move is not part of the life cycle'),
  IDEMPOTENCY_KEY_REUSE: problem(400, 'The idempotency key was used with another request'),
  NAME_TAKEN: problem(400, 'The name is taken'),
  RUN_HAS_NO_EVENTS: problem(400, 'The run has no events'),
  RUN_TOO_LARGE_FOR_SYNC: problem(400, 'The run is too large for a synchronous proof'),
  PROOF_NOT_FOUND: problem(400, 'The proof does not exist here'),
  REPORT_CONFLICT: problem(400, 'The report id was used with other content'),
  REPORT_INVALID: problem(400, 'The report contradicts itself'),
  UNAUTHENTICATED: problem(401, 'A credential is required'),
  INVALID_CREDENTIAL: problem(401, 'The credential is not valid'),
  AMBIGUOUS_CREDENTIAL: problem(401, 'Two different credentials were sent'),
  ENVIRONMENT_MISMATCH: problem(401, 'The credential belongs to the other environment'),
  INVALID_SIGNATURE: problem(401, 'The signature does not match'),
  TIMESTAMP_OUT_OF_RANGE: problem(401, 'The timestamp is too far from the server time'),
  ENTITLEMENT_REQUIRED: problem(402, 'The plan does not include this'),
  FORBIDDEN: problem(403, 'Not allowed'),
  INSUFFICIENT_SCOPE: problem(403, 'The credential lacks the required scope'),
  NOT_FOUND: problem(404, 'Not found'),
  METHOD_NOT_ALLOWED: problem(405, 'The method is not allowed here'),
  NOT_ACCEPTABLE: problem(406, 'No acceptable representation'),
  REQUEST_TIMEOUT: problem(408, 'The request took too long to arrive', true),
  CONFLICT: problem(409, 'The request conflicts with the current state'),
  USER_EXISTS: problem(409, 'The user already exists'),
  GRAPH_SEALED: problem(409, 'The graph is sealed'),
  JOB_NOT_RETRYABLE: problem(409, 'Only a failed or cancelled job can be retried'),
  ALREADY_ENDED: problem(409, 'The job or export has already ended'),
  JOB_PAYLOAD_UNAVAILABLE: problem(409, 'The stored request of the job is gone'),
  EXPORT_NOT_READY: problem(409, 'The export is not ready', true),
  EXPORT_FAILED: problem(409, 'The export failed'),
  EXPORT_EXPIRED: problem(409, 'The export has expired'),
  IDEMPOTENCY_IN_FLIGHT: problem(409, 'A request with this idempotency key is still running', true),
  GONE: problem(410, 'Gone'),
  RANGE_NOT_SATISFIABLE: problem(416, 'The range starts after the end'),
  PRECONDITION_FAILED: problem(412, 'The precondition does not hold'),
  PAYLOAD_TOO_LARGE: problem(413, 'The body is too large'),
  UNSUPPORTED_MEDIA_TYPE: problem(415, 'The media type is not supported'),
  ATTESTATION_FAILED: problem(422, 'The attestation does not verify'),
  CHALLENGE_EXPIRED: problem(422, 'The challenge has expired'),
  UPGRADE_REQUIRED: problem(426, 'The operation needs a WebSocket'),
  QUOTA_EXCEEDED: problem(429, 'The quota is used up'),
  EXPORT_LIMIT: problem(429, 'The project has reached its limit of exports'),
  REPORT_LIMIT: problem(429, 'The project has reached its limit of reports', true),
  RATE_LIMITED: problem(429, 'Too many requests', true),
  HEADERS_TOO_LARGE: problem(431, 'The request headers are too large'),
  INTERNAL: problem(500, 'Internal error', true),
  STORAGE_FULL: problem(503, 'The disk is full', true),
  STORAGE_FAULT: problem(503, 'The storage failed', true),
  CONFIG_EXPIRED: problem(503, 'The configuration of the data plane is older than its limit', true),
  CLOCK_BEHIND: problem(503, 'The clock of the server is too far behind its log', true),
  OVERLOADED: problem(503, 'The server is overloaded', true),
  UNAVAILABLE: problem(503, 'Something that the answer needs is not available', true),
  SHUTTING_DOWN: problem(503, 'The server is shutting down', true),
  AUDIT_UNAVAILABLE: problem(503, 'The audit log cannot be written', true),
} as const satisfies Record<string, Problem>;

export type ProblemCode = keyof typeof problems;

/** One member of a validation error's `errors`: where, which rule, and what was expected and found. */
export interface FieldError {
  readonly pointer: string;
  readonly in: 'body' | 'query' | 'path' | 'header';
  readonly code: FieldCode | TelemetryFault;
  readonly detail: string;
  readonly limit?: number;
}

export interface GovErrorOptions {
  readonly cause?: unknown;
  readonly errors?: readonly FieldError[];
  /** Further members of the problem body, such as `allowed` or `requiredScope`. */
  readonly extensions?: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds?: number;
  /**
   * Whether the same request may end otherwise without a change of its sender, such as after a lost race. Default: the
   * `retryable` of the code. A job that ends with it is repeated.
   */
  readonly transient?: boolean;
}

/** An error with a problem code. `detail` states what was expected, what was found, and where. */
export class GovError extends Error {
  override readonly name = 'GovError';
  readonly code: ProblemCode;
  readonly errors: readonly FieldError[];
  readonly extensions: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds: number | undefined;
  readonly transient: boolean;

  constructor(code: ProblemCode, detail: string, options: GovErrorOptions = {}) {
    super(detail, { cause: options.cause });
    this.code = code;
    this.errors = options.errors ?? [];
    this.extensions = options.extensions ?? {};
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.transient = options.transient ?? problems[code].retryable;
  }

  get status(): number {
    return problems[this.code].status;
  }
}

/** The path segment of a problem's page: `RUN_HAS_NO_EVENTS` has the page `/problems/run-has-no-events`. */
export const problemSlug = (code: ProblemCode): string => code.toLowerCase().replaceAll('_', '-');

/** The detail of NOT_FOUND for a path without an operation: a data plane has fewer operations than a service. */
export const noOperation = 'no operation has this path';
