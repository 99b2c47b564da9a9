/**
 * Appends leaves of a transaction about one project to another log: the home of its organization. The
 * transaction locks the organization's row before the heads of both logs. So no two transactions wait for
 * each other, and the home cannot change until COMMIT. A crash before COMMIT leaves neither log's leaves.
 * Proven by `test/store/suite/tenancy/homes.ts` and `test/store/postgres/tenants.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import type { LeafDraft } from '../../../core/events/record.ts';
import {
  areSame,
  homeBeside,
  homesAmong,
  type LivingProject,
  type MembershipRow,
} from '../../rules/homes.ts';
import type { AppendRequest, NewTenant } from '../../port/store.ts';
import { scoped, type Transaction } from '../connection/database.ts';
import { factsOf, lookupsOf } from '../write/facts.ts';
import type { Facts } from '../write/known.ts';
import { bothHeads, lockHeads, openLedger, type HeadRow } from '../write/ledger.ts';
import { CommitPlan, type PlanOptions, type RequestOutcome } from '../write/plan.ts';
import { organizationWrites } from '../../write/tenants.ts';
import { stepper } from './writing.ts';
import { sql, step, type Result, type Step } from '../../read/queries.ts';

/** Leaves by the id of the home that receives them. */
export type LeavesByHome = Map<string, LeafDraft[]>;

/** Plans requests one by one, and collects the leaves that the stored ones add to their homes. */
export function planAll(
  commit: CommitPlan,
  requests: readonly AppendRequest[],
  facts: Facts,
): { readonly settled: readonly RequestOutcome[]; readonly forHomes: LeavesByHome } {
  const forHomes: LeavesByHome = new Map();
  const settled = requests.map((request): RequestOutcome => {
    const each = commit.plan(request);
    const { toHome } = request;
    if (!each.done || each.outcome.outcome !== 'stored' || toHome === undefined) return each;
    const home = homeBeside(facts.membership);
    if (home === null) return each;
    forHomes.set(home, [...(forHomes.get(home) ?? []), ...toHome]);
    return { done: true, outcome: { ...each.outcome, home } };
  });
  return { settled, forHomes };
}

const homesOf = sql<Pick<MembershipRow, 'home_production' | 'home_sandbox'>>(
  'SELECT home_production, home_sandbox FROM organization WHERE organization_id = $1',
);
const livingProjects = sql<LivingProject>(
  `SELECT p.project_id AS "projectId", f.environment FROM project_profile f JOIN project p USING (project)
   WHERE f.organization_id = $1 AND f.deleted_ms IS NULL ORDER BY f.created_ms, p.project_id`,
);

/**
 * Returns the changes that new projects of an existing organization make to its homes, and the leaves for the
 * home.
 */
export async function homesOfNew(
  transaction: Pick<Transaction, 'run'>,
  options: Pick<PlanOptions, 'clock' | 'random' | 'database'>,
  { organization, projects, toHome }: NewTenant,
): Promise<{ readonly home: string | null; readonly steps: readonly Step[] }> {
  const made = projects.map(({ stored }) => stored.project);
  const [first] = made;
  if (organization !== null || first === undefined) return { home: null, steps: [] };
  const { organizationId, environment } = first;
  const [homes, living] = await transaction.run([
    step(homesOf, organizationId),
    step(livingProjects, organizationId),
  ]);
  const [row] = homes.rows;
  if (row === undefined) return { home: null, steps: [] };
  const before = { production: row.home_production, sandbox: row.home_sandbox };
  const after = homesAmong(before, [...living.rows, ...made]);
  const moved = areSame(before, after)
    ? []
    : [organizationWrites(stepper(0)).saveHomes(organizationId, after)];
  const home = after[environment];
  if (toHome === undefined || made.some(({ projectId }) => projectId === home)) {
    return { home: null, steps: moved };
  }
  return {
    home,
    steps: [...moved, ...(await logBeside(transaction, options, { projectId: home, leaves: toHome }))],
  };
}

const numberOf = sql<{ project: number }>('SELECT project FROM project WHERE project_id = $1');

/**
 * Returns the steps that append leaves to another project of the organization whose row the transaction has
 * locked, in that project's scope. STORAGE_FAULT if its log cannot be extended.
 */
export async function logBeside(
  { run }: Pick<Transaction, 'run'>,
  { clock, random, database }: Pick<PlanOptions, 'clock' | 'random' | 'database'>,
  { projectId, leaves }: { readonly projectId: string; readonly leaves: readonly LeafDraft[] },
): Promise<Step[]> {
  const request: AppendRequest = { projectId, leaves };
  const [{ rows }] = await run([step(numberOf, projectId)]);
  const no = rows[0]?.project;
  if (no === undefined)
    throw new GovError('STORAGE_FAULT', `expected a home project ${projectId}, got no row`);
  const lookups = lookupsOf(no, [request]);
  const [, locked, ...found]: readonly Result[] = await run([
    scoped({ project: no }),
    step(lockHeads, no),
    ...lookups.map((lookup) => lookup.step),
  ]);
  const heads = bothHeads(no, (locked?.rows ?? []) as HeadRow[]); // the rows of `lockHeads`
  // never the ledger that this process remembers: a commit of that project may be about to change it
  const ledger = await openLedger({ run }, no, heads);
  const commit = new CommitPlan({ clock, random, database, ledger, facts: factsOf(lookups, found) });
  const settled = commit.plan(request);
  if (!settled.done) throw settled.error;
  return [scoped({ project: no }), ...commit.steps()];
}
