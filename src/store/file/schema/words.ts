/**
 * Triggers that several tables share.
 * Proven by `test/store/file/schema/tables.test.ts`.
 */

/** Refuses a change of columns that are set once, and any change that `when` names. */
export const fixed = (table: string, columns: readonly string[], when = ''): string => `
CREATE TRIGGER ${table}_update BEFORE UPDATE ON ${table}
WHEN ${columns.map((column) => `NEW.${column} IS NOT OLD.${column}`).join(' OR ')} ${when}
BEGIN SELECT RAISE(ABORT, 'this never changes in ${table}'); END;
`;
export const stays = (table: string): string => `
CREATE TRIGGER ${table}_delete BEFORE DELETE ON ${table} BEGIN SELECT RAISE(ABORT, '${table} stays'); END;
`;
