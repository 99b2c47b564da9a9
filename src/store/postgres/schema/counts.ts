/**
 * Keeps the counters of events by time. A trigger does it once for each insert of any number of events, and
 * not the process, because processes of an older release may still write after a migration.
 * Source: PostgreSQL 18, chapter 37 (transition tables of triggers).
 * Proven by `test/store/postgres/connection/database.test.ts` and `test/store/suite/log/counts.ts`.
 */
import { countTimes } from '../../append/counted-sql.ts';
import { unforced } from './security.ts';

export const countsByTime = `
${unforced('run_event', `${countTimes('run_event')};`)}
CREATE FUNCTION count_times() RETURNS trigger LANGUAGE plpgsql SET search_path = gov AS $$
BEGIN
  ${countTimes('added')}
  ON CONFLICT (project, type_no, width, bucket) DO UPDATE SET events = event_count.events + excluded.events;
  RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION count_times FROM PUBLIC;
CREATE TRIGGER run_event_counted AFTER INSERT ON run_event REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION count_times();
`;
