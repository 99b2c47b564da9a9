/**
 * Runs a command of a contract row: flags become query and body, the response becomes output, with the pages asked for.
 * Tested by `test/cli/terminal/out.test.ts` against a real server.
 */
import type { UncheckedAnswer, UncheckedInput } from '../../client/create.ts';
import { itemsOf } from '../../client/paginate.ts';
import type { Operation } from '../../contract/operation.ts';
import { limits } from '../../contract/limits.ts';
import { table } from '../../contract/table.ts';
import type { OperationId } from '../../contract/table.ts';
import type { Invocation } from '../context/command.ts';
import { exit } from '../program/exit.ts';
import { flagName } from '../program/manifest.ts';
import type { ListPage, Out, Row } from '../terminal/out.ts';
import { safe } from '../terminal/safe.ts';
import { schemaOf } from '../program/schema.ts';
import { viewOf } from '../terminal/answer-view.ts';

type Values = Readonly<Record<string, unknown>>;
type Call = (input: UncheckedInput) => Promise<UncheckedAnswer>;

/** Returns the members of a row's query or body, from their flags. */
function membersOf(schema: unknown, flags: Values): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const name of Object.keys(schemaOf(schema).properties ?? {})) {
    const value = flags[flagName(name)];
    if (value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0))
      members[name] = value;
  }
  return members;
}

/** Runs the operation with the given arguments and flags. Returns the exit code. */
export async function runOperation(id: OperationId, invocation: Invocation): Promise<number> {
  const { args, out, settings, session } = invocation;
  const flags: Values = invocation.flags;
  const row: Operation = table[id];
  const client = await session.client();
  // the row's own schemas made the flags, and the service checks the values
  const call = client[id] as unknown as Call;
  const query = membersOf(row.query, flags);
  const body = row.body === undefined ? {} : { body: membersOf(row.body, flags) };
  const input = { params: args, query, ...body, idempotencyKey: settings.idempotencyKey };
  const view = viewOf(id);
  if (view.items !== undefined) {
    const { limit } = flags;
    const isPaged = schemaOf(row.query).properties?.['limit'] !== undefined;
    const all = isPaged && (flags['all'] === true || (limit === undefined && !settings.tty));
    const bounds = { limit, all };
    const pages = pagesOf(call, input, bounds);
    const isCalls = id === 'listApprovals' && !out.isJson;
    await out.list(isCalls ? withHidden(pages, out) : pages, view, view.items);
    return exit.ok;
  }
  const answer = await call(input);
  await out.one(answer.body, view);
  // a success status may mean no, such as 503 of a health check
  return answer.status >= 400 ? exit.checkFailed : exit.ok;
}

/** Names the rows whose call has something that nobody sees in it. */
async function* withHidden(pages: AsyncIterable<ListPage>, out: Out): AsyncGenerator<ListPage> {
  const { hiddenSummary } = await import('../../core/hidden-text.ts');
  for await (const page of pages) {
    yield page;
    for (const { approvalId, tool, arguments: given, actor, context } of page.items) {
      const hidden = hiddenSummary({ tool, arguments: given, actor, context });
      if (hidden !== null) await out.warn(safe`${String(approvalId)}: ${hidden}`);
    }
  }
}

interface Bounds {
  readonly limit: unknown;
  readonly all: boolean;
}

/**
 * Yields pages: up to `limit` items if it is set, else all with `all`, else the first page with items. A program reads a
 * pipe and expects every row; a person reads a terminal and can ask for more.
 */
export async function* pagesOf(call: Call, input: UncheckedInput, bounds: Bounds): AsyncGenerator<ListPage> {
  const isLimited = typeof bounds.limit === 'number';
  let left = isLimited ? Number(bounds.limit) : Infinity;
  let cursor = input.query?.['cursor'];
  // the service lowers a larger number to the size of its largest page
  const pageSize = bounds.all ? limits.eventPageMax : undefined;
  for (;;) {
    const query = { ...input.query, cursor, limit: isLimited ? left : pageSize };
    const { body } = await call({ ...input, query });
    // a list row returns a page; this code shows its items and does not rely on their form
    const page = body as { data?: Row[]; events?: Row[]; nextCursor?: string | null; altered?: string[] };
    const { nextCursor = null, altered = [] } = page;
    const items = itemsOf({ ...page, nextCursor }).slice(0, left);
    yield { items, nextCursor, altered };
    left -= items.length;
    if (nextCursor === null || nextCursor === cursor || left <= 0) return;
    if (!isLimited && !bounds.all && items.length > 0) return;
    cursor = nextCursor;
  }
}
