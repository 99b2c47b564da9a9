/**
 * Events from CSV (RFC 4180), also with semicolons or tabs, as a first line `sep=;` or the header shows. The header names
 * fields: `runId`, `actor`, dotted members such as `actor.name` and `resource.type`, and `metadata.<name>`, where <name> may
 * contain dots. Cells are text. A cell of actor, resource or metadata that begins with { or [ is JSON; causedBy takes a JSON
 * array or words. An empty cell leaves its field out. A row that cannot be read is rejected alone.
 * Tested by `test/cli/push/records.test.ts`.
 */
import { isUtf8 } from 'node:buffer';
import { pipeline, Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { EventInput } from '../../contract/events.ts';
import type { Json, JsonObject } from '../../core/json/parse.ts';
import type { Chunks } from './pieces.ts';
import { inputError, mostEventBytes, readPiece, type InputRecord } from './record.ts';
import { isObject } from '../../core/json/object.ts';

/** Puts a cell into an event. Returns why it cannot. */
type Fill = (event: JsonObject, cell: string) => string | undefined;

const fields = Object.keys(EventInput.properties);
const nested = ['actor', 'resource', 'metadata'];

/** Yields the records of a CSV text. Errors: exit 2 with the line, for a header that does not name an event's fields. */
export async function* csvRecords(chunks: Chunks, sourceName: string): AsyncGenerator<InputRecord> {
  const { body, delimiter, skipped } = await dialectOf(chunks);
  const bad: InputRecord[] = [];
  const parser = parse({
    info: true,
    delimiter,
    // bytes as characters: the parser looks only for ASCII, and each row's UTF-8 is checked below
    encoding: 'latin1',
    skip_empty_lines: true,
    skip_records_with_error: true,
    max_record_size: mostEventBytes,
    on_skip: (error) => {
      bad.push({ line: lineOf(error, skipped), reason: `invalid_csv: ${error?.message ?? 'not a row'}` });
      return undefined;
    },
  });
  // a failing source destroys the parser, and the reader below throws the failure
  pipeline(Readable.from(body), parser, () => {});
  let columns: readonly Fill[] | undefined;
  try {
    for await (const parsed of parser) {
      const { record, info } = parsed as { record: string[]; info: { lines: number } };
      yield* bad.splice(0);
      // the parser counts to the record's last line, because cells may contain line breaks
      const breaks = record.reduce((count, cell) => count + cell.split('\n').length - 1, 0);
      const line = info.lines - breaks + skipped;
      const cells = record.map((cell) => Buffer.from(cell, 'latin1'));
      if (columns === undefined)
        columns = readHeader(
          cells.map((cell) => cell.toString('utf8')),
          sourceName,
        );
      else yield* rowOf(cells, { columns, line });
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    bad.push({ line: lineOf(error, skipped), reason: `invalid_csv: ${error.message}` });
  }
  yield* bad;
}

const lineOf = (error: CsvError | undefined, skipped: number): number =>
  (typeof error?.['lines'] === 'number' ? error['lines'] : 1) + skipped;

function* rowOf(
  cells: readonly Buffer[],
  { columns, line }: { columns: readonly Fill[]; line: number },
): Generator<InputRecord> {
  if (!cells.every((cell) => isUtf8(cell))) {
    yield {
      line,
      reason: 'not_utf8: expected UTF-8, got other bytes, such as those of Latin-1; save the file as UTF-8',
    };
    return;
  }
  const event: JsonObject = {};
  for (const [index, fill] of columns.entries()) {
    const fault = fill(event, cells[index]?.toString('utf8') ?? '');
    if (fault !== undefined) {
      yield { line, reason: `invalid_field: ${fault}` };
      return;
    }
  }
  yield* readPiece({ line, bytes: Buffer.from(JSON.stringify(event)) });
}

/** Returns what stands between cells, and the text after a line that says so. */
async function dialectOf(
  chunks: Chunks,
): Promise<{ body: AsyncIterable<Uint8Array>; delimiter: string; skipped: number }> {
  const iterator = chunks[Symbol.asyncIterator]();
  const read: Buffer[] = [];
  let head = '';
  while (!head.includes('\n')) {
    const next = await iterator.next();
    if (next.done === true) break;
    read.push(Buffer.from(next.value));
    head = Buffer.concat(read).toString('latin1');
  }
  const said = /^sep=(.)\r?\n/.exec(head);
  const rest = Buffer.concat(read).subarray(said?.[0].length ?? 0);
  const header = rest.toString('latin1').split('\n', 1)[0] ?? '';
  const delimiter = said?.[1] ?? [',', ';', '\t'].find((each) => header.includes(each)) ?? ',';
  const body = (async function* (): AsyncGenerator<Uint8Array> {
    try {
      if (rest.length > 0) yield rest;
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next())
        yield next.value;
    } finally {
      await iterator.return?.();
    }
  })();
  return { body, delimiter, skipped: said === null ? 0 : 1 };
}

function readHeader(names: readonly string[], sourceName: string): Fill[] {
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined)
    throw inputError(`${sourceName}:1`, `expected each column once, got ${JSON.stringify(repeated)} twice`);
  return names.map((name) => {
    const dot = name.indexOf('.');
    const field = dot === -1 ? name : name.slice(0, dot);
    const known = dot === -1 ? fields.includes(field) : nested.includes(field) && dot < name.length - 1;
    if (!known) {
      const expected = `${fields.join(', ')}, or a member of ${nested.join(', ')} such as actor.name`;
      throw inputError(
        `${sourceName}:1`,
        `expected columns named ${expected}; got ${JSON.stringify(name.slice(0, 64))}`,
      );
    }
    return dot === -1 ? wholeField(field) : memberOf(field, name.slice(dot + 1));
  });
}

function wholeField(field: string): Fill {
  return (event, cell) => {
    if (cell === '') return undefined;
    const value = field === 'causedBy' ? causes(cell) : nested.includes(field) ? jsonOr(cell) : cell;
    const before = event[field];
    if (before === undefined) event[field] = value;
    else if (!isObject(before) || !isObject(value)) return both(field);
    else {
      for (const [member, given] of Object.entries(value)) {
        const fault = put(before, { field, member, given });
        if (fault !== undefined) return fault;
      }
    }
    return undefined;
  };
}

function memberOf(field: string, member: string): Fill {
  return (event, cell) => {
    if (cell === '') return undefined;
    const before = event[field] ?? {};
    if (!isObject(before)) return both(field);
    event[field] = before;
    return put(before, { field, member, given: field === 'metadata' ? jsonOr(cell) : cell });
  };
}

const both = (field: string): string =>
  `/${field} expected either the column ${field} or its members, got both`;

/** Sets a member of an object; two columns may not say different things about it. */
function put(
  object: JsonObject,
  { field, member, given }: { field: string; member: string; given: Json },
): string | undefined {
  if (Object.hasOwn(object, member) && JSON.stringify(object[member]) !== JSON.stringify(given))
    return `/${field}/${member} expected one value, got two from two columns`;
  Object.defineProperty(object, member, {
    value: given,
    enumerable: true,
    configurable: true,
    writable: true,
  });
  return undefined;
}

function jsonOr(cell: string): Json {
  if (!/^\s*[[{]/.test(cell)) return cell;
  try {
    return JSON.parse(cell) as Json; // what JSON.parse returns by definition
  } catch {
    return cell;
  }
}

const causes = (cell: string): Json => {
  const value = jsonOr(cell);
  return typeof value === 'string' ? value.split(/[\s,;]+/).filter((id) => id !== '') : value;
};
