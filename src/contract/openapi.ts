/**
 * The OpenAPI 3.1 document, made from the table: what is published is what is checked. Extensions carry
 * `x-origin: extension`, every operation its `x-stability` (contract A10, Z6).
 * Proven by `test/contract/openapi.test.ts` (golden file; a public validator).
 */
import type { TObject, TSchema } from 'typebox';
import { limits } from './limits.ts';
import type { Operation } from './operation.ts';
import { streams } from './events.ts';
import { problems } from './problems.ts';
import { table } from './table.ts';

type JsonValue = null | boolean | number | string | JsonValue[] | { [name: string]: JsonValue };
type JsonRecord = { [name: string]: JsonValue };

/** By their text: the build keeps the table as plain JSON. */
const named = new Map<string, { name: string; schema: unknown }>(
  Object.entries({
    AuditEvent: table.getEvent.success[200],
    EventInput: table.createEvent.body,
    Run: table.listRuns.success[200].properties.data.items,
    ComplianceProof: table.getProof.success[200],
    CausalGraph: table.getGraph.success[200],
    GraphDeclaration: table.declareGraph.body,
  }).map(([name, schema]) => [JSON.stringify(schema), { name, schema }]),
);

/** A schema as plain JSON, with references to the named ones below the top. */
function plainSchema(schema: unknown, top = false): JsonValue {
  if (typeof schema !== 'object' || schema === null) return schema as JsonValue;
  const known = top ? undefined : named.get(JSON.stringify(schema));
  if (known !== undefined) return { $ref: `#/components/schemas/${known.name}` };
  if (Array.isArray(schema)) return schema.map((item) => plainSchema(item));
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, plainSchema(value)]));
}

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

/** Statuses that every operation may answer with beside its own (contract A8). */
function sharedStatuses(row: Operation): number[] {
  const always = [400, 404, 405, 406, 408, 429, 431, 500, 503];
  const keyed = row.scope === null ? [] : [401, 403];
  const posted = row.method === 'POST' ? [409] : [];
  const conditional = row.ifMatch === true ? [412] : [];
  // also where none is expected: what comes is looked at
  const withBody = row.method === 'GET' ? [] : [413, 415];
  return [...always, ...keyed, ...posted, ...conditional, ...withBody];
}

function responses(row: Operation): JsonRecord {
  const result: JsonRecord = {};
  for (const [status, content] of Object.entries(row.success)) {
    if (status === '101') {
      // OpenAPI knows no messages: their schema is told beside the answer
      result[status] = { description: row.summary, 'x-message': plainSchema(content) };
      continue;
    }
    const isText = 'mediaType' in content;
    result[status] = {
      description: row.summary,
      headers: { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } },
      content: {
        [isText ? (content.mediaType.split(';')[0] ?? '') : 'application/json']: {
          schema: isText ? { type: 'string' } : plainSchema(content),
        },
      },
    };
  }
  for (const status of [...new Set([...row.statuses, ...sharedStatuses(row)])].sort((a, b) => a - b)) {
    result[status] ??= { $ref: `#/components/responses/${status}` };
  }
  return result;
}

function parameters(row: Operation): JsonValue[] {
  const list = (schema: TObject | undefined, place: 'path' | 'query'): JsonValue[] =>
    Object.entries((schema?.properties ?? {}) as Record<string, TSchema>).map(([name, property]) => {
      const required = place === 'path' || ((schema?.required ?? []) as readonly string[]).includes(name);
      return { name: name === '*' ? 'path' : name, in: place, required, schema: plainSchema(property) };
    });
  const headers = [
    ...(row.method === 'POST' ? ['IdempotencyKey'] : []),
    ...(row.ifMatch === true ? ['IfMatch'] : []),
  ].map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return [...list(row.params, 'path'), ...list(row.query, 'query'), ...headers];
}

function operationObject(id: string, row: Operation): JsonRecord {
  const given = parameters(row);
  return {
    operationId: id,
    tags: [row.tag],
    summary: row.summary,
    'x-stability': row.stability,
    'x-origin': row.origin,
    ...(row.scope === null ? {} : { 'x-scope': row.scope }),
    ...(row.meters === undefined ? {} : { 'x-metered': row.meters }),
    ...(row.stability === 'deprecated' ? { deprecated: true } : {}),
    security: row.scope === null ? [{}] : [{ api_key: [] }, { bearer_key: [] }],
    ...(given.length === 0 ? {} : { parameters: given }),
    ...(row.body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            description: `At most ${row.bodyBytes ?? limits.bodyBytes} bytes`,
            content: { 'application/json': { schema: plainSchema(row.body) } },
          },
        }),
    responses: responses(row),
  };
}

const problemSchema: JsonRecord = {
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

/** The whole document, without references to anything outside it. */
export function openapiDocument(): JsonRecord {
  const paths: Record<string, JsonRecord> = {};
  for (const [id, row] of Object.entries<Operation>({ ...table, ...streams })) {
    const path = row.path.replace(/\*$/, '{path}');
    (paths[path] ??= {})[row.method.toLowerCase()] = operationObject(id, row);
  }
  const tags = [...new Set(Object.values<Operation>(table).map(({ tag }) => tag))];
  return {
    openapi: '3.1.0',
    info: {
      title: 'Governance Service',
      version: '1.0.0',
      description: 'Records what AI agents do, proves it, and replays it.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [
      { url: '/api/v1', description: 'Production; keys gov_live_…' },
      { url: '/sandbox/api/v1', description: 'Sandbox; keys gov_test_…' },
    ],
    tags: tags.map((name) => ({ name })),
    paths,
    components: components(),
  };
}

function components(): JsonRecord {
  const schemas = [...named.values()].map(({ name, schema }): [string, JsonValue] => [
    name,
    plainSchema(schema, true),
  ]);
  const shared = Object.entries(statusText).map(([status, description]): [string, JsonValue] => [
    status,
    {
      description,
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    },
  ]);
  return {
    schemas: { ...Object.fromEntries(schemas), Problem: problemSchema },
    responses: Object.fromEntries(shared),
    headers: { RequestId: { description: 'Names the request in logs', schema: { type: 'string' } } },
    parameters: {
      IdempotencyKey: {
        name: 'Idempotency-Key',
        in: 'header',
        required: false,
        description: `A repeat within ${limits.idempotencyHours} h gets the first answer`,
        schema: { type: 'string', minLength: 1, maxLength: limits.idempotencyKeyChars },
      },
      IfMatch: {
        name: 'If-Match',
        in: 'header',
        required: false,
        description:
          'The ETag of an earlier answer: nothing is changed where the resource has another by now',
        schema: { type: 'string' },
      },
    },
    securitySchemes: {
      api_key: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      bearer_key: { type: 'http', scheme: 'bearer', bearerFormat: 'gov_…' },
    },
  };
}
