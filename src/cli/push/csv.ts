/**
 * Events from CSV (RFC 4180). The header names fields: `runId`, `actor`, dotted members such as `actor.name`,
 * `resource.type` and `metadata.<name>`, where <name> may hold further dots. Cells are text; a cell of actor,
 * resource or metadata that begins with { or [ is read as JSON, and causedBy takes a JSON array or words. An empty
 * cell leaves its field out. Proven by `test/cli/push/records.test.ts`.
 */
import { pipeline, Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { EventInput } from '../../contract/events.ts';
import type { Json, JsonObject } from '../../core/json/parse.ts';
import type { Chunks } from './pieces.ts';
import { inputError, mostEventBytes, readPiece, type InputRecord } from './record.ts';

type Fill = (event: JsonObject, cell: string) => void;

const fields = Object.keys(EventInput.properties);
const nested = ['actor', 'resource', 'metadata'];

/** The records of a CSV text. CliError (exit 2) names the line where it is not CSV, or a column is not known. */
export async function* csvRecords(chunks: Chunks, sourceName: string): AsyncGenerator<InputRecord> {
  const parser = parse({ bom: true, info: true, skip_empty_lines: true, max_record_size: mostEventBytes });
  // a failure of the source destroys the parser, whose reader below throws it
  pipeline(Readable.from(decoded(chunks, sourceName)), parser, () => {});
  let columns: readonly Fill[] | undefined;
  try {
    for await (const parsed of parser) {
      const { record, info } = parsed as { record: string[]; info: { lines: number } };
      if (columns === undefined) {
        columns = readHeader(record, sourceName);
        continue;
      }
      // the count is of the record's last line; cells may hold line breaks
      const line = info.lines - record.reduce((breaks, cell) => breaks + cell.split('\n').length - 1, 0);
      const event: JsonObject = {};
      for (const [index, fill] of columns.entries()) fill(event, record[index] ?? '');
      yield readPiece({ line, bytes: Buffer.from(JSON.stringify(event)) }, sourceName);
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = typeof error['lines'] === 'number' ? error['lines'] : 1;
    throw inputError(`${sourceName}:${line}`, error.message, error);
  }
}

async function* decoded(chunks: Chunks, sourceName: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 1;
  try {
    for await (const chunk of chunks) {
      const text = decoder.decode(chunk, { stream: true });
      line += text.split('\n').length - 1;
      yield text;
    }
    yield decoder.decode();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw inputError(`${sourceName}:${line}`, 'expected UTF-8, at this line or soon after it', error);
  }
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
    if (cell === '') return;
    // a member of the same object may have come before it
    const value = field === 'causedBy' ? causes(cell) : nested.includes(field) ? jsonOr(cell) : cell;
    event[field] = isObject(event[field]) && isObject(value) ? { ...value, ...event[field] } : value;
  };
}

function memberOf(field: string, member: string): Fill {
  return (event, cell) => {
    if (cell === '') return;
    const object = isObject(event[field]) ? event[field] : {};
    const value = field === 'metadata' ? jsonOr(cell) : cell;
    event[field] = Object.fromEntries([...Object.entries(object), [member, value]]);
  };
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

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
