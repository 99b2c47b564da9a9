/**
 * SQL functions for work that needs more than one statement. They run as their caller, under its policies.
 * Source: PostgreSQL 18, chapter 41 (PL/pgSQL).
 * Proven by `test/store/postgres/suite.alone.test.ts`.
 */
import { prunableSql } from '../../../core/decided/prune.ts';
import { allTypes, blockEvents } from '../../append/blocks.ts';

const moveHead = `
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
`;

const eventsBelow = `
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

const refuseKept = `
-- What leads to a leaf goes only where something of its body was erased.
CREATE FUNCTION refuse_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM gov.body WHERE position = (OLD.project::bigint << 36) + OLD.idx
    AND erased IS NOT NULL) OR EXISTS (SELECT 1 FROM gov.prune WHERE project = OLD.project AND min_index > OLD.idx)
  THEN RETURN OLD; END IF;
  RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ' is append-only', ERRCODE = '23514';
END $$;
`;

const refuseUnpruned = `
-- Of leaves and bodies only events go, and only below where a gov.prune/1 leaf says so.
CREATE FUNCTION refuse_unpruned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM gov.prune WHERE project = (OLD.position >> 36)::integer AND min_index > (OLD.position & 68719476735))
    AND EXISTS (SELECT 1 FROM gov.leaf l WHERE l.position = OLD.position AND ${prunableSql('l.record')})
  THEN RETURN OLD; END IF;
  RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ' is append-only', ERRCODE = '23514';
END $$;
`;

/** SQL: events with `run_seq` in [low, high) and in [since, until), in this order, at most `rest`. */
const matching = (order: string, since: string, until: string): string => `
    RETURN QUERY SELECT e.idx, e.run_seq FROM run_event e WHERE e.project = of_project AND e.run_no = of_run
      AND e.run_seq >= greatest(low, ${since}) AND e.run_seq < least(high, ${until})
      AND (of_type IS NULL OR e.type_no = of_type) AND e.at_ms BETWEEN from_ms AND to_ms
      ORDER BY e.run_seq ${order} LIMIT rest;
    GET DIAGNOSTICS got = ROW_COUNT;
    rest := rest - got;`;

/**
 * SQL: goes from block to block by their summaries (`src/store/append/blocks.ts`). The open block has none
 * and is the last.
 */
function eventsOf(name: string, order: 'ASC' | 'DESC'): string {
  const open = matching(order, 'open', 'high');
  return `
CREATE FUNCTION ${name}(of_project integer, of_run bigint, low bigint, high bigint, of_events bigint, of_type integer,
  from_ms bigint, to_ms bigint, most bigint) RETURNS TABLE (idx bigint, run_seq bigint) ROWS 50
LANGUAGE plpgsql STABLE AS $$
DECLARE
  open bigint := of_events / ${blockEvents} * ${blockEvents};
  rest bigint := most;
  got bigint;
  this bigint;
BEGIN
  IF low >= high THEN RETURN; END IF;
  ${order === 'DESC' ? open : ''}
  FOR this IN SELECT b.block FROM run_block b WHERE b.project = of_project AND b.run_no = of_run
    AND b.type_no = coalesce(of_type, ${allTypes}) AND b.block >= low / ${blockEvents}
    AND b.block <= (high - 1) / ${blockEvents} AND b.last_ms >= from_ms AND b.first_ms <= to_ms
    ORDER BY b.block ${order}
  LOOP
    IF rest = 0 THEN RETURN; END IF;
    ${matching(order, `this * ${blockEvents}`, `(this + 1) * ${blockEvents}`)}
  END LOOP;
  ${order === 'ASC' ? open : ''}
END $$;
`;
}

const subjectSecrets = `
-- Keys of subjects by their ids, each looked up by itself however few the planner believes in: \`id:secret\` in hex.
CREATE FUNCTION subject_secrets(of_project integer, named text) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
  this text;
  found text;
  secrets text;
BEGIN
  FOREACH this IN ARRAY string_to_array(named, ',') LOOP
    SELECT key_id || ':' || encode(secret, 'hex') INTO found FROM subject_key
    WHERE project = of_project AND key_id = this;
    secrets := concat_ws(',', secrets, found);
  END LOOP;
  RETURN nullif(secrets, '');
END $$;
`;

export const functions =
  moveHead +
  subjectSecrets +
  refuseKept +
  refuseUnpruned +
  eventsBelow +
  eventsOf('events_ahead', 'ASC') +
  eventsOf('events_back', 'DESC');
export const functionNames = 'move_head, events_below, events_ahead, events_back, subject_secrets';
