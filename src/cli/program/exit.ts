/**
 * Exit codes, and how a failure becomes one with a message. `gov help exit-codes` prints the same table. A pipeline can
 * tell "the answer is no" (3) from "could not ask" (10).
 * Tested by `test/cli/program/exit.test.ts` over the whole error register.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GovApiError, GovNetworkError, GovSpoolError } from '../../client/errors.ts';
import { projectHeader } from '../../contract/auth-words.ts';
import { GovError, problems } from '../../contract/problems.ts';
import type { FieldError } from '../../contract/problems.ts';
import { shellWord } from '../../core/shell-word.ts';
import { codeOf, isImpossible, whyUnwritable } from '../../files/write-fault.ts';

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
  notCompliant: 11,
  diskError: 74,
  notStarted: 126,
  notInstalled: 127,
  interrupted: 130,
  terminated: 143,
} as const;
export type ExitCode = (typeof exit)[keyof typeof exit];

export const exitMeanings: Readonly<Record<ExitCode, string>> = {
  0: 'done, and the answer is yes; also if the reader of a pipe closed it',
  1: 'unexpected error, a failed or cancelled job, or a server error that remained after retries',
  2: 'usage or invalid input: flags, files, values that the service rejected',
  3: 'the check failed: the request worked, and the answer is no (not authentic, not ready)',
  4: 'not authenticated, or not allowed',
  5: 'not found, or gone',
  6: 'conflict or illegal state',
  7: 'quota, rate limit or payment, after retries',
  8: 'still pending at the end of --timeout',
  9: 'partial: some items were rejected',
  10: 'could not reach the service: network, TLS, proxy or time-out',
  11: 'the proof is authentic, and shows that the run broke a policy',
  74: 'a disk error stopped the server',
  126: 'the program to run could not be started',
  127: 'the program to run was not found',
  130: 'interrupted (SIGINT)',
  143: 'terminated (SIGTERM)',
};

/** The exit codes of a command: those that every command has, and its own. */
export const exitCodesOf = ({
  exitCodes = {},
}: {
  readonly exitCodes?: Readonly<Record<number, string>>;
}): Readonly<Record<number, string>> => ({
  0: exitMeanings[0],
  1: exitMeanings[1],
  2: exitMeanings[2],
  ...exitCodes,
});

interface CliErrorOptions {
  readonly code?: string;
  readonly hint?: string;
  /** Commands that may help. */
  readonly next?: readonly string[];
  readonly cause?: unknown;
}

/** A failure that a command found itself. `message` says what was expected and what came. */
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

/** The report of a failure: the members of the JSON error object. */
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
  RUN_HAS_NO_EVENTS: exit.notFound,
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

const bySpool: Readonly<Record<GovSpoolError['code'], ExitCode>> = {
  SPOOL_IN_USE: exit.conflict,
  SPOOL_DAMAGED: exit.error,
  SPOOL_OF_OTHER_SERVICE: exit.usage,
};

export function exitOf(code: string, status: number): ExitCode {
  return byCode[code] ?? byStatus[status] ?? (status >= 400 && status < 500 ? exit.usage : exit.error);
}

/** Hints for an error from any source. */
const hints: Readonly<Record<string, string>> = {
  RUN_TOO_LARGE_FOR_SYNC: 'add --wait to create the proof in a job',
  RUN_HAS_NO_EVENTS: 'list runs with events: gov runs list',
  JOB_NOT_RETRYABLE: 'see its state: gov jobs get ID',
  ALREADY_ENDED: 'see its state: gov jobs get ID, or gov export get ID',
};

/** Hints for the service's response to a context's credential. The same code from this machine is about a file. */
const answerHints: Readonly<Record<string, string>> = {
  ...hints,
  UNAUTHENTICATED: 'sign in: gov auth login; or set GOV_API_KEY; or choose a context: gov context list',
  INVALID_CREDENTIAL:
    'see which credential is used: gov context show; for a service sign in again: gov auth login; for a plane see whether it is this one that serves: gov plane status',
  ENVIRONMENT_MISMATCH: 'choose the environment with --env, or another context: gov context list',
  INSUFFICIENT_SCOPE: 'use a key with this scope',
  QUOTA_EXCEEDED: 'see what remains: gov usage show',
  EXPORT_LIMIT: 'list exports: gov export list; delete one: gov export delete ID',
  USER_EXISTS: 'sign in: gov auth login',
  FORBIDDEN: 'use another key, or ask somebody who has one; GOV_API_KEY_FILE names an approver’s key',
  STORAGE_FULL: 'free disk space on the plane’s machine',
  RATE_LIMITED: 'try again later, or raise --retries',
};

const present = <Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } =>
  // the computed key is exactly Key
  (value === undefined ? {} : { [key]: value }) as { [K in Key]?: Value };

/**
 * Converts any thrown value to a failure. Never throws. Messages may contain remote text. `listing` is the command that
 * lists what the failed command looked for.
 */
export function failureOf(thrown: unknown, listing?: string): Failure {
  const failure = describedFailure(thrown, listing);
  return { ...failure, message: withoutKeys(failure.message) };
}

