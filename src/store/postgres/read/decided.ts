/**
 * Reads of decisions: looks them up in `decided`, reads them from the log and checks them like every leaf.
 * Proven by `test/store/suite/log/decided.ts`.
 */
import type { IndexedLeaf, StoreReader } from '../../port/store.ts';
import type { Leaf } from '../../port/store.ts';
import { typeNumbers } from '../../rules/decided.ts';
import { endOfTime } from '../../port/bounds.ts';
import { altered } from '../../append/altered.ts';
import type { Database } from '../connection/database.ts';
import { auditLeaves, leafColumns, leafJoins, located, type LeafRow, type ProjectNumber } from './leaves.ts';
import { subjectKeyCount } from '../effects/subject-keys.ts';
import { sql, step } from '../../read/queries.ts';

const byId = sql<LeafRow>(
  `SELECT ${leafColumns('d')} FROM ${located(
    'SELECT idx FROM decided WHERE project = $1 AND type = $2 AND id = $3',
  )} d ${leafJoins('d')} ORDER BY d.idx`,
);

const selectPage = (ofRun: string, order: 'ASC' | 'DESC') =>
  sql<LeafRow>(
    `SELECT ${leafColumns('d')} FROM ${located(`SELECT idx FROM decided WHERE project = $1 AND type = $2
       AND idx >= $3 AND idx < $4 ${ofRun} ORDER BY idx ${order} LIMIT $5`)} d
     ${leafJoins('d')} ORDER BY d.idx ${order}`,
  );
const pages = { asc: selectPage('', 'ASC'), desc: selectPage('', 'DESC') };
const ofRun = 'AND run_id = $6';
const pagesOfRun = { asc: selectPage(ofRun, 'ASC'), desc: selectPage(ofRun, 'DESC') };

const about = sql<LeafRow>(
  `SELECT ${leafColumns('d')} FROM ${located(`SELECT idx FROM subject WHERE project = $1 AND subject = $2
     AND idx > $3::int8 ORDER BY idx LIMIT $4`)} d ${leafJoins('d')} ORDER BY d.idx`,
);

export function decidedReads(
  database: Database,
  numberOf: ProjectNumber,
): Pick<StoreReader, 'leafOf' | 'leavesOf' | 'leavesAbout' | 'hasSubjectKey'> {
  return {
    hasSubjectKey: async (projectId, subject) => {
      if (!database.seal.seals) return false;
      const project = await numberOf(projectId);
      const [{ rows }] = await database.read({ project }, [step(subjectKeyCount, project, subject)]);
      return (rows[0]?.keys ?? 0) > 0;
    },
    leavesAbout: async (projectId, subject, { after = -1, limit }) => {
      const project = await numberOf(projectId);
      const [{ rows }] = await database.read({ project }, [step(about, project, subject, after, limit)]);
      return auditLeaves(database, rows);
    },
    leafOf: async (projectId, type, id) => {
      const project = await numberOf(projectId);
      const [{ rows }] = await database.read({ project }, [step(byId, project, typeNumbers[type], id)]);
      return checkIndexed(auditLeaves(database, rows), { type, named: id })[0] ?? null;
    },
    leavesOf: async (projectId, { type, runId, beforeIndex = endOfTime }, { after, order, limit }) => {
      const project = await numberOf(projectId);
      const from = order === 'asc' && after !== undefined ? after + 1 : 0;
      const to = order === 'desc' && after !== undefined ? Math.min(after, beforeIndex) : beforeIndex;
      const values = [project, typeNumbers[type], from, to, limit];
      const wanted =
        runId === undefined ? step(pages[order], ...values) : step(pagesOfRun[order], ...values, runId);
      const [{ rows }] = await database.read({ project }, [wanted]);
      return checkIndexed(auditLeaves(database, rows), {
        type,
        ...(runId === undefined ? {} : { named: runId }),
      });
    },
  };
}

/**
 * Checks that leaves match the log and the index: they have this type and name this id or run. Clear members
 * of a record match patterns without quotes or backslashes, so the text search finds them unescaped.
 */
function checkIndexed(leaves: Leaf[], { type, named }: { type: IndexedLeaf; named?: string }): Leaf[] {
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
}
