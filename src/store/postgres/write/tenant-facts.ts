/**
 * Facts for effects on tenants, looked up with the other facts of a commit (`facts.ts`). If an effect
 * concerns the organization, the transaction also enters its scope. Some effects also lock the organization's
 * row before anything else: changes of a project, leaves for a home, changes of a credential, and requests
 * made with one. The lock keeps two projects of an organization from taking one name. It fixes its homes and
 * credentials until COMMIT, and no two transactions wait for each other.
 * Source: PostgreSQL 18, chapter 13.3.2 (row-level locks).
 * Proven by `test/store/suite/tenancy/homes.ts`, `test/store/suite/tenancy/keys.ts` and
 * `test/store/postgres/callers.test.ts`.
 */
import { membershipOf, type LivingProject, type MembershipRow } from '../../rules/homes.ts';
import type { AppendRequest } from '../../port/store.ts';
import type { Effect } from '../../port/store.ts';
import { quotasOf, type ProfileRow } from '../../rules/tenant-row.ts';
import { nameKey } from '../../rules/tenants.ts';
import { textArray } from '../connection/arrays.ts';
import { callerLookups } from '../effects/caller.ts';
import type { Lookup } from './known.ts';
import type { Facts } from './known.ts';
import { noTelemetryFacts, telemetryLookups } from './plane-facts.ts';
import { read } from '../effects/texts.ts';
import { sql, step, type Step } from '../../read/queries.ts';
import type { TenantFacts } from './known.ts';

export const noTenantFacts = (): TenantFacts => ({
  unrevoked: 0,
  keys: new Map(),
  callers: new Map(),
  profile: null,
  names: new Set(),
  sessions: new Set(),
  membership: null,
  others: [],
  ...noTelemetryFacts(),
});

const enterOrganization = sql(
  `SELECT set_config('gov.organization', organization_id, true) FROM project WHERE project = $1`,
);
const lockOrganization = sql<MembershipRow>(
  `SELECT p.project_id, p.organization_id, p.environment, o.home_production, o.home_sandbox
   FROM project p JOIN organization o ON o.organization_id = p.organization_id WHERE p.project = $1
   FOR NO KEY UPDATE OF o`,
);
const livingBeside = sql<LivingProject>(
  `SELECT p.project_id AS "projectId", f.environment FROM project_profile f JOIN project p USING (project)
   WHERE f.organization_id = (SELECT organization_id FROM project WHERE project = $1) AND f.deleted_ms IS NULL
     AND f.project <> $1
   ORDER BY f.created_ms, p.project_id`,
);
const profileOf = sql<Pick<ProfileRow, 'name' | 'settings' | 'quotas' | 'deleted_ms'>>(
  'SELECT name, settings, quotas, deleted_ms FROM project_profile WHERE project = $1',
);
const namesakes = sql<{ name_key: string }>(
  `SELECT other.name_key FROM project_profile own JOIN project_profile other
     ON other.organization_id = own.organization_id AND other.environment = own.environment
       AND other.name_key = ANY($2::text[] || own.name_key) AND other.deleted_ms IS NULL
       AND other.project <> own.project
   WHERE own.project = $1`,
);
const unrevoked = sql<{ n: number }>(
  'SELECT count(*) AS n FROM api_key WHERE project = $1 AND revoked_ms IS NULL',
);
const keysOf = sql<{ key_id: string; revoked_ms: number | null; updated_ms: number }>(
  'SELECT key_id, revoked_ms, updated_ms FROM api_key WHERE project = $1 AND key_id = ANY($2::text[])',
);

const openSession = sql<{ digest: string }>(
  "SELECT encode(digest, 'hex') AS digest FROM session WHERE digest = $1 AND ended_ms IS NULL",
);

const locking: ReadonlySet<Effect['kind']> = new Set([
  'requireCaller',
  'changeApiKey',
  'revokeApiKey',
  'endSession',
  'changeProject',
  'setCustomer',
]);
const entering: ReadonlySet<Effect['kind']> = new Set(['openSession']);

/** Returns the steps before the lock on the heads: the scope of the organization, and the lock on its row. */
export function organizationLookups(project: number, requests: readonly AppendRequest[]): Lookup[] {
  const asked = (kinds: ReadonlySet<Effect['kind']>): boolean =>
    requests.some(({ effects = [] }) => effects.some(({ kind }) => kinds.has(kind)));
  const locks = asked(locking) || requests.some(({ toHome }) => toHome !== undefined);
  if (!locks && !asked(entering)) return [];
  const enter: Lookup = { step: step(enterOrganization, project), take: () => {} };
  if (!locks) return [enter];
  const take: Lookup['take'] = ([row], facts) => {
    if (row !== undefined) facts.membership = membershipOf(row as MembershipRow); // a row of this statement
  };
  return [enter, { step: step(lockOrganization, project), take }];
}

/** Returns the other look-ups that these effects need, in their order. */
export function tenantLookups(project: number, effects: readonly Effect[]): Lookup[] {
  const lookups: Lookup[] = [];
  const look = <Row>(wanted: Step<Row>, take: (row: Row, facts: Facts) => void): void => {
    lookups.push({
      step: wanted,
      take: (rows, facts) => {
        for (const row of rows) take(row as Row, facts); // rows of this statement
      },
    });
  };
  const changes = effects.filter((effect) => effect.kind === 'changeProject');
  if (changes.length > 0) {
    const names = changes.flatMap(({ name }) => (name === undefined ? [] : [nameKey(name)]));
    look(step(profileOf, project), takeProfile);
    look(step(namesakes, project, textArray(names)), ({ name_key: key }, facts) => facts.names.add(key));
    if (changes.some(({ deletedMs }) => deletedMs !== undefined)) {
      look(step(livingBeside, project), (row, { others }) => others.push(row));
    }
  }
  if (effects.some(({ kind }) => kind === 'saveApiKey' || kind === 'revokeApiKey'))
    look(step(unrevoked, project), ({ n }, facts) => (facts.unrevoked = n));
  const keys = effects.flatMap((effect) =>
    effect.kind === 'changeApiKey' || effect.kind === 'revokeApiKey' ? [effect.keyId] : [],
  );
  if (keys.length > 0) {
    look(
      step(keysOf, project, textArray(keys)),
      ({ key_id: keyId, revoked_ms: revokedMs, updated_ms: updatedMs }, facts) =>
        facts.keys.set(keyId, { revokedMs, updatedMs }),
    );
  }
  for (const effect of effects) {
    if (effect.kind !== 'endSession') continue;
    look(step(openSession, Buffer.from(effect.digest)), ({ digest }, facts) => facts.sessions.add(digest));
  }
  const asking = effects.flatMap((effect) => (effect.kind === 'requireCaller' ? [effect.credential] : []));
  for (const { step: wanted, take } of callerLookups(project, asking)) {
    lookups.push({ step: wanted, take: (rows, facts) => take(rows, facts.callers) });
  }
  return [...lookups, ...telemetryLookups(project, effects)];
}

function takeProfile(
  {
    name,
    settings,
    quotas,
    deleted_ms: deletedMs,
  }: Pick<ProfileRow, 'name' | 'settings' | 'quotas' | 'deleted_ms'>,
  facts: Facts,
): void {
  facts.profile = { name: read(name), settings, quotas: quotasOf(quotas), deletedMs };
}
