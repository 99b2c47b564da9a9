/**
 * Writes outside the log: keys, uses of credentials, staged graph rows, sweeps, and the installation's own
 * row.
 * Proven by `test/store/postgres/suite.alone.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import type { Store, Use } from '../../port/store.ts';
import { minuteOf } from '../../rules/tenant-row.ts';
import { sessionKeptMs } from '../../rules/tenants.ts';
import { dropSteps } from './bodies.ts';
import { scoped, type Database } from '../connection/database.ts';
import type { ProjectNumber } from '../read/leaves.ts';
import { installed } from '../../read/tenants.ts';
import { destroyAgain } from './subject-keys.ts';
import { keyWrites, organizationWrites } from '../../write/tenants.ts';
import { sql, step, type Step } from '../../read/queries.ts';
import { sweepFacts, sweepRequests, sweepRows, sweepSessions } from '../../write/tasks.ts';
import { stepper } from './writing.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A graph whose parts were staged longer ago is never logged. */
const stagedMs = dayMs;

/** Uses recorded in one transaction. */
const usesAtOnce = 200;
const useKey = sql(
  `UPDATE api_key SET last_used_ms = $3::int8
   WHERE project = $1 AND key_id = $2 AND coalesce(last_used_ms, 0) < $3::int8`,
);
/**
 * Returns steps in one fixed order, so that two processes never wait for each other. Skips unknown projects.
 */
async function useSteps(uses: readonly Use[], numberOf: ProjectNumber): Promise<Step[]> {
  const noted: { order: string; steps: Step[] }[] = [];
  for (const use of uses) {
    const minute = minuteOf(use.atMs);
    if ('digest' in use) {
      const digest = Buffer.from(use.digest);
      noted.push({
        order: digest.toString('hex'),
        steps: [scoped(use), organizationWrites(stepper(0)).useSession(digest, minute)],
      });
      continue;
    }
    const project = await numberOf(use.projectId).catch(nullWhereUnknown);
    if (project === null) continue;
    const used = step(useKey, project, use.keyId, minute);
    noted.push({ order: `${project} ${use.keyId}`, steps: [scoped({ project }), used] });
  }
  return noted.toSorted((a, b) => (a.order < b.order ? -1 : 1)).flatMap(({ steps }) => steps);
}

function nullWhereUnknown(error: unknown): null {
  if (error instanceof GovError && error.code === 'NOT_FOUND') return null;
  throw error;
}

const claim = sql('INSERT INTO installation (text) VALUES ($1) ON CONFLICT DO NOTHING');
const claimKey = sql('INSERT INTO master_key (text) VALUES ($1) ON CONFLICT DO NOTHING');
const claimedKey = sql<{ text: string }>('SELECT text FROM master_key');
const stagePart = sql(
  'INSERT INTO graph_part (project, graph_id, list, part, items, staged_ms) VALUES ($1, $2, $3, $4, $5, $6)',
);
const sweepAnswers = sql(
  `DELETE FROM idempotency WHERE (project, key) IN (
     SELECT project, key FROM idempotency WHERE at_ms < $1 ORDER BY at_ms LIMIT ${sweepRows})`,
);
const sweepStaged = sql(
  `DELETE FROM graph_part p WHERE staged_ms < $1
     AND NOT EXISTS (SELECT FROM graph g WHERE g.project = p.project AND g.graph_id = p.graph_id)`,
);

/** Like `PostgresStore.claimMasterKey`. */
export async function claimMasterKey(database: Database, check: string | null): Promise<string | null> {
  const read = step(claimedKey);
  const scope = { duty: 'installation' } as const;
  if (check === null) return (await database.read(scope, [read]))[0].rows[0]?.text ?? null;
  const [, { rows }] = await database.write(scope, [step(claimKey, check), read]);
  return rows[0]?.text ?? null;
}

export function tasks(
  database: Database,
  numberOf: ProjectNumber,
  now: () => number,
): Pick<Store, 'saveApiKey' | 'claimInstallation' | 'used' | 'stageGraphPart' | 'dropPruned' | 'sweep'> {
  let isFirst = true;
  const all = stepper(0);
  return {
    saveApiKey: async (key) => {
      const project = await numberOf(key.projectId);
      await database.write({ project }, [keyWrites(stepper(project)).putApiKey(key)]);
    },
    claimInstallation: async (text) => {
      const [, { rows }] = await database.write({ duty: 'installation' }, [
        step(claim, text),
        step(installed),
      ]);
      return rows[0]?.text ?? text;
    },
    used: async (uses) => {
      for (let from = 0; from < uses.length; from += usesAtOnce) {
        await database.write({ project: 0 }, await useSteps(uses.slice(from, from + usesAtOnce), numberOf));
      }
    },
    stageGraphPart: async (projectId, graphId, { list, part, items }) => {
      const project = await numberOf(projectId);
      const bytes = Buffer.from(items);
      await database.write({ project }, [step(stagePart, project, graphId, list, part, bytes, now())]);
    },
    dropPruned: async (projectId, range) => {
      const project = await numberOf(projectId);
      await database.write({ project }, dropSteps(project, range));
    },
    sweep: async (nowMs) => {
      const scope = { duty: 'sweep' } as const;
      // a restored older copy can only appear before a start, so the first sweep handles it
      if (isFirst) await database.write(scope, [step(destroyAgain)]);
      isFirst = false;
      await database.write(scope, [
        all(sweepRequests, { beforeMs: nowMs - limits.jobRequestDays * dayMs }),
        step(sweepStaged, nowMs - stagedMs),
        all(sweepSessions, { beforeMs: nowMs - sessionKeptMs }),
      ]);
      const old = [
        step(sweepAnswers, nowMs - limits.idempotencyHours * hourMs),
        all(sweepFacts, { beforeDay: Math.floor(nowMs / dayMs) - limits.intakeFactDays }),
      ];
      for (const wanted of old) {
        for (let count = 1; count > 0;) [{ count }] = await database.write(scope, [wanted]);
      }
    },
  };
}
