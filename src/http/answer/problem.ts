/**
 * Problem bodies (RFC 9457) with the members of contract C1-C7. The text of an unexpected error never leaves
 * the process. Proven by `test/contract/problems.test.ts`.
 */
import { problems, problemSlug, type GovError, type ProblemCode } from '../../contract/problems.ts';
import { escapedLine } from '../../core/visible.ts';

export const problemMediaType = 'application/problem+json';

/** An answer that is ready to be written. */
interface RawProblem {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const quotaType = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

/** Renders an error. `base` is the absolute URI under which `/problems/<slug>` is served. */
export function renderProblem(error: GovError, context: { requestId: string; base: string }): RawProblem {
  const { status, title, retryable } = problems[error.code];
  const slug = problemSlug(error.code);
  const page = `${context.base}/problems/${slug}`;
  const body = {
    ...(status === 500 ? {} : error.extensions),
    type: error.code === 'QUOTA_EXCEEDED' ? quotaType : page,
    title,
    status,
    detail: status === 500 ? 'Internal error' : escapedLine(error.message),
    instance: `urn:gov:req:${context.requestId}`,
    code: error.code,
    requestId: context.requestId,
    retryable,
    ...(status === 500 ? {} : { docUrl: page }),
    ...(error.errors.length === 0 ? {} : { errors: error.errors.map(plainField) }),
  };
  return { status, body: JSON.stringify(body), headers: headersOf(error) };
}

const plainField = (field: GovError['errors'][number]) => ({
  ...field,
  pointer: escapedLine(field.pointer),
  detail: escapedLine(field.detail),
});

/** Headers that say what to send next time and when (RFC 6750 §3, RFC 9110 §15.6.4). */
function headersOf(error: GovError): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': problemMediaType };
  if (error.retryAfterSeconds !== undefined) headers['retry-after'] = String(error.retryAfterSeconds);
  else if (problems[error.code].status === 503) headers['retry-after'] = '5';
  if (error.code === 'METHOD_NOT_ALLOWED') headers['allow'] = String(error.extensions['allow']);
  if (error.code === 'UPGRADE_REQUIRED')
    Object.assign(headers, { upgrade: 'websocket', connection: 'Upgrade' });
  if (error.code === 'RANGE_NOT_SATISFIABLE')
    headers['content-range'] = `bytes */${String(error.extensions['size'])}`;
  const challenge = challengeOf(error);
  if (challenge !== null) headers['www-authenticate'] = challenge;
  return headers;
}

const withInvalidToken: ReadonlySet<ProblemCode> = new Set(['INVALID_CREDENTIAL', 'ENVIRONMENT_MISMATCH']);

function challengeOf(error: GovError): string | null {
  if (error.code === 'INSUFFICIENT_SCOPE') {
    const scope = String(error.extensions['requiredScope']);
    return `Bearer realm="gov", error="insufficient_scope", scope="${scope}"`;
  }
  if (problems[error.code].status !== 401) return null;
  return withInvalidToken.has(error.code)
    ? 'Bearer realm="gov", error="invalid_token"'
    : 'Bearer realm="gov"';
}
