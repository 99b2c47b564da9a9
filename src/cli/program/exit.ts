/**
 * Exit codes, and how a failure becomes one with a message. The table is also the text of
 * `gov help exit-codes`. A pipeline can tell "the answer is no" (3) from "could not ask" (10).
 * `test/cli/program/exit.test.ts` holds the mapping over the whole error register.
 */
import { GovApiError, GovNetworkError } from '../../client/errors.ts';
import { projectHeader } from '../../contract/auth-words.ts';
import { GovError, problems } from '../../contract/problems.ts';
import type { FieldError } from '../../contract/problems.ts';
import { codeOf, whyUnwritable } from '../terminal/write-fault.ts';

export const exit = {
  ok: 0,
  error: 1,
  usage: 2,
  checkFailed: 3,
  denied: 4,
  notFound: 5,
  conflict: 6,
  quota: 7,
  pending: 8,
  partial: 9,
  network: 10,
  interrupted: 130,
  terminated: 143,
} as const;
export type ExitCode = (typeof exit)[keyof typeof exit];

export const exitMeanings: Readonly<Record<ExitCode, string>> = {
  0: 'done, and the answer is yes; also when the reader of a pipe went away',
  1: 'unexpected error, a failed job, or a server error that remained after retries',
  2: 'usage or invalid input: flags, files, values the service refused',
  3: 'the check failed: the request was fine, the answer is no (not verified, not ready)',
  4: 'not authenticated, or not allowed',
  5: 'not found, or gone',
  6: 'conflict or illegal state',
  7: 'quota, rate limit or payment, after retries',
  8: 'still pending when the time allowed by --timeout was over',
  9: 'partial: some items were rejected',
  10: 'the service was not reached: network, TLS, proxy or time-out',
  130: 'interrupted (SIGINT)',
  143: 'terminated (SIGTERM)',
};

interface CliErrorOptions {
  readonly code?: string;
  readonly hint?: string;
  /** Commands that help. */
  readonly next?: readonly string[];
  readonly cause?: unknown;
}

/** A failure that a command found itself. `message`: expected, got. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exit: ExitCode;
  readonly code: string;
  readonly hint: string | undefined;
  readonly next: readonly string[];

  constructor(exitCode: ExitCode, message: string, options: CliErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.exit = exitCode;
    this.code = options.code ?? (exitCode === exit.usage ? 'USAGE' : 'FAILED');
    this.hint = options.hint;
    this.next = options.next ?? [];
  }
}

export const usage = (message: string, hint?: string): CliError =>
  new CliError(exit.usage, message, hint === undefined ? {} : { hint });

/** What is told of a failure; the members of the JSON error object. */
export interface Failure {
  readonly exit: ExitCode;
  readonly code: string;
  readonly message: string;
  readonly status?: number;
  readonly requestId?: string;
  readonly retryable: boolean;
  readonly hint?: string;
  readonly docs?: string;
  readonly next: readonly string[];
  readonly errors?: readonly FieldError[];
}

/** Codes whose status alone would give the wrong exit code. */
const byCode: Readonly<Record<string, ExitCode>> = {
  PROOF_NOT_FOUND: exit.notFound,
  INVALID_TRANSITION: exit.conflict,
};
const byStatus: Readonly<Record<number, ExitCode>> = {
  401: exit.denied,
  402: exit.quota,
  403: exit.denied,
  404: exit.notFound,
  408: exit.network,
  409: exit.conflict,
  410: exit.notFound,
  429: exit.quota,
};

export function exitOf(code: string, status: number): ExitCode {
  return byCode[code] ?? byStatus[status] ?? (status >= 400 && status < 500 ? exit.usage : exit.error);
}

/** Of a failure anywhere. */
const hints: Readonly<Record<string, string>> = {
  RUN_TOO_LARGE_FOR_SYNC: 'add --wait to prove it as a job',
  RUN_HAS_NO_EVENTS: 'list the runs that have: gov runs list',
  JOB_NOT_RETRYABLE: 'see its state: gov jobs get ID',
};

/** Of what a service answered to the credential of a context: a refusal on this machine is about a file. */
const answerHints: Readonly<Record<string, string>> = {
  ...hints,
  UNAUTHENTICATED: 'sign in: gov auth login; or set GOV_API_KEY; or choose a context: gov context list',
  INVALID_CREDENTIAL: 'see which credential is used: gov context show; sign in again: gov auth login',
  ENVIRONMENT_MISMATCH: 'choose the environment with --env, or another context: gov context list',
  INSUFFICIENT_SCOPE: 'use a key that carries the scope',
  QUOTA_EXCEEDED: 'see what is left: gov usage show',
  EXPORT_LIMIT: 'see them: gov export list; delete one: gov export delete ID',
  USER_EXISTS: 'sign in: gov auth login',
  FORBIDDEN: 'another key or person has to do this; an approver’s key is given with GOV_API_KEY_FILE',
  STORAGE_FULL: 'free disk space on the plane’s machine',
  RATE_LIMITED: 'try again later, or raise --retries',
};

const present = <Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } =>
  // the computed key is exactly Key
  (value === undefined ? {} : { [key]: value }) as { [K in Key]?: Value };

/** Total: whatever was thrown becomes a failure. Messages may hold remote text. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof CliError) {
    const { exit: exitCode, code, message, hint, next } = thrown;
    return {
      exit: exitCode,
      code,
      message,
      retryable: exitCode === exit.pending,
      next,
      ...present('hint', hint),
    };
  }
  if (thrown instanceof GovApiError) return apiFailure(thrown);
  if (thrown instanceof GovNetworkError) {
    const { code, message, retryable, hint } = thrown;
    return { exit: exit.network, code, message, retryable, next: [], ...present('hint', hint) };
  }
  if (thrown instanceof GovError) {
    const { code, message, status } = thrown;
    const { retryable } = problems[code];
    return {
      exit: exitOf(code, status),
      code,
      message,
      retryable,
      next: [],
      ...present('hint', hints[code]),
    };
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (diskCodes.has(codeOf(thrown))) {
    const full = { code: 'STORAGE_FULL', message: `${whyUnwritable(thrown)} (${message})` };
    const hint = 'make room, or choose another place, then run it again';
    return { exit: exit.error, ...full, retryable: false, hint, next: [] };
  }
  const hint = 'run it again with --debug and report what it prints';
  return { exit: exit.error, code: 'INTERNAL', message, retryable: false, hint, next: [] };
}

/** What a system says where a file of any command cannot be written. */
const diskCodes: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS']);

const projectHint =
  'name the project: --project ID, or gov context set NAME --project ID; see gov projects list';

/** A person has to say on which project they act. */
const isWithoutProject = (errors: readonly FieldError[]): boolean =>
  errors.some(
    ({ in: place, pointer, code }) =>
      place === 'header' && code === 'MISSING_FIELD' && pointer.toLowerCase() === `/${projectHeader}`,
  );

function apiFailure(thrown: GovApiError): Failure {
  const { code, message, status, requestId, retryable, errors, problem } = thrown;
  const type =
    typeof problem['type'] === 'string' && problem['type'].startsWith('http') ? problem['type'] : undefined;
  const moved =
    status >= 300 && status < 400 ? 'the base URL redirects; use the address it redirects to' : undefined;
  return {
    exit: exitOf(code, status),
    code,
    message,
    status,
    retryable,
    next: [],
    ...present('requestId', requestId),
    ...present('hint', isWithoutProject(errors) ? projectHint : (answerHints[code] ?? moved)),
    ...present('docs', type),
    ...present('errors', errors.length > 0 ? errors : undefined),
  };
}
