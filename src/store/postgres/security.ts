/**
 * What holds below the statements: row-level security by tenant, forced also for the owner; grants to an
 * ordinary role, which can neither change nor delete what is append-only; and triggers that hold the owner to
 * the same. Proven by `test/store/postgres/database.test.ts`.
 */
import { tables, type TableRules } from './rules.ts';

const raise = `
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION USING MESSAGE = coalesce(TG_ARGV[0], TG_TABLE_NAME || ' is append-only'), ERRCODE = '23514'; END $$;
`;

function rulesOf(name: string, rules: TableRules): string {
  const { sees, writes = sees, may, changes } = rules;
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
${update}${may.includes('DELETE') || changes === 'any' ? '' : refuse('DELETE', always)}${
    changes === 'any' ? '' : refuse('TRUNCATE', 'FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()')
  }`;
}

/** Functions that need more than one statement; they run as their caller, under its policies. */
const functions = `
-- Moves a head by compare-and-swap; a serialisation failure where it is no longer at its old size.
CREATE FUNCTION move_head(of_project integer, of_tree smallint, old_size bigint, new_size bigint, new_root bytea,
  new_ms bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE head SET size = new_size, root = new_root, last_ms = new_ms
  WHERE project = of_project AND tree = of_tree AND size = old_size;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the head of tree % is no longer at %', of_tree, old_size USING ERRCODE = '40001';
  END IF;
END $$;

-- How many of a run's events have an index below a given one: both orders agree, so by halves.
CREATE FUNCTION events_below(of_project integer, of_run bigint, of_events bigint, below bigint) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
  low bigint := 0;
  high bigint := of_events;
  middle bigint;
  found bigint;
BEGIN
  WHILE low < high LOOP
    middle := (low + high) / 2;
    SELECT idx INTO found FROM run_event WHERE project = of_project AND run_no = of_run AND run_seq = middle;
    IF coalesce(found, 0) < below THEN low := middle + 1; ELSE high := middle; END IF;
  END LOOP;
  RETURN low;
END $$;
`;

export const security =
  raise +
  functions +
  Object.entries(tables)
    .map(([name, rules]) => rulesOf(name, rules))
    .join('') +
  'REVOKE ALL ON FUNCTION move_head, events_below FROM PUBLIC;\n';

/** What the role that serves may do, said at each migration: again without effect. `role` is quoted by the caller. */
export const grants = (role: string): string =>
  Object.entries(tables)
    .map(([name, { may }]) => `GRANT ${may} ON ${name} TO ${role};\n`)
    .join('') +
  `GRANT SELECT ON version TO ${role};
GRANT USAGE ON SCHEMA gov TO ${role};
GRANT USAGE ON SEQUENCE project_number TO ${role};
GRANT EXECUTE ON FUNCTION move_head, events_below TO ${role};
`;
