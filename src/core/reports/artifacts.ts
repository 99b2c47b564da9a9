/**
 * The JSON and CSV artifacts of a report, and the hash that binds all its artifacts. The JSON artifact is the canonical
 * form (RFC 8785) of the report, so `sha256sum report.json` prints the data hash. Every row of a CSV ends with the data
 * hash and the checkpoint. Same report, same bytes. Proven by `test/core/reports/artifacts.test.ts`.
 */
import { csvHeader, csvRow } from '../csv.ts';
import { sha256Text } from '../hash.ts';
import { canonicalText } from '../json/canonical.ts';
import { visibleLine } from '../visible.ts';
import type { Report, ReportCell, ReportTable } from './model.ts';

/** Names of the attached files that the renderer makes itself. */
export const dataFile = 'report.json';
export const presentationFile = 'presentation.json';
export const signatureFile = 'report.dsse.json';
export const tableFile = ({ id }: Pick<ReportTable, 'id'>): string => `${id}.csv`;

/** The name of the signature beside a JSON report: `X.dsse.json` for `X.json`. */
export const signatureNameOf = (name: string): string => `${name.replace(/\.json$/, '')}.dsse.json`;

/** Returns the data hash, `sha256:` and 64 hex digits. Cost: that of `toJson`. */
export const dataHash = (report: Report): string => sha256Text(toJson(report));

/** Returns the JSON artifact, whose SHA-256 is the data hash. Throws for a value that is not JSON: a bug. */
export const toJson = (report: Report): Uint8Array => Buffer.from(canonicalText(report));

/** Returns the CSV artifact: the first table, or only the two constant columns for a report without tables. */
export const toCsv = (report: Report, hash: string = dataHash(report)): Uint8Array => {
  const [first] = report.tables;
  return first === undefined ? Buffer.from(csvHeader(constantNames)) : toTableCsv(report, first, hash);
};

/** In every row the same: the hash of the report's data, and the size and root of the log that it was read from. */
const constantNames = ['dataHash', 'checkpoint'];

/**
 * Returns a table of the report as CSV (contract K10), with the data hash and the checkpoint, `SIZE ROOT`, as the last two
 * columns. People read it in spreadsheets, so that characters that show nothing are escapes; the JSON has them as recorded.
 * `hash`: the data hash, where the caller has it. Cost: linear in the rows.
 */
export function toTableCsv(report: Report, table: ReportTable, hash: string = dataHash(report)): Uint8Array {
  const constants = [hash, `${report.log.treeSize} ${report.log.rootHash}`];
  const numeric = new Set(
    table.columns.flatMap(({ kind }, at) => (kind === 'number' || kind === 'duration' ? [at] : [])),
  );
  const parts = [csvHeader([...table.columns.map(({ name }) => name), ...constantNames])];
  for (const row of table.rows) parts.push(csvRow([...row.map(shown), ...constants], numeric));
  return Buffer.from(parts.join(''));
}

const shown = (cell: ReportCell): ReportCell => (typeof cell === 'string' ? visibleLine(cell) : cell);
