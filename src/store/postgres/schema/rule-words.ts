/**
 * The SQL fragments of the rules of tables (`rules.ts`).
 * Source: PostgreSQL 18, chapter 5.9 (row security policies).
 * Proven by `test/store/postgres/connection/database.test.ts`.
 */

/** Evaluated once per statement, not per row: the subselect makes it a constant of the plan. */
export const tenant = "(SELECT nullif(current_setting('gov.project', true), '')::integer)";
export const credential = "(SELECT decode(nullif(current_setting('gov.digest', true), ''), 'hex'))";
/** An origin or a verifier key of a data plane, or a challenge. */
export const lookup = "(SELECT nullif(current_setting('gov.lookup', true), ''))";

/** Work for all tenants, such as their jobs. */
export const onDuty = (...duties: readonly string[]): string =>
  `(SELECT current_setting('gov.duty', true)) IN (${duties.map((duty) => `'${duty}'`).join(', ')})`;

export const own = `project = ${tenant}`;

export interface TableRules {
  /** The visible rows; also the writable ones, unless `writes` is set. */
  readonly sees: string;
  readonly writes?: string;
  /** The privileges of the serving role. */
  readonly may: string;
  /**
   * A trigger raises `message` for an update that meets `when`. Null: for every update. A delete raises
   * unless `may` includes it.
   */
  readonly changes: { readonly when: string; readonly message: string } | 'any' | null;
  /** The function that judges each deleted row, if `may` allows only some deletes. */
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
