/** What operations of the OpenAPI document refer to: problems, headers, credentials, the words of the groups. */
import { projectHeader, sessionCookie, telemetryHeaders } from './auth-words.ts';
import { limits } from './limits.ts';
import type { Tag } from './operation.ts';
import { problems } from './problems.ts';

export type JsonValue = null | boolean | number | string | JsonValue[] | { [name: string]: JsonValue };
export type JsonRecord = { [name: string]: JsonValue };

export const tagText: Readonly<Record<Tag, string>> = {
  'Audit Events': 'Record what agents did, and read it',
  'Compliance Proofs': 'Prove what was recorded of a run, to whoever does not trust this service',
  'Risk Routing': 'Score a moment of a run, and route it',
  Replay: 'Verify the recorded decisions of a run again',
  'Causal Graphs': 'What of a run caused what',
  Governance: 'Policies: their life, and what they decide',
  Jobs: 'Work that goes on after the answer',
  Exports: 'Files of whole resources that stay verifiable',
  Auth: 'Sign up, sign in, sign out',
  Billing: 'The portal of the payment provider, and how long bodies are kept',
  Metering: 'What was counted, beside the quotas',
  Projects: 'Projects of an organization, and their keys',
  'Hybrid Telemetry': 'Data planes at customers: what they report, and how it is verified',
  Health: 'Whether this process can do its work',
  Log: 'The transparency log behind the events: checkpoints, keys, tiles',
};

const statusText: Readonly<Record<number, string>> = {
  400: 'The request does not match the interface',
  401: 'Missing or invalid credential',
  402: 'The plan does not include this',
  403: 'The credential may not do this',
  404: 'Not found',
  405: 'The method is not allowed here; see the Allow header',
  406: 'No acceptable representation',
  408: 'The request took too long to arrive',
  409: 'Conflict with the current state, or the idempotency key is in flight',
  410: 'Gone',
  412: 'The precondition does not hold',
  413: 'The body is too large',
  415: 'The media type is not supported',
  422: 'The attestation does not verify',
  429: 'Quota or rate exceeded; see Retry-After',
  431: 'The headers are too large',
  500: 'Internal error',
  503: 'Not available now; see Retry-After',
};

/** Headers that problems of a status carry beside those of every answer. */
const statusHeaders: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  405: ['Allow'],
  416: ['Content-Range'],
  409: ['Retry-After'],
  429: [
    'RateLimit-Policy',
    'RateLimit',
    'X-RateLimit-Limit',
    'X-RateLimit-Remaining',
    'X-RateLimit-Reset',
    'Retry-After',
  ],
  503: ['Retry-After'],
};

export const problemResponses = (statuses: ReadonlySet<number>): JsonRecord =>
  Object.fromEntries(
    [...statuses]
      .toSorted((a, b) => a - b)
      .map((status) => [
        status,
        {
          description: statusText[status] ?? '',
          headers: headerReferences(['X-Request-Id', ...(statusHeaders[status] ?? [])]),
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      ]),
  );

export const problemSchema: JsonRecord = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId', 'retryable'],
  properties: {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string', format: 'uri' },
    code: { type: 'string', enum: Object.keys(problems) },
    requestId: { type: 'string' },
    retryable: { type: 'boolean' },
    docUrl: { type: 'string', format: 'uri' },
    errors: {
      type: 'array',
      maxItems: limits.fieldErrors,
      items: {
        type: 'object',
        required: ['pointer', 'in', 'code', 'detail'],
        properties: {
          pointer: { type: 'string' },
          in: { type: 'string', enum: ['body', 'query', 'path', 'header'] },
          code: { type: 'string' },
          detail: { type: 'string' },
          limit: { type: 'number' },
        },
      },
    },
    errorsTruncated: { type: 'boolean' },
  },
};

const header = (description: string, type: 'string' | 'integer' = 'string'): JsonRecord => ({
  description,
  schema: { type },
});

export const rateHeaders = ['RateLimit-Policy', 'RateLimit'] as const;

