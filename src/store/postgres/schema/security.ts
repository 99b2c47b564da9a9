/**
 * Guards below the statements: row-level security by tenant, grants, and triggers. Row-level security also
 * binds the owner. The grants go to an ordinary role, which can neither change nor delete append-only rows.
 * The triggers apply the same limits to the owner.
 * Source: PostgreSQL 18, chapters 5.8 (privileges), 5.9 (row security policies) and 37 (triggers).
 * Proven by `test/store/postgres/connection/database.test.ts`.
 */
import { functionNames, functions } from './functions.ts';
import { documentRules, eventTermRules, intakeRules, laterTables, tables, timeCountRules } from './rules.ts';
import type { TableRules } from './rule-words.ts';

const raise = `
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION USING MESSAGE = coalesce(TG_ARGV[0], TG_TABLE_NAME || ' is append-only'), ERRCODE = '23514'; END $$;
`;

function ruleOf(name: string, rules: TableRules): string {
  const { sees, writes = sees, may, changes, deletes } = rules;
  const refuse = (when: string, what: string): string =>
    `CREATE TRIGGER ${name}_${when.slice(0, 6).trim().toLowerCase()} BEFORE ${when} ON ${name} ${what};\n`;
  const always = 'FOR EACH ROW EXECUTE FUNCTION refuse_change()';
  const update =
    changes === 'any'
      ? ''
      : changes === null
        ? refuse('UPDATE', always)
        : refuse(
            'UPDATE',
            `FOR EACH ROW WHEN (${changes.when}) EXECUTE FUNCTION refuse_change('${changes.message}')`,
          );
  return `
ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY;
ALTER TABLE ${name} FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON ${name} USING (${sees}) WITH CHECK (${writes});
${update}${deletes === undefined ? '' : refuse('DELETE', `FOR EACH ROW EXECUTE FUNCTION ${deletes}()`)}${may.includes('DELETE') || changes === 'any' ? '' : refuse('DELETE', always)}${
    changes === 'any' ? '' : refuse('TRUNCATE', 'FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()')
  }`;
}

/** The rules of tables that a migration creates. */
export const rulesOf = (of: Readonly<Record<string, TableRules>>): string =>
  Object.entries(of)
    .map(([name, rules]) => ruleOf(name, rules))
    .join('');

/** Runs a statement of the owner that reads the rows of all tenants in a table. */
export const unforced = (table: string, statement: string): string => `
ALTER TABLE ${table} NO FORCE ROW LEVEL SECURITY;
${statement}
ALTER TABLE ${table} FORCE ROW LEVEL SECURITY;`;

/** The rules of the first migration. */
export const security =
  raise + functions + rulesOf(tables) + `REVOKE ALL ON FUNCTION ${functionNames} FROM PUBLIC;\n`;

/**
 * Returns the grants of the serving role. Each migration runs them; repeating them changes nothing. The
 * caller quotes `role`.
 */
export const grants = (role: string): string =>
  Object.entries({
    ...tables,
    ...laterTables,
    ...timeCountRules,
    ...intakeRules,
    ...documentRules,
    ...eventTermRules,
  })
    .map(([name, { may }]) => `GRANT ${may} ON ${name} TO ${role};\n`)
    .join('') +
  `GRANT SELECT ON version TO ${role};
GRANT USAGE ON SCHEMA gov TO ${role};
GRANT USAGE ON SEQUENCE project_number TO ${role};
GRANT EXECUTE ON FUNCTION ${functionNames} TO ${role};
`;
