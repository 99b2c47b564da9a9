/**
 * Migrations from version 14 on that say the same for both engines, in PostgreSQL's words. One that must differ, such as
 * a trigger or a right, is in the list of its engine (`src/store/file/schema/tables.ts` and
 * `src/store/postgres/schema/tables.ts`). Each is one transaction. A released one never changes.
 * Proven by `test/store/schema/tables.test.ts`.
 */

/** A migration that both engines run in their words. */
export const sharedMigrations: readonly { readonly version: number; readonly sql: string }[] = [];
