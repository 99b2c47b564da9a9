/**
 * Collects the rows of a table within bounds: exceptions come first and take the place of other rows. Rows that do not
 * fit are counted, and the table says how many are missing. Proven by `test/service/reports/templates/rows.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { ReportCell, ReportTable } from '../../../core/reports/model.ts';
import { count } from './period.ts';
import { notShown } from './shown.ts';
import type { TableSpec } from './source.ts';

type Row = readonly ReportCell[];

interface Bounds {
  readonly rows: number;
  readonly bytes: number;
}

const standing: Bounds = { rows: limits.reportRows, bytes: limits.reportTableBytes };

/** What is not given is as the specification says. */
interface TableParts {
  /** Which rows the table lists. */
  readonly scope?: string;
  readonly completeness?: ReportTable['completeness'];
  readonly rest?: string;
  /** Rows that nobody collected. */
  readonly more?: number;
}

export class Rows {
  readonly spec: TableSpec;
  readonly #bounds: Bounds;
  readonly #exceptions: Row[] = [];
  readonly #others: Row[] = [];
  #bytes = 0;
  #leftOut = 0;
  /** Rows that were added, and the exceptions among them, whether or not they fit. */
  population = 0;
  exceptions = 0;

  constructor(spec: TableSpec, bounds: Bounds = standing) {
    this.spec = spec;
    this.#bounds = bounds;
  }

  add(row: Row, isException = false): void {
    if (row.length !== this.spec.columns.length) {
      const { id, columns } = this.spec;
      throw new Error(`expected ${columns.length} cells in a row of ${id}, got ${row.length}`);
    }
    this.population += 1;
    const bytes = bytesOf(row);
    if (isException) {
      this.exceptions += 1;
      this.#makeRoom(bytes);
    }
    if (!this.#fits(bytes)) {
      this.#leftOut += 1;
      return;
    }
    this.#bytes += bytes;
    (isException ? this.#exceptions : this.#others).push(row);
  }

  /** Counts rows that nobody keeps. */
  leaveOut(rows: number): void {
    this.population += rows;
    this.#leftOut += rows;
  }

  #fits(bytes: number): boolean {
    const rows = this.#exceptions.length + this.#others.length;
    return rows < this.#bounds.rows && this.#bytes + bytes <= this.#bounds.bytes;
  }

  /** An exception replaces the newest other rows. */
  #makeRoom(bytes: number): void {
    while (!this.#fits(bytes)) {
      const last = this.#others.pop();
      if (last === undefined) return;
      this.#bytes -= bytesOf(last);
      this.#leftOut += 1;
    }
  }

  table(given: TableParts = {}): ReportTable {
    const { id, title, columns, lists, unshown = '' } = this.spec;
    const { scope = `${lists}.`, completeness = notShown(unshown), more = 0 } = given;
    const { rest = this.spec.rest ?? '' } = given;
    const leftOut = this.#leftOut + more;
    return {
      id,
      title,
      columns,
      population: this.population + more,
      scope,
      omitted: leftOut === 0 ? null : this.#omitted(leftOut, rest),
      exceptions: this.#exceptions.length,
      rows: [...this.#exceptions, ...this.#others],
      completeness,
    };
  }

  #omitted(leftOut: number, rest: string): string {
    const { rows, bytes } = this.#bounds;
    const mebibytes = Math.round(bytes / 2 ** 20);
    return `${count(leftOut, 'row is', 'rows are')} left out: a table has at most ${rows} rows and ${mebibytes} MiB of text. ${rest}`;
  }
}

/** About the size of a row as text. */
function bytesOf(row: Row): number {
  let bytes = 0;
  for (const cell of row) bytes += typeof cell === 'string' ? Buffer.byteLength(cell) + 3 : 8;
  return bytes;
}
