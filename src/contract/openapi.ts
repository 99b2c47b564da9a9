/**
 * The OpenAPI 3.1 document, made from the contract table: the published schemas are the checked schemas.
 * Each operation has `x-stability`, and `x-origin: extension` marks what the specification does not define.
 * Proven by `test/contract/openapi.test.ts` (golden file, public validator).
 */
import type { TObject, TSchema } from 'typebox';
import { limits } from './limits.ts';
import { streams } from './events.ts';
import {
  headerComponents,
  headerParameters,
  headerReferences,
  noticeHeaders,
  problemResponses,
  problemSchema,
  projectSchemes,
  rangedHeaders,
  rateHeaders,
  securitySchemes,
  tagText,
  type JsonRecord,
  type JsonValue,
} from './openapi-parts.ts';
import { accessOf, hasLocation, type Operation } from './operation.ts';
import { receivers } from './otlp.ts';
import { table, type OperationId } from './table.ts';

/** Schemas with a name, by their JSON text: the build stores the table as plain JSON, so identity is lost. */
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

/** Returns a schema as plain JSON; below the top level it refers to the named schemas. */
function plainSchema(schema: unknown, top = false): JsonValue {
  if (typeof schema !== 'object' || schema === null) return schema as JsonValue;
  const known = top ? undefined : named.get(JSON.stringify(schema));
  if (known !== undefined) return { $ref: `#/components/schemas/${known.name}` };
  if (Array.isArray(schema)) return schema.map((item) => plainSchema(item));
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, plainSchema(value)]));
}

const binary: JsonRecord = { schema: { type: 'string', format: 'binary' } };

const isProbe = ({ tag }: Operation): boolean => tag === 'Health';

/** The statuses that every operation may return in addition to its own (contract A8). */
function sharedStatuses(row: Operation): number[] {
  const always = [400, 404, 405, 406, 408, 429, 431, 500, 503];
  // An operation without a credential still refuses two credentials, and a cookie that a foreign page sends.
  const keyed = isProbe(row) ? [] : [401, 403];
  const posted = row.method === 'POST' ? [409] : [];
  const conditional = row.ifMatch === true ? [412] : [];
  // The service checks the body of an operation that has none, too.
  const withBody = row.method === 'GET' ? [] : [413, 415];
  return [...always, ...keyed, ...posted, ...conditional, ...withBody];
}

/** Content of a file in each of its formats; a range of it is valid in none. */
const fileContent = ({ files = ['application/json', 'text/csv'] }: Operation): JsonRecord =>
  Object.fromEntries(
    files.map((type) => {
      if (type === 'application/json') return [type, { schema: {} }];
      return [type, type === 'text/csv' ? { schema: { type: 'string' } } : binary];
    }),
  );

const textSchema = (mediaType: string): JsonRecord =>
  mediaType.startsWith('image/') ? { type: 'string', format: 'binary' } : { type: 'string' };

function responses(row: Operation): JsonRecord {
  const result: JsonRecord = {};
  for (const [status, content] of Object.entries(row.success)) {
    if (status === '101') {
      // OpenAPI does not describe WebSocket messages: an extension holds their schema.
      result[status] = { description: row.summary, 'x-message': plainSchema(content) };
      continue;
    }
    const location = hasLocation(row, Number(status)) ? headerReferences(['Location']) : {};
    const isProof = row.meters === 'compliance_proof' && status === '201';
    const own = headerReferences([
      ...(isProof ? ['Gov-Completeness'] : []),
      ...(mayAppend(row) ? ['Gov-Receipt'] : []),
      ...(row.tagged === true || (row.ifMatch === true && row.method === 'PUT') ? ['ETag'] : []),
    ]);
    const head = { description: row.summary, headers: { ...answerHeaders(row), ...location, ...own } };
    if ('empty' in content) {
      result[status] = head;
      continue;
    }
    const isText = 'mediaType' in content;
    result[status] = {
      ...head,
      content: {
        [isText ? (content.mediaType.split(';')[0] ?? '') : 'application/json']: {
          schema: isText ? textSchema(content.mediaType) : plainSchema(content),
        },
      },
    };
  }
  if (row.ranged === true) {
    const headers = { ...answerHeaders(row), ...headerReferences(rangedHeaders) };
    const ofRange = { ...headers, ...headerReferences(['Content-Range']) };
    const same = { ...answerHeaders(row), ...headerReferences(['ETag', 'Accept-Ranges']) };
    result['200'] = { description: row.summary, headers, content: fileContent(row) };
    result['206'] = { description: 'The requested range', headers: ofRange, content: fileContent(row) };
    result['304'] = { description: 'The ETag in If-None-Match is still current', headers: same };
  }
  if (row.tagged === true) {
    const headers = { ...answerHeaders(row), ...headerReferences(['ETag']) };
    result['304'] = { description: 'The ETag in If-None-Match is still current', headers };
  }
  for (const status of [...new Set([...row.statuses, ...sharedStatuses(row)])].sort((a, b) => a - b)) {
    result[status] ??= { $ref: `#/components/responses/${status}` };
  }
  return result;
}

