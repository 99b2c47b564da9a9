/** The saved map of each log. It is a cache, so its rows change and go. Proven by `test/store/suite/log/index-map.ts`. */
export const indexMap = `
CREATE TABLE index_map (
  project INTEGER NOT NULL,
  size INTEGER NOT NULL,
  ms INTEGER NOT NULL,
  leaf_index INTEGER NOT NULL,
  parts BLOB NOT NULL,
  PRIMARY KEY (project)
) STRICT, WITHOUT ROWID;

CREATE TABLE index_list (
  project INTEGER NOT NULL,
  key_hash BLOB NOT NULL,
  value_hash BLOB NOT NULL,
  n INTEGER NOT NULL,
  first_index INTEGER NOT NULL,
  first_ms INTEGER NOT NULL,
  last_index INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  peaks BLOB NOT NULL,
  PRIMARY KEY (project, key_hash)
) STRICT, WITHOUT ROWID;`;
