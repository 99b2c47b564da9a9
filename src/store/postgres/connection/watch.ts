/**
 * Finds logs that other processes extended, and logs with unsigned leaves, over all tenants. A commit marks
 * its project in `grown`. The checkpoint that covers both trees removes the mark
 * (`src/store/postgres/write/checkpoints.ts`). A look therefore costs as much as there are marks, for any
 * number of projects.
 * Proven by `test/store/suite/log/checkpoints.ts` and `test/store/postgres/processes.long.test.ts`.
 */
import type { Store } from '../../port/store.ts';
import { textArray } from './arrays.ts';
import type { Database } from './database.ts';
import { sql, step } from '../../read/queries.ts';

const sizesOf = sql<{ project_id: string; size: number }>(
  `SELECT p.project_id, h.size FROM project p JOIN head h ON h.project = p.project AND h.tree = 0
   WHERE p.project_id = ANY($1::text[])`,
);
const unsigned = sql<{ project_id: string }>(
  `SELECT p.project_id FROM grown g JOIN project p USING (project)
   WHERE EXISTS (SELECT FROM head h WHERE h.project = g.project AND h.last_ms < $1
     AND h.size > coalesce((SELECT max(size) FROM checkpoint c WHERE c.project = h.project AND c.tree = h.tree), 0))
   LIMIT $2`,
);

export const watch = (database: Database): Required<Pick<Store, 'unsigned' | 'sizes'>> => ({
  unsigned: async (beforeMs, limit) => {
    const [{ rows }] = await database.read({ duty: 'watch' }, [step(unsigned, beforeMs, limit)]);
    return rows.map(({ project_id: projectId }) => projectId);
  },
  sizes: async (projectIds) => {
    const [{ rows }] = await database.read({ duty: 'watch' }, [step(sizesOf, textArray([...projectIds]))]);
    return new Map(rows.map(({ project_id: projectId, size }) => [projectId, size]));
  },
});