export const headerComponents: JsonRecord = {
  'X-Request-Id': header('Names the request in logs'),
  'RateLimit-Policy': header(
    'Limits that the request counts against (draft-ietf-httpapi-ratelimit-headers): requests `q` in `w` seconds, and the quota of the month; of a hosted service alone',
  ),
  RateLimit: header('Requests `r` that are left, and the seconds `t` until there is one more'),
  'X-RateLimit-Limit': header('As `q`', 'integer'),
  'X-RateLimit-Remaining': header('As `r`', 'integer'),
  'X-RateLimit-Reset': header('When there is one more, in Unix seconds', 'integer'),
  'Retry-After': header('Seconds to wait before the request is repeated', 'integer'),
  'WWW-Authenticate': header('What is missing (RFC 6750)'),
  Allow: header('Methods of the path'),
  ETag: header('Names these very bytes: for If-Range, If-Match and If-None-Match'),
  'Accept-Ranges': header('bytes: parts can be asked for'),
  'Content-Range': header('Which bytes of how many these are; of a range behind the end `bytes */size`'),
  'Repr-Digest': header('SHA-256 of the whole, whatever part this is (RFC 9530)'),
  'Content-Disposition': header('attachment, with a name for the file (RFC 6266)'),
};

/** Of answers of which parts can be asked for. */
export const rangedHeaders = ['ETag', 'Accept-Ranges', 'Repr-Digest', 'Content-Disposition'] as const;

/** Of operations that are going to be removed. */
export const noticeHeaders: JsonRecord = {
  Deprecation: header('Since when the operation is going to be removed: @ and Unix seconds (RFC 9745)'),
  Sunset: header('When it goes (RFC 8594)'),
  Link: header('With rel="deprecation": where the way to its successor is described'),
};

/** Components are named as headers are, so that none is named twice. */
export const headerReferences = (names: readonly string[]): JsonRecord =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

export const headerParameters: JsonRecord = {
  GovProject: {
    name: projectHeader.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase()),
    in: 'header',
    required: false,
    description:
      'The project that a person acts on (prj_…); a key needs none. Where the operation is of the organization, it may be left out',
    schema: { type: 'string' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: `A repeat within ${limits.idempotencyHours} h gets the first answer`,
    schema: { type: 'string', minLength: 1, maxLength: limits.idempotencyKeyChars },
  },
  TelemetrySignature: {
    name: telemetryHeaders.signature,
    in: 'header',
    required: true,
    description:
      'HMAC-SHA-256 in hex over `<timestamp>.<body>`, the body as RFC 8785 writes it, under the signing secret; up to ' +
      `${limits.signatureValues} values apart by commas`,
    schema: { type: 'string', maxLength: limits.signatureHeaderChars },
  },
  TelemetryTimestamp: {
    name: telemetryHeaders.timestamp,
    in: 'header',
    required: true,
    description: `Unix seconds, within ${limits.telemetrySkewSeconds} s of the service's`,
    schema: { type: 'string', pattern: '^[0-9]{10}$' },
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    required: false,
    description:
      'The ETag of an earlier answer: refused with 412, and nothing done, where the resource has another by now',
    schema: { type: 'string' },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'The ETag of an earlier answer: 304 where it is still the answer (RFC 9110 section 13.1.2)',
    schema: { type: 'string' },
  },
  Range: {
    name: 'Range',
    in: 'header',
    required: false,
    description:
      'One range of bytes, such as bytes=1000- (RFC 9110 section 14.2); of several, or of another unit, the whole is answered',
    schema: { type: 'string' },
  },
  IfRange: {
    name: 'If-Range',
    in: 'header',
    required: false,
    description: 'The ETag of an earlier answer: the range where it is still the answer, else the whole',
    schema: { type: 'string' },
  },
};

export const securitySchemes: JsonRecord = {
  api_key: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'gov_live_… or gov_test_…' },
  bearer_key: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'gov_…',
    description: 'An API key, or gov_cli_… of a person at a command line',
  },
  id_token: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'An ID token of the identity provider',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: sessionCookie,
    description:
      'Set by POST /auth/session; taken from pages of the service and of its list of origins alone',
  },
  hybrid_telemetry_key: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'gov_hyb_…',
    description: 'The key of a data plane, which it got when it enrolled; its messages are signed as well',
  },
};

/** Any one of them where a project is acted on. A person has one of the last three, on a hosted service. */
export const projectSchemes = ['api_key', 'bearer_key', 'id_token', 'session'] as const;
