/** Writes beside the log: keys, staged graph rows, and what is swept. */
import { limits } from '../../contract/limits.ts';
import type { Store } from '../port.ts';
import type { Database } from './database.ts';
import type { ProjectNumber } from './readleaves.ts';
import { kept } from './texts.ts';
import { sql, step } from './wire.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Rows swept in one transaction. */
const sweepRows = 1000;
/** After this time nobody logs a graph any more whose parts were staged. */
const stagedMs = dayMs;

const saveKey = sql(
  `INSERT INTO api_key (project, key_id, digest, prefix, last4, name, scopes, created_ms, expires_ms, revoked_ms)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
   ON CONFLICT (project, key_id) DO UPDATE SET digest = excluded.digest, prefix = excluded.prefix,
     last4 = excluded.last4, name = excluded.name, scopes = excluded.scopes,
     expires_ms = excluded.expires_ms, revoked_ms = excluded.revoked_ms`,
);
const stagePart = sql(
  'INSERT INTO graph_part (project, graph_id, list, part, items, staged_ms) VALUES ($1, $2, $3, $4, $5, $6)',
);
const sweepRequests = sql(
  `UPDATE job SET request = NULL
   WHERE request IS NOT NULL AND status IN ('completed', 'failed') AND completed_ms < $1`,
);
const sweepAnswers = sql(
  `DELETE FROM idempotency WHERE (project, key) IN (
     SELECT project, key FROM idempotency WHERE at_ms < $1 ORDER BY at_ms LIMIT ${sweepRows})`,
);
const sweepStaged = sql(
  `DELETE FROM graph_part p WHERE staged_ms < $1
     AND NOT EXISTS (SELECT FROM graph g WHERE g.project = p.project AND g.graph_id = p.graph_id)`,
);

export function tasks(
  database: Database,
  numberOf: ProjectNumber,
  now: () => number,
): Pick<Store, 'saveApiKey' | 'stageGraphPart' | 'sweep'> {
  return {
    saveApiKey: async (key) => {
      const { keyId, digest, prefix, last4, name, scopes, createdMs, expiresMs, revokedMs } = key;
      const project = await numberOf(key.projectId);
      const texts = [prefix, last4, kept(name), JSON.stringify(scopes)];
      const times = [createdMs, expiresMs, revokedMs];
      await database.write({ project }, [
        step(saveKey, project, keyId, Buffer.from(digest), ...texts, ...times),
      ]);
    },
    stageGraphPart: async (projectId, graphId, { list, part, items }) => {
      const project = await numberOf(projectId);
      const bytes = Buffer.from(items);
      await database.write({ project }, [step(stagePart, project, graphId, list, part, bytes, now())]);
    },
    sweep: async (nowMs) => {
      const scope = { duty: 'sweep' } as const;
      await database.write(scope, [
        step(sweepRequests, nowMs - limits.jobRequestDays * dayMs),
        step(sweepStaged, nowMs - stagedMs),
      ]);
      for (;;) {
        const wanted = step(sweepAnswers, nowMs - limits.idempotencyHours * hourMs);
        const [{ count }] = await database.write(scope, [wanted]);
        if (count === 0) return;
      }
    },
  };
}
