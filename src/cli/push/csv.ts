/**
 * Events from CSV (RFC 4180). The header names fields: `runId`, `actor`, dotted members such as `actor.name` and
 * `resource.type`, and `metadata.<name>`, where <name> may contain dots. Cells are text. A cell of actor, resource or
 * metadata that begins with { or [ is JSON; causedBy takes a JSON array or words. An empty cell leaves its field out.
 * Tested by `test/cli/push/records.test.ts`.
 */
import { pipeline, Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { EventInput } from '../../contract/events.ts';
import type { Json, JsonObject } from '../../core/json/parse.ts';
import type { Chunks } from './pieces.ts';
import { inputError, mostEventBytes, readPiece, type InputRecord } from './record.ts';
import { isObject } from '../../core/json/object.ts';

type Fill = (event: JsonObject, cell: string) => void;

const fields = Object.keys(EventInput.properties);
const nested = ['actor', 'resource', 'metadata'];

/** Yields the records of a CSV text. Errors: exit 2 with the line, for text that is not CSV and for unknown columns. */
export async function* csvRecords(chunks: Chunks, sourceName: string): AsyncGenerator<InputRecord> {
  const parser = parse({ bom: true, info: true, skip_empty_lines: true, max_record_size: mostEventBytes });
  // a failing source destroys the parser, and the reader below throws the failure
  pipeline(Readable.from(decoded(chunks, sourceName)), parser, () => {});
  let columns: readonly Fill[] | undefined;
  try {
    for await (const parsed of parser) {
      const { record, info } = parsed as { record: string[]; info: { lines: number } };
      if (columns === undefined) {
        columns = readHeader(record, sourceName);
        continue;
      }
      // the parser counts to the record's last line, because cells may contain line breaks
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
    // another column may have set a member of the same object
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
