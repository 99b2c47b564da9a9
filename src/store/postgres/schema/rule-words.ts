/** What rules of tables are made of (`rules.ts`). */

/** Evaluated once per statement, not per row: the subselect makes it a constant of the plan. */
export const tenant = "(SELECT nullif(current_setting('gov.project', true), '')::integer)";
export const credential = "(SELECT decode(nullif(current_setting('gov.digest', true), ''), 'hex'))";
/** An origin or a verifier key of a data plane, or a challenge. */
export const lookup = "(SELECT nullif(current_setting('gov.lookup', true), ''))";

/** What is done for all tenants, such as their jobs. */
export const onDuty = (...duties: readonly string[]): string =>
  `(SELECT current_setting('gov.duty', true)) IN (${duties.map((duty) => `'${duty}'`).join(', ')})`;

export const own = `project = ${tenant}`;

export interface TableRules {
  /** Which rows are seen; also which are written, unless `writes` says otherwise. */
  readonly sees: string;
  readonly writes?: string;
  /** What the serving role may do. */
  readonly may: string;
  /** Raised on a change that its condition meets; null: on every change. Deletes raise unless `may` has them. */
  readonly changes: { readonly when: string; readonly message: string } | 'any' | null;
  /** The function that judges each row that is deleted, of what `may` delete some. */
  readonly deletes?: string;
}

/** SQL: whether one of these columns changes. */
export function changed(names: string): string {
  const row = (of: string): string =>
    `(${names
      .split(' ')
      .map((name) => `${of}.${name}`)
      .join(', ')})`;
  return `${row('NEW')} IS DISTINCT FROM ${row('OLD')}`;
}
