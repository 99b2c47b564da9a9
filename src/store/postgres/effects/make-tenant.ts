/**
 * Creates tenants, each in one transaction: organization, person, and for each project row, heads, profile,
 * leaves, keys. Writers that create projects of one organization take turns by the lock on its row, and write
 * to its home's log. For sign-ups, the unique indexes decide. A crash before COMMIT leaves nothing. A refused
 * project leaves its number unused.
 * Proven by `test/store/suite/tenancy/tenants.ts` and `test/store/postgres/tenants.test.ts`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { GovError } from '../../../contract/problems.ts';
import { emptyRoot } from '../../../core/merkle/tree.ts';
import type { LeafDraft } from '../../../core/events/record.ts';
import { answerOf } from '../../port/store.ts';
import type { CreateOutcome, NewProject, NewTenant, Store, StoredResponse } from '../../port/store.ts';
import type { Project } from '../../port/store.ts';
import type { RandomPool } from '../../append/random.ts';
import { keptOf, type KeptRow } from '../../append/repeats.ts';
import { judgeCaller } from '../../port/caller.ts';
import { judgeTenant, nameKey } from '../../rules/tenants.ts';
import { textArray } from '../connection/arrays.ts';
import { callerLookups, callerName, callersOf } from './caller.ts';
import { scoped, type Database, type Transaction } from '../connection/database.ts';
import { noFacts } from '../write/facts.ts';
import { stateOf, troubleOf } from '../connection/faults.ts';
import { emptyLedger } from '../write/ledger.ts';
import { CommitPlan } from '../write/plan.ts';
import type { ProjectNumber } from '../read/leaves.ts';
import { homesOfNew } from './to-home.ts';
import { sql, step, type Step } from '../../read/queries.ts';
import { keptTable } from '../../write/commit-tables.ts';
import { insertOne } from '../../write/statement.ts';
import { keyWrites, organizationWrites, profileWrites } from '../../write/tenants.ts';
import { stepper } from './writing.ts';

export interface MakerOptions {
  readonly database: Database;
  readonly numberOf: ProjectNumber;
  readonly clock: { now(): number };
  readonly random: RandomPool;
}

export const tenantMaker = (options: MakerOptions): Pick<Store, 'createProject' | 'createTenant'> => ({
  createProject: (project, genesis) => repeatedly(() => makeProject(options, { project, genesis })),
  createTenant: (tenant) => repeatedly(() => makeTenant(options, tenant)),
});

const tries = 4;

/** Tries again if others wrote at the same time: the next try finds and judges their rows. */
async function repeatedly<Value>(make: () => Promise<Value>): Promise<Value> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await make();
    } catch (error) {
      const exists = stateOf(error) === '23505';
      if (!exists && troubleOf(error) !== 'again') throw error;
      if (tried < tries) await pause(tried * tried * 5);
      else if (exists) {
        throw new GovError('CONFLICT', 'expected new ids, got one that exists', { cause: error });
      } else throw error;
    }
  }
}

const newNumbers = sql<{ no: number }>(
  `SELECT nextval('project_number')::integer AS no FROM generate_series(1, $1::integer)`,
);
const insertProject = sql(
  `INSERT INTO project (project, project_id, organization_id, environment, audit_origin, metering_origin)
   VALUES ($1, $2, $3, $4, $5, $6)`,
);
const insertHeads = sql(
  'INSERT INTO head (project, tree, size, root, last_ms) VALUES ($1, 0, 0, $2, 0), ($1, 1, 0, $2, 0)',
);

interface NewLog {
  readonly no: number;
  readonly project: Project;
  readonly leaves: readonly LeafDraft[];
}

/** Returns the steps that create a project with its first leaves, in its own scope. */
function logSteps({ clock, random, database }: MakerOptions, { no, project, leaves }: NewLog): Step[] {
  const { projectId, organizationId, environment, auditOrigin, meteringOrigin } = project;
  const commit = new CommitPlan({ clock, random, database, ledger: emptyLedger(no), facts: noFacts() });
  const settled = commit.plan({ projectId, leaves });
  if (!settled.done) throw settled.error;
  return [
    scoped({ project: no }),
    step(insertProject, no, projectId, organizationId, environment, auditOrigin, meteringOrigin),
    step(insertHeads, no, emptyRoot),
    ...commit.steps(),
  ];
}

async function makeProject(
  options: MakerOptions,
  { project, genesis }: { project: Project; genesis: LeafDraft },
): Promise<void> {
  const { projectId } = project;
  const [{ rows }] = await options.database.write({ projectId }, [step(newNumbers, 1)]);
  const steps = logSteps(options, { no: rows[0]?.no ?? 0, project, leaves: [genesis] });
  await options.database.write({ projectId }, steps);
}

