/**
 * Reads of what received telemetry said: runs of traces, reported tool calls, sources.
 * Proven by `test/store/suite/log/intake.ts`.
 */
import type { Fact, StoreReader } from '../port/store.ts';
import { both, each, rowsOf, type Queries } from './queries.ts';

interface FactRow extends Fact {
  readonly name: string;
}

/** `OFFSET 0` makes PostgreSQL look each name up by its key, for any statistics; SQLite has no LATERAL. */
const named = each<FactRow>({
  postgres: `SELECT f.name, f.value, f.day FROM jsonb_array_elements_text($2::jsonb) AS wanted(name)
   CROSS JOIN LATERAL (SELECT name, value, day FROM intake_fact
     WHERE project = $1 AND name = wanted.name OFFSET 0) f`,
  sqlite: `SELECT name, value, day FROM intake_fact
   WHERE project = $1 AND name IN (SELECT value FROM json_each($2))`,
});
const page = both<Pick<FactRow, 'name' | 'value'>>(
  `SELECT name, value FROM intake_fact WHERE project = $1 AND name > $2 AND name < $3 ORDER BY name LIMIT $4`,
);

export function intakeReads(queries: Queries): Pick<StoreReader, 'facts' | 'factsFrom'> {
  return {
    facts: async (projectId, names) => {
      if (names.length === 0) return new Map();
      const rows = await rowsOf(queries, projectId, named, JSON.stringify(names));
      return new Map(rows.map(({ name, value, day }) => [name, { value, day }]));
    },
    factsFrom: (projectId, prefix, { after, limit }) =>
      rowsOf(queries, projectId, page, after ?? prefix, `${prefix}~`, limit),
  };
}
