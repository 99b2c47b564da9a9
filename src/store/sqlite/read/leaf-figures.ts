/**
 * Figures of the stored leaves of a run (`src/store/read/leaf-figures.ts`). `octet_length` reads the header of a row.
 * Proven by `test/store/suite/log/leaf-figures.ts`.
 */
import type { StoreReader } from '../../port/store.ts';
import { subjectsOf } from '../../file/body-seal.ts';
import type { Connection, Value } from '../../file/connection.ts';
import { positionSql } from '../../file/position.ts';
import { keyReader } from '../../file/subjects.ts';
import { idsOf } from '../../erasure/subject-keys.ts';
import { figuresAtOnce, figureColumns, figureReads, type FigureRow } from '../../read/leaf-figures.ts';
import type { ProjectNumber } from './leaves.ts';
import type { Turns } from './turns.ts';

const figuresOf = (rows: string): string =>
  `SELECT ${figureColumns('leaf', 'body')} FROM (${rows}) i LEFT JOIN leaf ON leaf.position = ${positionSql('i')}
   LEFT JOIN body ON body.position = ${positionSql('i')} GROUP BY body.keys`;

export function leafFigureReads(
  db: Connection,
  { numberOf, turns, seqBelow }: FigureParts,
): Pick<StoreReader, 'leafFigures'> {
  const events = db.prepare<Value[], FigureRow>(
    figuresOf(`SELECT project, idx FROM run_event WHERE project = ? AND run_no = (SELECT run_no FROM run
      WHERE project = ? AND run_id = ?) AND run_seq >= ? AND run_seq < ?`),
  );
  const decided = db.prepare<Value[], FigureRow>(
    figuresOf(`SELECT project, idx FROM decided WHERE project = ? AND type = ? AND run_id = ?
      AND idx >= ? AND idx < ? ORDER BY idx LIMIT ${figuresAtOnce}`),
  );
  const subjects = subjectsOf(db);
  const find = subjects === null ? () => null : keyReader(subjects);
  return figureReads<FigureRow>({
    numberOf,
    seqBelow,
    events: async (project, runId, { from, to }) => events.all(project, project, runId, from, to),
    decided: async (project, { runId, type }, { from, before }) =>
      decided.all(project, type, runId, from, before),
    keysThere: ({ keys }) => idsOf(keys).filter((id) => find(id) !== null).length,
    turn: (project) => turns.next(project),
  });
}

interface FigureParts {
  readonly numberOf: ProjectNumber;
  readonly turns: Turns;
  readonly seqBelow: StoreReader['runEventsBelow'];
}
