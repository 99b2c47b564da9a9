/**
 * Holds answers against the OpenAPI document that is published: status, headers, media type, schema of the body, also of
 * problems; and against what no error may tell. Every test that calls through `serving.ts` or `hosted.ts` does. Proven
 * by `test/support/oracle.test.ts`.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { openapiDocument } from '../../src/contract/openapi.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { problems, type ProblemCode } from '../../src/contract/problems.ts';
import { table, type OperationId } from '../../src/contract/table.ts';
import { parseTimestamp } from '../../src/core/time.ts';
import type { Answer } from './answer.ts';

interface Response {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, { readonly $ref?: string }>>;
  readonly content?: Readonly<Record<string, unknown>>;
}

/** As the service publishes it. */
const document = JSON.parse(JSON.stringify(openapiDocument())) as {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Response>> }>>>
  >;
  readonly components: {
    readonly responses: Readonly<Record<string, Response>>;
    readonly schemas: Record<string, object>;
    readonly headers: Readonly<Record<string, { readonly required?: boolean }>>;
  };
};

const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
ajv.addFormat('date-time', { type: 'string', validate: (text: string) => parseTimestamp(text) !== null });
ajv.addFormat('uri', { type: 'string', validate: (text: string) => URL.canParse(text) });
// a problem has further members of its kind (RFC 9457 section 3.2)
document.components.schemas['Problem'] = {
  ...document.components.schemas['Problem'],
  additionalProperties: true,
};
ajv.addSchema(exactly(document), 'openapi');
const validators = new Map<string, ValidateFunction>();

/** Clients ignore members that they do not know; here, what is answered and not published is a fault. */
function exactly(schema: unknown): object {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    const walked = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, walk(each)]));
    const isBody = walked['type'] === 'object' && typeof walked['properties'] === 'object';
    return isBody && !('additionalProperties' in walked)
      ? { ...walked, additionalProperties: false }
      : walked;
  };
  return walk(schema) as object;
}

const validatorOf = (pointer: string): ValidateFunction => {
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `openapi#${pointer}` });
  validators.set(pointer, validate);
  return validate;
};

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** The row that serves a path; literal segments win over parameters. */
function rowOf(method: string, pathname: string): OperationId | null {
  const path = pathname.replace(/^(\/sandbox)?\/api\/v1/, '');
  const matches = (Object.keys(table) as OperationId[]).filter((id) => {
    const row: Operation = table[id];
    const pattern = row.path.replace(/\{[^}]+\}/g, '[^/]+').replace(/\*$/, '.+');
    return row.method === method && new RegExp(`^${pattern}$`).test(path);
  });
  return matches.toSorted((a, b) => brackets(a) - brackets(b))[0] ?? null;
}

const brackets = (id: OperationId): number => table[id].path.split('{').length;

/** The operation that answered, or null. Throws where an answer is not one that the document describes. */
export function checkAnswer(method: string, pathname: string, answer: Answer): OperationId | null {
  const { status } = answer;
  const id = rowOf(method, pathname);
  try {
    checkEveryAnswer(answer);
    if (id !== null) checkPublished(id, answer);
    if (status >= 400 && !(id !== null && Object.hasOwn(table[id].success, status))) checkProblem(answer);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const at = `${method} ${pathname} ${status}: ${answer.text.slice(0, 300)}`;
    throw new Error(`${reason}: ${at}`, { cause: error });
  }
  return id;
}

function checkEveryAnswer({ headers }: Answer): void {
  if (!/^[A-Za-z0-9._-]{8,64}$/.test(String(headers['x-request-id'] ?? ''))) throw new Error('no request id');
  if (headers['gov-api-version'] !== '1.0.0') throw new Error('no version');
  if (headers['x-content-type-options'] !== 'nosniff') throw new Error('no nosniff');
  if ('server' in headers || 'x-powered-by' in headers) throw new Error('names its software');
}