/** The headers of success responses; `problemResponses` has those of problems. */
function answerHeaders(row: Operation): JsonRecord {
  return {
    ...headerReferences(['X-Request-Id', ...(isProbe(row) ? [] : rateHeaders)]),
    ...(row.deprecation === undefined ? {} : noticeHeaders),
  };
}

/** Whether a request may add leaves to the log of the caller's project. */
const mayAppend = (row: Operation): boolean =>
  row.method !== 'GET' && (namesProject(row) || accessOf(row) === 'plane');

/** A person names the project of a call; a key belongs to one project. */
const namesProject = (row: Operation): boolean =>
  ['project', 'organization', 'caller'].includes(accessOf(row));

/** Which credentials an operation takes: any one of them. */
function security(row: Operation): JsonValue[] {
  switch (accessOf(row)) {
    case 'anyone':
    case 'cron': // a required header parameter has the secret
      return [{}];
    case 'idToken':
      return [{ id_token: [] }];
    case 'plane':
      return [{ hybrid_telemetry_key: [] }];
    case 'project':
    case 'organization':
    case 'caller':
      return projectSchemes.map((name) => ({ [name]: [] }));
  }
}

function parameters(row: Operation): JsonValue[] {
  const list = (schema: TObject | undefined, place: 'path' | 'query'): JsonValue[] =>
    Object.entries((schema?.properties ?? {}) as Record<string, TSchema>).map(([name, property]) => {
      const required = place === 'path' || ((schema?.required ?? []) as readonly string[]).includes(name);
      return { name: name === '*' ? 'path' : name, in: place, required, schema: plainSchema(property) };
    });
  const headers = [
    ...(namesProject(row) ? ['GovProject'] : []),
    ...(row.method === 'POST' ? ['IdempotencyKey'] : []),
    ...(row.ifMatch === true || row.ranged === true ? ['IfMatch'] : []),
    ...(row.ranged === true || row.tagged === true ? ['IfNoneMatch'] : []),
    ...(row.ranged === true ? ['Range', 'IfRange'] : []),
    ...(row.signed === true ? ['TelemetrySignature', 'TelemetryTimestamp'] : []),
    ...(accessOf(row) === 'cron' ? ['CronSecret'] : []),
  ].map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return [...list(row.params, 'path'), ...list(row.query, 'query'), ...headers];
}

function uploadBody({ part, bytes }: NonNullable<Operation['upload']>): JsonRecord {
  const properties = { [part]: { type: 'string', format: 'binary', description: `At most ${bytes} bytes` } };
  const schema = { type: 'object', properties, required: [part], additionalProperties: false };
  return { required: true, content: { 'multipart/form-data': { schema } } };
}

