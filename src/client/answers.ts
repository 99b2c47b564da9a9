/**
 * A class for each kind of problem that a program handles by itself, by status as the clients of Stripe and OpenAI have
 * it. Each is a `GovApiError`, whose `code` says more. Tested by `test/client/errors.test.ts`.
 */
import { GovApiError, type ProblemBody } from './errors.ts';

/** 400, 415, 422 and other refused input. `errors` names the members. */
export class GovBadRequestError extends GovApiError {
  override readonly name = 'GovBadRequestError';
}
/** 401: the credential is missing, unknown, revoked or expired. */
export class GovAuthError extends GovApiError {
  override readonly name = 'GovAuthError';
}
/** 402: the plan does not include this. */
export class GovPaymentError extends GovApiError {
  override readonly name = 'GovPaymentError';
}
/** 403: the credential may not do this. */
export class GovPermissionError extends GovApiError {
  override readonly name = 'GovPermissionError';
}
/** 404 and 410: there is no such thing, or no more. */
export class GovNotFoundError extends GovApiError {
  override readonly name = 'GovNotFoundError';
}
/** 409 and 412: the state of the resource does not allow this, or has changed since. */
export class GovConflictError extends GovApiError {
  override readonly name = 'GovConflictError';
}
/** 413: the request is too large. */
export class GovTooLargeError extends GovApiError {
  override readonly name = 'GovTooLargeError';
}
/** 429: too many requests (`retryable`), or a quota is used up. `retryAfterSeconds` says when to try again. */
export class GovRateLimitError extends GovApiError {
  override readonly name = 'GovRateLimitError';
}
/** 500 and above: the service failed. */
export class GovServerError extends GovApiError {
  override readonly name = 'GovServerError';
}

type ProblemClass = new (...args: ConstructorParameters<typeof GovApiError>) => GovApiError;

const byStatus: Readonly<Record<number, ProblemClass>> = {
  401: GovAuthError,
  402: GovPaymentError,
  403: GovPermissionError,
  404: GovNotFoundError,
  409: GovConflictError,
  410: GovNotFoundError,
  412: GovConflictError,
  413: GovTooLargeError,
  429: GovRateLimitError,
};

/** Returns the error of a status, with its class. A status below 400, such as a redirect, is a plain `GovApiError`. */
export function apiError(
  status: number,
  problem: ProblemBody,
  headers: Readonly<Record<string, string>>,
): GovApiError {
  const Class = byStatus[status] ?? (status >= 500 ? GovServerError : rest(status));
  return new Class(status, problem, headers);
}

const rest = (status: number): ProblemClass => (status >= 400 ? GovBadRequestError : GovApiError);
