/** The saved map of each log, and its rules. Proven by `test/store/suite/log/index-map.ts`. */
import { own, type TableRules } from './rule-words.ts';

export const indexMapTables = `
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
);`;

/** A cache: every right. */
const cache: TableRules = { sees: own, may: 'SELECT, INSERT, UPDATE, DELETE', changes: 'any' };

export const indexMapRules = { index_map: cache, index_list: cache };