/** A message may quote a file that the caller took for another one, such as `--trust my-plane/local.key`. */
export const withoutKeys = (text: string): string =>
  text.replaceAll(/\b(gov_[a-z]{2,12}_[A-Za-z0-9]{4})[A-Za-z0-9_-]{8,}/g, '$1…');

function describedFailure(thrown: unknown, listing: string | undefined): Failure {
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
  if (thrown instanceof GovApiError) return apiFailure(thrown, listing);
  if (thrown instanceof GovNetworkError) {
    const { code, message, retryable, hint } = thrown;
    return { exit: exit.network, code, message, retryable, next: ['gov doctor'], ...present('hint', hint) };
  }
  if (thrown instanceof GovSpoolError) {
    const { code, message, retryable, hint } = thrown;
    return { exit: bySpool[code], code, message, retryable, hint, next: [] };
  }
  if (thrown instanceof GovError) {
    const { code, message, status, extensions } = thrown;
    const { retryable } = problems[code];
    return {
      exit: exitOf(code, status),
      code,
      message,
      retryable,
      next: aboutServing(extensions['locked']),
      ...present('hint', hints[code]),
    };
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (diskCodes.has(codeOf(thrown))) {
    const isReadOnly = codeOf(thrown) === 'EROFS';
    const code = isReadOnly ? 'WRITE_FAILED' : 'STORAGE_FULL';
    const hint = `${isReadOnly ? '' : 'make room or '}choose another place, then run the command again`;
    const why = `${whyUnwritable(thrown)} (${message})`;
    return { exit: exit.error, code, message: why, retryable: false, hint, next: [] };
  }
  if (['EACCES', 'EPERM'].includes(codeOf(thrown))) {
    const hint =
      'choose a place that this user may use: by its flag, or HOME, XDG_STATE_HOME, GOV_CONFIG_DIR';
    const plain = deniedPath(thrown) ?? message;
    return { exit: exit.error, code: 'PERMISSION_DENIED', message: plain, retryable: false, hint, next: [] };
  }
  const isMade = thrown instanceof Error && 'syscall' in thrown && thrown.syscall === 'mkdir';
  if (thrown instanceof Error && 'path' in thrown && (isMade || isImpossible(thrown))) {
    const what = isMade ? 'make the folder' : 'use';
    const why = `cannot ${what} ${String(thrown.path)}: ${whyUnwritable(thrown)}`;
    const hint = 'choose another place, then run the command again';
    return { exit: exit.error, code: 'WRITE_FAILED', message: why, retryable: false, hint, next: [] };
  }
  const hint = 'run the command again with --debug and report its output, with that of gov doctor';
  return { exit: exit.error, code: 'INTERNAL', message, retryable: false, hint, next: [] };
}

/** Names the file or folder that the system refused; undefined for a refused program or address. */
function deniedPath(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('path' in thrown) || !('syscall' in thrown)) return undefined;
  return String(thrown.syscall).startsWith('spawn')
    ? undefined
    : `cannot use ${String(thrown.path)}: this user may not (${codeOf(thrown)})`;
}

/** The commands for the plane whose process holds this lock; empty for the lock of something else. */
function aboutServing(lock: unknown): string[] {
  if (typeof lock !== 'string' || !existsSync(join(dirname(lock), 'plane.json'))) return [];
  return ['status', 'stop'].map((verb) => `gov plane ${verb} --data ${shellWord(dirname(lock))}`);
}

/** System error codes that mean: no file of any command can be written there. */
const diskCodes: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS']);

const projectHint =
  'name the project: --project ID, or gov context set NAME --project ID; list them: gov projects list';

/** The service asks which project a person acts on. */
const isWithoutProject = (errors: readonly FieldError[]): boolean =>
  errors.some(
    ({ in: place, pointer, code }) =>
      place === 'header' && code === 'MISSING_FIELD' && pointer.toLowerCase() === `/${projectHeader}`,
  );

function apiFailure(thrown: GovApiError, listing: string | undefined): Failure {
  const { code, message, status, requestId, retryable, errors, problem } = thrown;
  const type =
    typeof problem['type'] === 'string' && problem['type'].startsWith('http') ? problem['type'] : undefined;
  const moved =
    status >= 300 && status < 400
      ? 'the base URL redirects; use the address that it redirects to'
      : undefined;
  const others = code === 'NOT_FOUND' && listing !== undefined ? `see what there is: ${listing}` : undefined;
  // a policy in a body is missing as one in a path is
  const isUnknown = errors.length > 0 && errors.every((each) => each.code === 'UNKNOWN_POLICY');
  return {
    exit: isUnknown ? exit.notFound : exitOf(code, status),
    code,
    message,
    status,
    retryable,
    next: [],
    ...present('requestId', requestId),
    ...present('hint', isWithoutProject(errors) ? projectHint : (answerHints[code] ?? moved ?? others)),
    ...present('docs', type),
    ...present('errors', errors.length > 0 ? errors : undefined),
  };
}
