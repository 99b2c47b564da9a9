/**
 * The search index of each log (`src/store/port/event-terms.ts`): a cache, which the log makes again. A migration of its own
 * creates it. Proven by `test/store/suite/log/event-terms.ts`.
 */
export const eventTermTables = `
CREATE TABLE event_term (
  project integer NOT NULL,
  term bytea NOT NULL,
  block bigint NOT NULL,
  first_ms bigint NOT NULL,
  last_ms bigint NOT NULL,
  places bytea NOT NULL,
  PRIMARY KEY (project, term, block)
) WITHOUT ROWID;

CREATE TABLE event_term_head (
  project integer NOT NULL,
  blocks bigint NOT NULL,
  changes bigint NOT NULL,
  PRIMARY KEY (project)
) WITHOUT ROWID;
`;

/**
 * Evaluations have terms since version 9, and those for whom an actor acts since version 12: drops the index, which the
 * next signed heads make again.
 */
export const dropTerms = 'DELETE FROM event_term;\nDELETE FROM event_term_head;\n';
