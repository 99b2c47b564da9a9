/**
 * Figures of the stored leaves of a run (`src/store/read/leaf-figures.ts`). `octet_length` reads the length of a large text
 * from its row. Proven by `test/store/suite/log/leaf-figures.ts`.
 */
import type { StoreReader } from '../../port/store.ts';
import { figuresAtOnce, figureColumns, figureReads, type FigureRow } from '../../read/leaf-figures.ts';
import { sql, step } from '../../read/queries.ts';
import type { Database } from '../connection/database.ts';
import { keysOf, secretsColumn, secretsOf } from '../effects/subject-secrets.ts';
import { bodyOf, located, recordOf, type ProjectNumber } from './leaves.ts';

interface Row extends FigureRow {
  /** The keys that the bodies name. */
  readonly secrets: string | null;
}

const figuresOf = (rows: string) =>
  sql<Row>(
    `SELECT ${figureColumns('l', 'b')}, ${secretsColumn} FROM ${located(rows)} i ${recordOf('i')} ${bodyOf('i')} GROUP BY b.keys`,
  );

const events = figuresOf(
  `SELECT idx FROM run_event WHERE project = $1 AND run_no = (SELECT run_no FROM run
     WHERE project = $1 AND run_id = $2) AND run_seq >= $3::int8 AND run_seq < $4::int8`,
);
const decided = figuresOf(
  `SELECT idx FROM decided WHERE project = $1 AND run_id = $2 AND type = $3 AND idx >= $4::int8 AND idx < $5::int8
   ORDER BY idx LIMIT ${figuresAtOnce}`,
);

export function leafFigureReads(
  database: Database,
  numberOf: ProjectNumber,
  seqBelow: StoreReader['runEventsBelow'],
): Pick<StoreReader, 'leafFigures'> {
  return figureReads<Row>({
    numberOf,
    seqBelow,
    events: async (project, runId, { from, to }) => {
      const [{ rows }] = await database.read({ project }, [step(events, project, runId, from, to)]);
      return rows;
    },
    decided: async (project, { runId, type }, { from, before }) => {
      const [{ rows }] = await database.read({ project }, [
        step(decided, project, runId, type, from, before),
      ]);
      return rows;
    },
    keysThere: ({ secrets }) => keysOf(secretsOf(secrets)).length,
    turn: async () => {},
  });
}
