/**
 * What holds below the statements: row-level security by tenant, forced also for the owner; grants to an
 * ordinary role, which can neither change nor delete what is append-only; and triggers that hold the owner to
 * the same. A policy reads settings that `database.ts` sets for one transaction; where none is set, it shows
 * nothing and takes nothing. Proven by `test/store/postgres/database.test.ts`.
 */

/** Evaluated once per statement, not per row: the subselect makes it a constant of the plan. */
const tenant = "(SELECT nullif(current_setting('gov.project', true), '')::integer)";
const namedProject = "(SELECT current_setting('gov.project_id', true))";
const credential = "(SELECT decode(nullif(current_setting('gov.digest', true), ''), 'hex'))";
const onDuty = (...duties: readonly string[]): string =>
  `(SELECT current_setting('gov.duty', true)) IN (${duties.map((duty) => `'${duty}'`).join(', ')})`;

const own = `project = ${tenant}`;
const ownPosition = `(position >> 36) = ${tenant}`;

interface TableRules {
  /** Which rows are seen; also which are written, unless `writes` says otherwise. */
  readonly sees: string;
  readonly writes?: string;
  /** What the serving role may do. */
  readonly may: string;
  /** Raised on a change that its condition meets; null: on every change. Deletes raise unless `may` has them. */
  readonly changes: { readonly when: string; readonly message: string } | 'any' | null;
}

const appendOnly = (sees = own): TableRules => ({ sees, may: 'SELECT, INSERT', changes: null });

/** SQL: whether one of these columns changes. */
function changed(names: string): string {
  const row = (of: string): string =>
    `(${names
      .split(' ')
      .map((name) => `${of}.${name}`)
      .join(', ')})`;
  return `${row('NEW')} IS DISTINCT FROM ${row('OLD')}`;
}

const tables: Readonly<Record<string, TableRules>> = {
  project: {
    sees: `${own} OR project_id = ${namedProject} OR ${onDuty('jobs', 'check')}`,
    writes: own,
    may: 'SELECT, INSERT',
    changes: null,
  },
  api_key: {
    sees: `${own} OR digest = ${credential}`,
    writes: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: 'any',
  },
  head: {
    sees: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `NEW.size < OLD.size OR NEW.last_ms < OLD.last_ms OR ${changed('project tree')}`,
      message: 'a head never goes backwards',
    },
  },
  leaf: appendOnly(ownPosition),
  // Bodies are what erasure erases.
  body: { sees: ownPosition, may: 'SELECT, INSERT', changes: 'any' },
  meter: appendOnly(ownPosition),
  tile: {
    sees: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `octet_length(NEW.hashes) < octet_length(OLD.hashes)
        OR substr(NEW.hashes, 1, octet_length(OLD.hashes)) <> OLD.hashes
        OR ${changed('project tree level n part')}`,
      message: 'a tile only grows',
    },
  },
  checkpoint: appendOnly(),
  head_anchor: {
    sees: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `NEW.size < OLD.size OR ${changed('project tree origin')}`,
      message: 'a head never goes backwards',
    },
  },
  event_type: appendOnly(),
  run: { sees: own, may: 'SELECT, INSERT, UPDATE', changes: 'any' },
  run_event: appendOnly(),
  run_type: { sees: own, may: 'SELECT, INSERT, UPDATE', changes: 'any' },
  type_total: { sees: own, may: 'SELECT, INSERT, UPDATE', changes: 'any' },
  client_event: appendOnly(),
  idempotency: {
    sees: `${own} OR ${onDuty('sweep')}`,
    writes: own,
    may: 'SELECT, INSERT, DELETE',
    changes: null,
  },
  proof: appendOnly(),
  graph: { ...appendOnly(), sees: `${own} OR ${onDuty('sweep')}`, writes: own },
  graph_part: {
    sees: `${own} OR ${onDuty('sweep')}`,
    writes: own,
    may: 'SELECT, INSERT, DELETE',
    changes: null,
  },
  run_graph: { sees: own, may: 'SELECT, INSERT, UPDATE', changes: 'any' },
  job: { sees: `${own} OR ${onDuty('jobs', 'sweep')}`, may: 'SELECT, INSERT, UPDATE', changes: 'any' },
  decided: appendOnly(),
  run_snapshot: appendOnly(),
  policy: {
    sees: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `NEW.revision <> OLD.revision + 1 OR NEW.latest_version < OLD.latest_version
        OR ${changed('project policy_id created_ms created_by')}`,
      message: 'a change of a policy raises its revision by one',
    },
  },
  policy_version: {
    sees: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `NOT (OLD.published = 0 AND NEW.published = 1) OR ${changed('project policy_id version condition normalized action severity policy_hash created_ms created_by')}`,
      message: 'a policy version never changes but to be published',
    },
  },
  risk_config: { sees: own, may: 'SELECT, INSERT, UPDATE', changes: 'any' },
  approval: {
    sees: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `OLD.outcome IS NOT NULL OR NEW.outcome IS NULL OR ${changed('project approval_id evaluation_id run_id reason requested_ms requested_by expires_ms')}`,
      message: 'an approval is decided once, and nothing else of it changes',
    },
  },
};

/** Names of the tables that hold a tenant's rows: all. */
export const tableNames = Object.keys(tables);

const raise = `
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION USING MESSAGE = coalesce(TG_ARGV[0], TG_TABLE_NAME || ' is append-only'), ERRCODE = '23514'; END $$;
`;

function rulesOf(name: string, rules: TableRules, role: string): string {
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
GRANT ${may} ON ${name} TO ${role};
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

/** `role` is quoted by the caller. */
export const security = (role: string): string =>
  raise +
  functions +
  Object.entries(tables)
    .map(([name, rules]) => rulesOf(name, rules, role))
    .join('') +
  `GRANT USAGE ON SCHEMA gov TO ${role};
GRANT USAGE ON SEQUENCE project_number TO ${role};
REVOKE ALL ON FUNCTION move_head, events_below FROM PUBLIC;
GRANT EXECUTE ON FUNCTION move_head, events_below TO ${role};
`;
