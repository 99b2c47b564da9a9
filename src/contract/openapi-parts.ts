/**
 * Shared parts of the OpenAPI document: problems, headers, security schemes, tag texts.
 * Proven by `test/contract/openapi.test.ts`.
 */
import { cronHeader, projectHeader, sessionCookie, telemetryHeaders } from './auth-words.ts';
import { fieldCodes } from './field-codes.ts';
import { limits } from './limits.ts';
import type { Tag } from './operation.ts';
import { problems } from './problems.ts';
import { telemetryFaults } from './telemetry.ts';

export type JsonValue = null | boolean | number | string | JsonValue[] | { [name: string]: JsonValue };
export type JsonRecord = { [name: string]: JsonValue };

export const tagText: Readonly<Record<Tag, string>> = {
  'Audit Events': 'Record what agents did, and read the records',
  'Compliance Proofs': 'Prove the records of a run to a party that does not trust this service',
  'Risk Routing': 'Score a step of a run, and route it',
  Replay: 'Repeat the recorded decisions of a run and compare the results',
  'Causal Graphs': 'Causes and effects within a run',
  Governance: 'Policies: their life cycle and their decisions',
  Jobs: 'Work that continues after the response',
  Exports: 'Files of whole resources, with proofs',
  Reporting: 'Reports that a person reads and signs, with the data and its proof attached',
  Auth: 'Sign up, sign in, sign out',
  Billing: 'The portal of the payment provider, and the retention of bodies',
  Metering: 'Counted operations and quotas',
  Projects: 'Projects of an organization, and their keys',
  'Hybrid Telemetry': 'Data planes that customers host: enrolment, usage reports, attestations',
  Operations: 'Whether stored data is whole, copied, signed and forwarded',
  Webhooks: 'Signed messages to your own endpoints about what happened, their history',
  Health: 'The state of this process',
  Log: 'The transparency log of the events: checkpoints, keys, tiles',
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
  426: 'A WebSocket is required; see the Upgrade header',
  429: 'Quota or rate exceeded; see Retry-After',
  431: 'The headers are too large',
  500: 'Internal error',
  503: 'Unavailable now; see Retry-After',
};

/** Headers of the problems of a status, in addition to those of every response. */
const statusHeaders: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  405: ['Allow'],
  416: ['Content-Range'],
  409: ['Retry-After'],
  426: ['Upgrade'],
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
          code: { type: 'string', enum: [...Object.keys(fieldCodes), ...telemetryFaults] },
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
  'X-Request-Id': header('Identifies the request in logs'),
  'RateLimit-Policy': header(
    'Limits of the request (draft-ietf-httpapi-ratelimit-headers): `q` requests in `w` seconds, and the quota of the month; only a hosted service sends it',
  ),
  RateLimit: header('`r` remaining requests, and `t` seconds until the next one is added'),
  'X-RateLimit-Limit': header('Same as `q`', 'integer'),
  'X-RateLimit-Remaining': header('Same as `r`', 'integer'),
  'X-RateLimit-Reset': header('When the next request is added, in Unix seconds', 'integer'),
  'Retry-After': header('Seconds to wait before the request is repeated', 'integer'),
  'WWW-Authenticate': header('The missing or invalid credential (RFC 6750)'),
  Allow: header('Allowed methods of the path'),
  'Gov-Completeness': header(
    '`checked`: the proof lacks nothing that the index of the log has; `not_checked`: the index is still built',
  ),
  'Gov-Receipt': header(
    'Receipt (RFC 9942, base64url of a COSE_Sign1) of the leaves that the request added to the log of its project. Absent where it added none, and where the service gives no receipts with its answers',
  ),
  Location: {
    ...header('Path of what was created, or of the job, export or data plane to look at (RFC 9110)'),
    required: true,
  },
  Upgrade: header('websocket'),
  ETag: header(
    'Identifies these exact bytes or this state of a resource, for If-Match, If-None-Match and If-Range',
  ),
  'Accept-Ranges': header('bytes: the service accepts range requests'),
  'Content-Range': header('The range and the size of the file; `bytes */size` for a range after the end'),
  'Repr-Digest': header('SHA-256 of the whole file, for every range (RFC 9530)'),
  'Content-Disposition': header('attachment, with a file name (RFC 6266)'),
};

/** Headers of responses that support range requests. */
export const rangedHeaders = ['ETag', 'Accept-Ranges', 'Repr-Digest', 'Content-Disposition'] as const;

/** Headers of operations with a removal date. */
export const noticeHeaders: JsonRecord = {
  Deprecation: header('When the operation was deprecated: @ and Unix seconds (RFC 9745)'),
  Sunset: header('When the operation is removed (RFC 8594)'),
  Link: header('rel="deprecation": the guide to the successor of the operation'),
};

/** References to header components, by the name of the header. */
export const headerReferences = (names: readonly string[]): JsonRecord =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

export const headerParameters: JsonRecord = {
  GovProject: {
    name: projectHeader.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase()),
    in: 'header',
    required: false,
    description:
      'The project that a person acts on (prj_…). A key needs no header. Optional where the operation is about the organization',
    schema: { type: 'string' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: `A repeat within ${limits.idempotencyHours} h gets the first response`,
    schema: { type: 'string', minLength: 1, maxLength: limits.idempotencyKeyChars },
  },
  TelemetrySignature: {
    name: telemetryHeaders.signature,
    in: 'header',
    required: true,
    description:
      'HMAC-SHA-256 in hex over `<timestamp>.<body>` with the signing secret; the body in RFC 8785 form; up to ' +
      `${limits.signatureValues} values, separated by commas`,
    schema: { type: 'string', maxLength: limits.signatureHeaderChars },
  },
  TelemetryTimestamp: {
    name: telemetryHeaders.timestamp,
    in: 'header',
    required: true,
    description: `Unix seconds, within ${limits.telemetrySkewSeconds} s of the service time`,
    schema: { type: 'string', pattern: '^[0-9]{10}$' },
  },
  CronSecret: {
    name: cronHeader,
    in: 'header',
    required: true,
    description: 'The secret that the operator of the installation set for its scheduler',
    schema: { type: 'string', minLength: limits.cronSecretChars },
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    required: false,
    description:
      'The ETag of an earlier response; the service answers 412 and changes nothing if the resource has another revision',
    schema: { type: 'string' },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description: 'The ETag of an earlier response; 304 if it is still current (RFC 9110 §13.1.2)',
    schema: { type: 'string' },
  },
  Range: {
    name: 'Range',
    in: 'header',
    required: false,
    description:
      'One range of bytes, such as bytes=1000- (RFC 9110 §14.2); the whole file is returned for several ranges or another unit',
    schema: { type: 'string' },
  },
  IfRange: {
    name: 'If-Range',
    in: 'header',
    required: false,
    description: 'The ETag of an earlier response; the range if it is still current, else the whole file',
    schema: { type: 'string' },
  },
};

export const securitySchemes: JsonRecord = {
  api_key: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'gov_live_… or gov_test_…' },
  bearer_key: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'gov_…',
    description: 'An API key, or the gov_cli_… token of a person at a command line',
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
      'Set by POST /auth/session; accepted from pages of the service and of its configured origins only',
  },
  hybrid_telemetry_key: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'gov_hyb_…',
    description: 'The key that a data plane got when it enrolled; the data plane also signs its messages',
  },
};

/** Credentials for operations on a project, any one of them. A person has one of the last three, on a hosted service. */
export const projectSchemes = ['api_key', 'bearer_key', 'id_token', 'session'] as const;