const lockOrganization = sql(
  'SELECT organization_id FROM organization WHERE organization_id = $1 FOR NO KEY UPDATE',
);
const countProjects = sql<{ n: number }>(
  'SELECT count(*) AS n FROM project_profile WHERE organization_id = $1 AND deleted_ms IS NULL',
);
const namesTaken = sql<{ environment: string; name_key: string }>(
  `SELECT environment, name_key FROM project_profile
   WHERE organization_id = $1 AND environment IN ('production', 'sandbox') AND name_key = ANY($2::text[])
     AND deleted_ms IS NULL`,
);
const isKnown = sql<{ known: boolean }>(
  'SELECT EXISTS (SELECT FROM person WHERE issuer = $1 AND subject = $2) AS known',
);
const keptAnswer = sql<KeptRow>(
  'SELECT fingerprint, status, headers, body FROM idempotency WHERE project = $1 AND key = $2',
);

async function makeTenant(options: MakerOptions, tenant: NewTenant): Promise<CreateOutcome> {
  const { organization, projects, idempotency } = tenant;
  const organizationId = organization?.organizationId ?? projects[0]?.stored.project.organizationId ?? '';
  const isNew = projects.some(({ stored }) => stored.project.projectId === idempotency?.projectId);
  const caller = idempotency === undefined || isNew ? null : await options.numberOf(idempotency.projectId);
  return options.database.transaction({ organizationId }, async (transaction) => {
    const repeated = await repeatOf(transaction, tenant, { organizationId, caller });
    if (repeated !== null) return repeated;
    await judgeAsking(transaction, tenant);
    await judge(transaction, tenant, organizationId);
    const [{ rows }] = await transaction.run([step(newNumbers, projects.length)]);
    const numbers = rows.map(({ no }) => no);
    const { home, steps } = await homesOfNew(transaction, options, tenant);
    await transaction.commit([
      ...peopleSteps(tenant),
      ...projects.flatMap((made, at) => projectSteps(options, made, numbers[at] ?? 0)),
      ...answerSteps(tenant, { numbers, caller, atMs: options.clock.now() }),
      ...steps,
    ]);
    return home === null ? { outcome: 'stored' } : { outcome: 'stored', home };
  });
}

/**
 * Locks the organization, then returns the outcome of the earlier request with this key; null for a new key.
 * `caller`: the number of the project that stores its response, null if this transaction creates that
 * project.
 */
async function repeatOf(
  { run }: Transaction,
  { idempotency }: NewTenant,
  { organizationId, caller }: { organizationId: string; caller: number | null },
): Promise<CreateOutcome | null> {
  const lock = step(lockOrganization, organizationId);
  if (idempotency === undefined || caller === null) {
    await run([lock]);
    return null;
  }
  const find = step(keptAnswer, caller, idempotency.key);
  const [, , { rows }] = await run([lock, scoped({ project: caller }), find]);
  if (rows[0] === undefined) return null;
  const { fingerprint, response } = keptOf(rows[0]);
  if (fingerprint !== idempotency.fingerprint) return { outcome: 'key_reused' };
  return { outcome: 'replayed', response };
}

async function judgeAsking({ run }: Transaction, { by }: NewTenant): Promise<void> {
  if (by === null) return;
  const lookups = callerLookups(0, [by.credential]);
  const callers = callersOf(lookups, await run(lookups.map(({ step: wanted }) => wanted)));
  judgeCaller(callers.get(callerName(by.credential))?.state ?? null, by);
}

async function judge({ run }: Transaction, tenant: NewTenant, organizationId: string): Promise<void> {
  const { issuer = '', subject = '' } = tenant.user ?? {};
  const names = tenant.projects.map(({ stored }) => nameKey(stored.name));
  const [, known, count, taken] = await run([
    scoped({ issuer, subject }),
    step(isKnown, issuer, subject),
    step(countProjects, organizationId),
    step(namesTaken, organizationId, textArray(names)),
  ]);
  judgeTenant(tenant, {
    userExists: tenant.user !== null && known.rows[0]?.known === true,
    projects: count.rows[0]?.n ?? 0,
    isNameTaken: (environment, key) =>
      taken.rows.some((row) => row.environment === environment && row.name_key === key),
  });
}

function peopleSteps({ organization, user }: NewTenant): Step[] {
  const writes = organizationWrites(stepper(0));
  return [
    ...(organization === null ? [] : [writes.addOrganization(organization)]),
    ...(user === null ? [] : [writes.addPerson(user)]),
  ];
}

function projectSteps(options: MakerOptions, { stored, leaves, keys }: NewProject, no: number): Step[] {
  const to = stepper(no);
  return [
    ...logSteps(options, { no, project: stored.project, leaves }),
    profileWrites(to).addProfile(stored),
    ...keys.map((key) => keyWrites(to).addApiKey(key)),
  ];
}

const keepAnswer = insertOne(keptTable);

/** Stores the response in the caller's project, which this transaction may create. */
function answerSteps(
  { idempotency, projects }: NewTenant,
  { numbers, caller, atMs }: { numbers: readonly number[]; caller: number | null; atMs: number },
): Step[] {
  if (idempotency === undefined) return [];
  const { projectId, key, fingerprint } = idempotency;
  const { status, headers, body }: StoredResponse = answerOf(idempotency.response, []);
  const made = projects.findIndex(({ stored }) => stored.project.projectId === projectId);
  const project = caller ?? numbers[made] ?? 0;
  const answer = { key, fingerprint, atMs, status, headers: JSON.stringify(headers), body };
  return [scoped({ project }), stepper(project)(keepAnswer, answer)];
}
