/** `gov api METHOD PATH`. Tested by `test/cli/commands/api/run.test.ts`. */
import { pathOf } from '../../../client/create.ts';
import type { UncheckedAnswer, UncheckedInput } from '../../../client/create.ts';
import { curlText } from '../../api/curl.ts';
import { operationAt } from '../../api/operation.ts';
import type { FoundOperation } from '../../api/operation.ts';
import type { OperationId } from '../../../contract/table.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { exit, usage } from '../../program/exit.ts';
import { readText } from '../../program/flags.ts';
import { objectOf, readInput } from '../../terminal/input.ts';
import { schemaOf } from '../../program/schema.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import { Safe } from '../../terminal/safe.ts';
import { pagesOf } from '../generated.ts';
import type { api as spec } from '../../specs/tool/api.ts';

type Call = Invocation<typeof spec>;

export const run: Run<typeof spec> = async (invocation) => {
  const { args, flags, out, session, settings } = invocation;
  const found = operationAt(args.method, args.path);
  const { id, row } = found;
  if (row.access === 'cron')
    throw usage(`${row.path} is for a scheduler, with its secret`, 'gov cron run --help');
  const input = await inputOf(invocation, found);
  if (flags.curl) return out.line(curlOf(invocation, found, input));
  if (secretOperations.has(id) && !settings.tty && !flags.showSecret)
    throw usage(
      `expected --show-secret, because standard output is no terminal and the response of ${row.method} ${row.path} has a secret; nothing was sent`,
      'gov keys, gov planes and gov webhooks write it to a file for you alone: --out FILE',
    );
  out.keepsWhole = row.method !== 'GET';
  const client = await session.client();
  const call = client[id] as unknown as (input: UncheckedInput) => Promise<UncheckedAnswer>;
  const view = viewOf(id);
  if (flags.paginate) {
    if (view.items === undefined) throw usage(`--paginate: expected a list, got ${row.method} ${row.path}`);
    const pages = pagesOf(call, input, { limit: undefined, all: true });
    if (settings.formatFrom !== 'default') return out.list(pages, view, view.items);
    const items = [];
    for await (const page of pages) items.push(...page.items);
    return out.json({ [view.items]: items, nextCursor: null }, 2);
  }
  const answer = await call({ ...input, idempotencyKey: settings.idempotencyKey });
  await print(invocation, found, answer);
  return answer.status >= 400 ? exit.checkFailed : exit.ok;
};

/** Their responses have a secret that no other response has. */
const secretOperations: ReadonlySet<OperationId> = new Set([
  'signUp',
  'createCliToken',
  'createApiKey',
  'rotateApiKey',
  'createDataPlane',
  'issueEnrolmentToken',
  'createWebhookEndpoint',
  'rotateWebhookSecret',
]);

async function print(
  { out, settings }: Call,
  { id }: FoundOperation,
  answer: UncheckedAnswer,
): Promise<void> {
  const { body, bytes } = answer;
  if (body === null) return; // 204
  if (body instanceof Uint8Array || typeof body === 'string')
    return settings.tty ? out.line(Safe.clean(Buffer.from(bytes).toString())) : out.raw(bytes);
  if (settings.formatFrom === 'default') return out.json(body, 2);
  return out.one(body, viewOf(id));
}

/** Fields with GET are the query, otherwise the body. */
async function inputOf({ flags, io, signal }: Call, found: FoundOperation): Promise<UncheckedInput> {
  const { row, params, query } = found;
  const isQuery = row.method === 'GET';
  if (flags.input !== undefined && isQuery) throw usage('--input: expected a method with a body, got GET');
  if (flags.input !== undefined && flags.field.length > 0)
    throw usage('expected --input or --field, got both');
  if (flags.input !== undefined && row.upload !== undefined)
    return { params, query, file: (await readInput(flags.input, { io, signal })).bytes };
  if (flags.input !== undefined)
    return { params, query, body: objectOf(await readInput(flags.input, { io, signal })) };
  const fields = fieldsOf(flags.field, isQuery ? undefined : row.body, io.cwd);
  if (isQuery) return { params, query: { ...query, ...fields } };
  return { params, query, ...(row.body === undefined && flags.field.length === 0 ? {} : { body: fields }) };
}

/** Reads `name=value`. A value is text where the schema wants text, else JSON where it is JSON. */
function fieldsOf(texts: readonly string[], schema: unknown, cwd: string): Record<string, unknown> {
  const { properties = {} } = schemaOf(schema);
  const fields: Record<string, unknown> = {};
  for (const text of texts) {
    const [, name, written] = /^([^=]+)=(.*)$/su.exec(text) ?? [];
    if (name === undefined || written === undefined)
      throw usage(`--field: expected NAME=VALUE, got ${JSON.stringify(text.slice(0, 64))}`);
    if (Object.hasOwn(fields, name)) throw usage(`--field: expected each name once, got ${name} again`);
    const value = written.startsWith('@') ? readText(written.slice(1), cwd) : written;
    fields[name] = schema === undefined || properties[name]?.type === 'string' ? value : jsonOrText(value);
  }
  return fields;
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function curlOf({ session, settings }: Call, { row }: FoundOperation, input: UncheckedInput): Safe {
  if (input.file !== undefined) throw usage('--curl: expected a body of JSON, got a file to upload');
  const base = session.baseUrl().value.replace(/\/+$/, '');
  return curlText({
    method: row.method,
    url: base + pathOf(row, input),
    project: session.project()?.value,
    hasKey: session.apiKey() !== null,
    body: input.body,
    cacert: settings.cacert,
  });
}
