/**
 * Reads of decisions: looks them up in `decided`, reads them from the log and checks them like every leaf.
 * Proven by `test/store/suite/log/decided.ts`.
 */
import type { IndexedLeaf, StoreReader } from '../../port/store.ts';
import type { Leaf } from '../../port/store.ts';
import { subjectsOf } from '../../file/body-seal.ts';
import type { Connection, Value } from '../../file/connection.ts';
import { typeNumbers } from '../../rules/decided.ts';
import { positionOf, positionSql } from '../../file/position.ts';
import { altered } from '../../append/altered.ts';
import { leafChecker, type LeafRow, type ProjectNumber } from './leaves.ts';
import { subjectReader } from '../../file/subjects.ts';

/** SQL: the index of the newest evaluation of the run in row `run`, or NULL. */
export const newestEvaluationSql = `(SELECT max(d.idx) FROM decided d
  WHERE d.project = run.project AND d.type = ${typeNumbers['gov.evaluation/1']} AND d.run_id = run.run_id)`;

/** Returns the combined decision of an evaluation, from its leaf. Cost: 10 µs. */
export function combinedReader(db: Connection): (project: number, index: number) => string {
  const select = db.prepare<Value[], LeafRow>(
    'SELECT idx, record, NULL AS disclosures FROM leaf WHERE position = ?',
  );
  const check = leafChecker(db);
  return (project, index) => {
    const row = select.get(positionOf(project, index)) ?? { idx: index, record: null, disclosures: null };
    const [leaf] = check(project, 'audit', [row]);
    const { combined } = JSON.parse(leaf?.record ?? '{}') as { combined?: unknown };
    if (typeof combined !== 'string')
      throw altered('audit', index, 'is not an evaluation, as the index of decisions says');
    return combined;
  };
}

const leafOfRow = `leaf.record, body.disclosures, body.erased, body.keys FROM decided d
  LEFT JOIN leaf ON leaf.position = ${positionSql('d')}
  LEFT JOIN body ON body.position = ${positionSql('d')}`;

export function decidedReads(
  db: Connection,
  numberOf: ProjectNumber,
): Pick<StoreReader, 'leafOf' | 'leavesOf' | 'leavesAbout' | 'hasSubjectKey'> {
  const check = indexedChecker(db);
  const byId = db.prepare<Value[], LeafRow>(
    `SELECT d.idx, ${leafOfRow} WHERE d.project = ? AND d.type = ? AND d.id = ? ORDER BY d.idx LIMIT 1`,
  );
  const selectPage = (ofRun: string, order: 'ASC' | 'DESC') =>
    db.prepare<Value[], LeafRow>(
      `SELECT d.idx, ${leafOfRow} WHERE d.project = ? AND d.type = ? ${ofRun} AND d.idx >= ? AND d.idx < ?
       ORDER BY d.idx ${order} LIMIT ?`,
    );
  const page = { asc: selectPage('', 'ASC'), desc: selectPage('', 'DESC') };
  const ofRun = 'AND d.run_id = ?';
  const pageOfRun = { asc: selectPage(ofRun, 'ASC'), desc: selectPage(ofRun, 'DESC') };
  const about = db.prepare<Value[], LeafRow>(
    `SELECT d.idx, leaf.record, body.disclosures, body.erased, body.keys FROM subject d
     LEFT JOIN leaf ON leaf.position = ${positionSql('d')}
     LEFT JOIN body ON body.position = ${positionSql('d')}
     WHERE d.project = ? AND d.subject = ? AND d.idx > ? ORDER BY d.idx LIMIT ?`,
  );
  const checkLeaf = leafChecker(db);
  const subjects = subjectsOf(db);
  const keysOf = subjects === null ? () => [] : subjectReader(subjects);
  return {
    hasSubjectKey: async (projectId, subject) => keysOf(numberOf(projectId), subject).length > 0,
    leavesAbout: async (projectId, subject, { after = -1, limit }) => {
      const project = numberOf(projectId);
      return checkLeaf(project, 'audit', about.all(project, subject, after, limit));
    },
    leafOf: async (projectId, type, id) => {
      const project = numberOf(projectId);
      const rows = byId.all(project, typeNumbers[type], id);
      return check(project, rows, { type, named: id })[0] ?? null;
    },
    leavesOf: async (projectId, { type, runId, beforeIndex = endOfIndexes }, { after, order, limit }) => {
      const project = numberOf(projectId);
      const from = order === 'asc' && after !== undefined ? after + 1 : 0;
      const to = order === 'desc' && after !== undefined ? Math.min(after, beforeIndex) : beforeIndex;
      const rows =
        runId === undefined
          ? page[order].all(project, typeNumbers[type], from, to, limit)
          : pageOfRun[order].all(project, typeNumbers[type], runId, from, to, limit);
      return check(project, rows, { type, ...(runId === undefined ? {} : { named: runId }) });
    },
  };
}

const endOfIndexes = Number.MAX_SAFE_INTEGER;

/**
 * Checks that leaves match the log and the index: they have this type and name this id or run. Clear members
 * of a record match patterns without quotes or backslashes, so the text search finds them unescaped.
 */
function indexedChecker(db: Connection) {
  const check = leafChecker(db);
  return (
    project: number,
    rows: readonly LeafRow[],
    { type, named }: { type: IndexedLeaf; named?: string },
  ): Leaf[] => {
    const leaves = check(project, 'audit', rows);
    const other = leaves.find(
      ({ record }) =>
        !record.includes(`"type":"${type}"`) || (named !== undefined && !record.includes(`"${named}"`)),
    );
    if (other === undefined) return leaves;
    throw altered(
      'audit',
      other.index,
      `is not a ${type} of ${named ?? 'any run'}, as the index of decisions says`,
    );
  };
}