function checkPublished(id: OperationId, { status, headers, text, body }: Answer): void {
  const row: Operation = table[id];
  const [path, method] = [row.path.replace(/\*$/, '{path}'), row.method.toLowerCase()];
  const own = document.paths[path]?.[method]?.responses[status];
  if (own === undefined) throw new Error('undocumented status');
  const response = own.$ref === undefined ? own : document.components.responses[status];
  const at =
    own.$ref === undefined
      ? `/paths/${escaped(path)}/${method}/responses/${status}`
      : `/components/responses/${status}`;
  for (const name of Object.keys(response?.headers ?? {})) {
    const value = headers[name.toLowerCase()];
    if (value === undefined) {
      if (document.components.headers[name]?.required === true) throw new Error(`no ${name}`);
      continue;
    }
    const parsed = /^[0-9]+$/.test(String(value)) ? Number(value) : value;
    hold(parsed, `/components/headers/${name}/schema`, name);
  }
  if (status < 400 && headers['gov-stability'] !== (row.stability === 'stable' ? undefined : row.stability)) {
    throw new Error('wrong stability');
  }
  if (response?.content === undefined) {
    if (text !== '' || 'content-type' in headers) throw new Error('expected no body');
    return;
  }
  const [mediaType = ''] = String(headers['content-type']).split(';');
  if (!Object.hasOwn(response.content, mediaType)) throw new Error(`wrong media type ${mediaType}`);
  if (!mediaType.endsWith('json')) return;
  if (headers['cache-control'] !== 'no-store') throw new Error('may be stored');
  hold(body, `${at}/content/${escaped(mediaType)}/schema`);
}

/** A list repeats the fault of its items. */
const mostFaults = 5;

function hold(value: unknown, pointer: string, dataVar = 'body'): void {
  const validate = validatorOf(pointer);
  if (validate(value)) return;
  const found = validate.errors ?? [];
  const faults = found.slice(0, mostFaults).map(({ instancePath, message, params }) => {
    const member: unknown = params['additionalProperty'];
    return `${dataVar}${instancePath} ${message}${typeof member === 'string' ? `: ${member}` : ''}`;
  });
  const more = found.length - faults.length;
  throw new Error(faults.join(', ') + (more > 0 ? `, and ${more} more` : ''));
}

/** Headers that a problem of a status has (RFC 9110 section 15; RFC 6750 section 3; contract C6). */
const answering: Readonly<Record<number, readonly [name: string, form: RegExp]>> = {
  401: ['www-authenticate', /^Bearer realm="gov"/],
  405: ['allow', /^[A-Z]+(?:, [A-Z]+)*$/],
  429: ['retry-after', /^[1-9][0-9]{0,4}$/],
  503: ['retry-after', /^[1-9][0-9]{0,4}$/],
};

function checkProblem({ status, headers, text, body }: Answer): void {
  if (headers['content-type'] !== 'application/problem+json') throw new Error('no problem');
  const known = problems[body.code as ProblemCode];
  const fits =
    known !== undefined &&
    known.status === status &&
    body.status === status &&
    body.title === known.title &&
    body.retryable === known.retryable &&
    body.instance === `urn:gov:req:${body.requestId}` &&
    (body.requestId === headers['x-request-id'] || headers['idempotent-replayed'] === 'true');
  if (!fits) throw new Error('not a problem of the register');
  hold(body, '/components/schemas/Problem');
  const [name = '', form = /./] = answering[status] ?? [];
  if (name !== '' && !form.test(String(headers[name]))) throw new Error(`no ${name}`);
  // an id that a client sent says what the client likes
  const said = text.replaceAll(String(body.requestId), '');
  const told = insides.find((pattern) => pattern.test(said));
  if (told !== undefined) throw new Error(`tells what runs here (${told})`);
}

/** What no error may show (contract C7, S35): stack, path, SQL, and which software in which version. */
const insides: readonly RegExp[] = [
  /\n\s*at |\\n\s*at |:\d+:\d+\)|[\w-]+\.[cm]?[jt]s:\d+|node:internal/,
  /node_modules|file:\/\/|(?<![\w.:/])\/(?:work|tmp|root|home|usr|var|etc|opt|proc|Users)\/|[A-Z]:\\\\/,
  /\b(?:SELECT\b.+\bFROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE)\b|SQLITE_|\bpg_\w|constraint failed|violates \w+[ -]/i,
  /\b(?:sqlite|postgres(?:ql)?|fastify|undici|openssl)\b|\bnode(?:\.js|[ /]v?\d)|\bv2\d\.\d+\.\d/i,
];
