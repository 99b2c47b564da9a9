/**
 * The saved map of each log (`src/store/port/index-map.ts`), and its lists by the hash of their key. They are a
 * cache: their rows change and go. A migration of its own creates them.
 * Proven by `test/store/suite/log/index-map.ts`.
 */
export const indexTables = `
CREATE TABLE index_map (
  project integer PRIMARY KEY,
  size bigint NOT NULL,
  ms bigint NOT NULL,
  leaf_index bigint NOT NULL,
  parts bytea NOT NULL
);

CREATE TABLE index_list (
  project integer NOT NULL,
  key_hash bytea NOT NULL,
  value_hash bytea NOT NULL,
  n bigint NOT NULL,
  first_index bigint NOT NULL,
  first_ms bigint NOT NULL,
  last_index bigint NOT NULL,
  last_ms bigint NOT NULL,
  peaks bytea NOT NULL,
  PRIMARY KEY (project, key_hash)
) WITHOUT ROWID;
`;
