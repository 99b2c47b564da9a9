/** The text of each row in the format that was asked for. Proven by `test/service/exports.test.ts`. */
import type { ExportFormat, ExportResource } from '../contract/exports.ts';
import { csvRow } from '../core/csv.ts';
import { eventCsv } from '../core/eventcsv.ts';
import { eventRow } from '../core/eventtext.ts';
import { readJson, type Json, type JsonObject } from '../core/json.ts';
import { columnsOf } from './exportcolumns.ts';
import type { Row } from './exportrows.ts';

/** The text of a row, without what separates it from the one before. */
export type RowText = (row: Row) => string;

export function rowTextOf(format: ExportFormat, resource: ExportResource): RowText {
  if (format === 'json') return ({ row, event }) => (event === null ? row : eventRow(event));
  const { names, numeric } = columnsOf(resource);
  return ({ row, event }) => (event === null ? csvRow(valuesOf(row, names), numeric) : eventCsv(event));
}

function valuesOf(row: string, names: readonly string[]): Json[] {
  const value = readJson(row) as JsonObject;
  return names.map((name): Json => value[name] ?? null);
}