/** The OpenAPI operation object of one row; the row need not be in the table. */
export function operationObject(id: string, row: Operation): JsonRecord {
  const given = parameters(row);
  return {
    operationId: id,
    tags: [row.tag],
    summary: row.summary,
    'x-stability': row.stability,
    'x-origin': row.origin,
    ...(row.scope === null ? {} : { 'x-scope': row.scope }),
    ...(row.meters === undefined ? {} : { 'x-metered': row.meters }),
    ...(row.stability === 'deprecated' || row.deprecation !== undefined ? { deprecated: true } : {}),
    security: security(row),
    ...(given.length === 0 ? {} : { parameters: given }),
    ...(row.upload === undefined ? {} : { requestBody: uploadBody(row.upload) }),
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

const otlpStatus: JsonRecord = {
  description: 'google.rpc.Status in the encoding of the request; with Retry-After for 429 and 503',
  content: {
    'application/json': {
      schema: {
        type: 'object',
        properties: { code: { type: 'integer' }, message: { type: 'string' } },
        required: ['code', 'message'],
      },
    },
    'application/x-protobuf': binary,
  },
};

/**
 * A receiver of OTLP, below the base URL or at the root: a body in either encoding, and errors in the form of that protocol.
 */
function receiverObject(id: string, row: Operation, place: 'below' | 'root'): JsonRecord {
  const { parameters: given, responses: answered, ...same } = operationObject(id, row);
  const all = Object.entries(answered as Record<string, JsonRecord>).map(([code, response]) => {
    if (code !== '200') return [code, { $ref: '#/components/responses/OtlpStatus' }];
    const content = { ...(response['content'] as JsonRecord), 'application/x-protobuf': binary };
    return [code, { ...response, content }];
  });
  const body = { 'application/json': { schema: { type: 'object' } }, 'application/x-protobuf': binary };
  const limit = row.bodyBytes ?? limits.bodyBytes;
  return {
    ...same,
    ...(place === 'root' ? { operationId: `${id}AtRoot`, servers: [{ url: '/' }] } : {}),
    description:
      'OTLP/HTTP, as OpenTelemetry exporters send it. At the root the key decides the environment.',
    parameters: (given as JsonRecord[]).filter((each) => String(each['$ref']).endsWith('/GovProject')),
    requestBody: {
      required: true,
      description: `An export request; at most ${limit} bytes, identity or gzip, and as many inflated`,
      content: body,
    },
    responses: Object.fromEntries(all),
  };
}

/** The same operation by HEAD: the headers of the whole response, without a body (RFC 9110 §14.2). */
function headObject(id: string, row: Operation): JsonRecord {
  const { responses: answered, ...same } = operationObject(id, row);
  const ofParts = new Set(['Range', 'IfRange'].map((name) => `#/components/parameters/${name}`));
  const asked = parameters(row).filter((each) => !ofParts.has(String((each as JsonRecord)['$ref'])));
  const bare = Object.entries(answered as Record<string, JsonRecord>).flatMap(([status, response]) => {
    if (status === '206' || status === '416') return [];
    const head = Object.entries(response).filter(([name]) => name !== 'content');
    return [[status, Object.fromEntries(head)] as const];
  });
  const name = `${id.charAt(0).toUpperCase()}${id.slice(1)}`;
  return {
    ...same,
    parameters: asked,
    operationId: `head${name}`,
    summary: `${row.summary}: the headers only`,
    responses: Object.fromEntries(bare),
  };
}

/**
 * The document of these operations, of the streams and of the receivers, without references to anything outside it. A data plane answers a
 * part of the table.
 */
export function openapiDocument(
  operations: readonly OperationId[] = Object.keys(table) as OperationId[],
): JsonRecord {
  const paths: Record<string, JsonRecord> = {};
  const answered: ReadonlySet<string> = new Set(operations);
  const rows = Object.entries<Operation>({ ...table, ...streams }).filter(
    ([id]) => answered.has(id) || Object.hasOwn(streams, id),
  );
  for (const [id, row] of rows) {
    const path = row.path.replace(/\*$/, '{path}');
    const methods = (paths[path] ??= {});
    methods[row.method.toLowerCase()] = operationObject(id, row);
    if (row.ranged === true) methods['head'] = headObject(id, row);
  }
  for (const [id, row] of Object.entries<Operation>(receivers)) {
    paths[row.path] = { post: receiverObject(id, row, 'below') };
    paths[row.path.replace(/^\/otlp/, '')] = { post: receiverObject(id, row, 'root') };
  }
  const statuses = new Set(rows.flatMap(([, row]) => [...row.statuses, ...sharedStatuses(row)]));
  const tags = [...new Set(rows.map(([, { tag }]) => tag))];
  return {
    openapi: '3.1.0',
    info: {
      title: 'Governance Service',
      version: '1.0.0',
      description:
        'Records what AI agents do, proves it, and replays it. Null for an optional member of a request body means the same as no member; where responses can have null for the member, null in a PUT erases its value.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [
      { url: '/api/v1', description: 'Production; keys gov_live_…' },
      { url: '/sandbox/api/v1', description: 'Sandbox; keys gov_test_…' },
    ],
    tags: tags.map((name) => ({ name, description: tagText[name] })),
    paths,
    components: {
      schemas: {
        ...Object.fromEntries(
          [...named.values()].map(({ name, schema }) => [name, plainSchema(schema, true)]),
        ),
        Problem: problemSchema,
      },
      responses: { ...problemResponses(statuses), OtlpStatus: otlpStatus },
      headers: headerComponents,
      parameters: headerParameters,
      securitySchemes,
    },
  };
}
