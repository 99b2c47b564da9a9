/**
 * What `--json=FIELDS` and `--jq EXPRESSION` leave of a JSON value. Fields are members of the resource, or of each
 * resource of a list. Tested by `test/cli/terminal/shape.test.ts`.
 */
import { isObject } from '../../core/json/object.ts';
import { usage } from '../program/exit.ts';
import { Safe } from './safe.ts';

type Row = Readonly<Record<string, unknown>>;

export interface ShapeOptions {
  readonly fields: readonly string[] | undefined;
  readonly jq: string | undefined;
}

export class Shape {
  readonly #fields: readonly string[] | undefined;
  readonly #jq: string | undefined;

  constructor({ fields, jq }: ShapeOptions) {
    this.#fields = fields;
    this.#jq = jq;
  }

  /** Errors: exit 2 for an expression that jq cannot compile. */
  async check(): Promise<void> {
    if (this.#jq !== undefined) await (await import('./jq.ts')).checkFilter(this.#jq);
  }

  /**
   * Returns the rows with the chosen fields; a row without one of them gets null. Errors: exit 2 for a field that no row
   * has, with those that there are.
   */
  rows(rows: readonly Row[]): readonly Row[] {
    const fields = this.#fields;
    if (fields === undefined || rows.length === 0) return rows;
    const known = new Set(rows.flatMap((row) => Object.keys(row)));
    const unknown = fields.find((field) => !known.has(field));
    if (unknown !== undefined)
      throw usage(
        `--json: expected fields of the result, got ${JSON.stringify(unknown.slice(0, 64))}`,
        `fields: ${[...known].join(', ')}`,
      );
    return rows.map((row) => Object.fromEntries(fields.map((field) => [field, row[field] ?? null])));
  }

  /** As `rows`, for a resource or an array of them. Other values have no fields. */
  value(value: unknown): unknown {
    if (Array.isArray(value) && value.every(isObject)) return this.rows(value as readonly Row[]);
    return isObject(value) ? this.rows([value])[0] : value;
  }

  /** Returns the lines to print: the value as JSON, or what jq makes of it. */
  async lines(value: unknown, indent: number): Promise<Safe[]> {
    if (this.#jq === undefined) return [Safe.json(value, indent)];
    return (await import('./jq.ts')).filtered(value, this.#jq);
  }
}
