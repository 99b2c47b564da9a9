/**
 * Keys, projects and organizations that were changed below the service, on either engine: fsck derives each column from
 * the events of the log, and names what differs.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { formatTimestamp } from '../../../src/core/time.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { operate, restoreProject, setCustomer, setQuotas } from '../../../src/host/service/operator.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { positionBits as postgresBits } from '../../../src/store/postgres/schema/tables.ts';
import { positionBits as sqliteBits } from '../../../src/store/file/position.ts';
import { postgresBelow, sqliteBelow, type Below } from '../../support/below.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';

const dayMs = 24 * 3_600_000;

/** Ids of what was made. */
interface World {
  readonly orgId: string;
  readonly projectId: string;
  readonly revoked: string;
  readonly narrow: string;
  readonly changed: string;
  readonly rotated: string;
  readonly successor: string;
  readonly deleted: string;
  readonly restored: string;
}

async function must(tenant: Tenant, method: string, path: string, body?: unknown) {
  const answer = await tenant.call(method, path, body === undefined ? {} : { body });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.body;
}

/** Every change of keys, projects and organizations that there is. */
async function filled(service: TestService): Promise<World> {
  const acme = await service.signUp('acme', { organizationName: 'Acme \\ Sons' });
  await service.signUp('other');
  const key = async (body: object): Promise<string> =>
    (await must(acme, 'POST', '/api-keys', body)).record.keyId;
  const project = async (name: string): Promise<string> =>
    (await must(acme, 'POST', '/projects', { name, environment: 'production' })).id;

  const revoked = await key({ name: 'revoked' });
  await must(acme, 'DELETE', `/api-keys/${revoked}`);
  const narrow = await key({ name: 'narrow', description: 'a \\ b', scopes: ['log:read'] });
  const expiresAt = formatTimestamp(Date.now() + dayMs);
  const changed = await key({ name: 'before', scopes: ['*'], expiresAt });
  await must(acme, 'PUT', `/api-keys/${changed}`, { name: 'after', scopes: ['log:read', 'events:read'] });
  await must(acme, 'PUT', `/api-keys/${changed}`, { description: 'why', expiresAt: null });
  const rotated = await key({ name: 'rotated', scopes: ['log:read'], expiresAt });
  const { record } = await must(acme, 'POST', `/api-keys/${rotated}/rotate?overlapSeconds=600`);

  const deleted = await project('deleted');
  await must(acme, 'DELETE', `/projects/${deleted}`);
  const restored = await project('restored');
  await must(acme, 'PUT', `/projects/${restored}`, { name: 'named again' });
  await must(acme, 'DELETE', `/projects/${restored}`);
  const { projectId } = await must(acme, 'GET', '/auth/identity');
  const settings = { timezone: 'Europe/Zurich', webhookDefaults: { secret: 'a' }, quotaMode: 'block' };
  await must(acme, 'PUT', `/projects/${projectId}`, { name: 'Größe', settings });
  await must(acme, 'PUT', '/metering/thresholds', { percents: [10, 20] });
  await must(acme, 'PUT', '/billing/retention', { retentionDays: 3650, legalHold: true });
  await service.close();
  await operate({ dataDir: service.dataDir, env: {}, log: silentLog }, async (services) => {
    await restoreProject(services, restored);
    await setQuotas(services, projectId, { risk_decision: null, audit_event: 100 });
    await setQuotas(services, projectId, { compliance_proof: 5 });
    await setCustomer(services, acme.orgId, 'cus_0');
    await setCustomer(services, acme.orgId, 'cus_1');
  });
  return {
    orgId: acme.orgId,
    projectId,
    revoked,
    narrow,
    changed,
    rotated,
    successor: record.keyId,
    deleted,
    restored,
  };
}

type Case = readonly [
  what: string,
  statement: (world: World, digest: string) => string,
  expected: (world: World) => string[],
];

/** 32 bytes, as each engine writes them. */
const digestOn = { sqlite: `x'${'ab'.repeat(32)}'`, postgres: `'\\x${'ab'.repeat(32)}'::bytea` } as const;

const ghost = ({ narrow }: World, digest: string): string =>
  `INSERT INTO api_key SELECT project, 'key_ghost', ${digest}, prefix, last4, name, description, scopes, created_ms, created_by, updated_ms, last_used_ms, expires_ms, revoked_ms, rotated_from FROM api_key WHERE key_id = '${narrow}'`;

const ofKey = (keyId: keyof World) => (world: World) => [
  `${world.projectId}/api_key/${world[keyId]} key_mismatch`,
];
const key = (what: string, keyId: keyof World, change: string): Case => [
  what,
  (world) => `UPDATE api_key SET ${change} WHERE key_id = '${world[keyId]}'`,
  ofKey(keyId),
];
const project = (what: string, change: string, id: keyof World = 'projectId'): Case => [
  what,
  (world) =>
    `UPDATE project_profile SET ${change} WHERE project = (SELECT project FROM project WHERE project_id = '${world[id]}')`,
  (world) => [`${world[id]}/project project_mismatch`],
];
const organization = (what: string, change: string): Case => [
  what,
  ({ orgId }) => `UPDATE organization SET ${change} WHERE organization_id = '${orgId}'`,
  ({ orgId }) => [`organization/${orgId} organization_mismatch`],
];

/** On both engines. */
const gravest: readonly Case[] = [
  key('a revoked key that lives again', 'revoked', 'revoked_ms = NULL'),
  key('wider scopes', 'narrow', `scopes = '["*"]'`),
  ['a key that nobody made', ghost, ({ projectId }) => [`${projectId}/api_key/key_ghost key_mismatch`]],
  ['a key taken away', ({ narrow }) => `DELETE FROM api_key WHERE key_id = '${narrow}'`, ofKey('narrow')],
  [
    'another token of a key',
    ({ narrow }, digest) => `UPDATE api_key SET digest = ${digest} WHERE key_id = '${narrow}'`,
    ofKey('narrow'),
  ],
  key('another description of a key', 'narrow', 'description = NULL'),
  project('no legal hold', `settings = replace(settings, '"legalHold":true', '"legalHold":false')`),
  project('raised quotas', `quotas = replace(quotas, '100', '1000')`),
  project('another name', "name = 'other'"),
  project('a deleted project that lives again', 'deleted_ms = NULL', 'deleted'),
  organization('another customer', "customer_id = 'cus_2'"),
  organization('a home that is none', "home_production = 'prj_none'"),
];

/** The judge is one: on SQLite alone. */
const others: readonly Case[] = [
  key('a key that was revoked later', 'revoked', 'revoked_ms = revoked_ms + 1'),
  key('a rotated key without its end', 'rotated', 'revoked_ms = NULL'),
  key('a rotated key with a later end', 'rotated', 'revoked_ms = revoked_ms + 1'),
  key('a living key that was revoked', 'narrow', 'revoked_ms = 1'),
  key('the scopes before a change', 'changed', `scopes = '["*"]'`),
  key('wider scopes of a successor', 'successor', `scopes = '["*"]'`),
  key('a key without its end', 'successor', 'expires_ms = NULL'),
  key('a key with an end', 'changed', 'expires_ms = 1'),
  key('another name of a key', 'changed', "name = 'before'"),
  key('another maker of a key', 'narrow', "created_by = 'operator'"),
  key('another time of making of a key', 'narrow', 'created_ms = created_ms + 1'),
  key('another time of change of a key', 'narrow', 'updated_ms = updated_ms + 1'),
  key('another predecessor of a key', 'successor', 'rotated_from = NULL'),
  key('another prefix of a key', 'narrow', "prefix = 'gov_live_0000'"),
  key('other last characters of a key', 'narrow', "last4 = '0000'"),
  project('no settings', "settings = '{}'"),
  project('another default of webhooks', `settings = replace(settings, '"secret":"a"', '"secret":"b"')`),
  project('no quotas', "quotas = '{}'"),
  project('quotas that are no JSON', "quotas = 'x'"),
  project('another name to compare with', "name_key = 'other'"),
  project('another time of making', 'created_ms = created_ms + 1'),
  project('another time of change', 'updated_ms = updated_ms + 1'),
  project('another environment', "environment = 'sandbox'"),
  project('a project that was deleted', 'deleted_ms = 1'),
  project('a restored project that is deleted again', 'deleted_ms = 1', 'restored'),
  [
    'a project of another organization',
    ({ orgId, restored }) =>
      `UPDATE project_profile SET organization_id = (SELECT organization_id FROM organization WHERE organization_id <> '${orgId}') WHERE project = (SELECT project FROM project WHERE project_id = '${restored}')`,
    ({ restored }) => [`${restored}/project project_mismatch`],
  ],
  [
    'a project without its profile',
    ({ restored }) =>
      `DELETE FROM project_profile WHERE project = (SELECT project FROM project WHERE project_id = '${restored}')`,
    ({ restored }) => [`${restored}/project project_mismatch`],
  ],
  organization('the customer before', "customer_id = 'cus_0'"),
  organization('no customer', 'customer_id = NULL'),
  organization('another name of the organization', "name = 'other'"),
  organization('another age of the organization', 'created_ms = created_ms + 1'),
];

const tables = ['api_key', 'project_profile', 'body'] as const;

describe.each(engines)('rows of tenants on %s', (engine) => {
  let service: TestService;
  let below: Below;
  let world: World;
  beforeAll(async () => {
    service = await startService({ engine });
    world = await filled(service);
    below =
      service.database === null
        ? sqliteBelow(service.dataDir, world.projectId)
        : postgresBelow(service.database.superuser, world.projectId);
    for (const table of [...tables, 'organization']) {
      await below.sql(`CREATE TABLE kept_${table} AS SELECT * FROM ${table}`);
    }
  }, 60_000);
  afterAll(() => service.end());
  afterEach(async () => {
    for (const table of tables) {
      await below.sql(`DELETE FROM ${table}`);
      const columns = table === 'body' ? ' (position, disclosures)' : '';
      const values = table === 'body' ? 'position, disclosures' : '*';
      await below.sql(`INSERT INTO ${table}${columns} SELECT ${values} FROM kept_${table}`);
    }
    const was = (column: string): string =>
      `${column} = (SELECT k.${column} FROM kept_organization k WHERE k.organization_id = organization.organization_id)`;
    await below.sql(
      `UPDATE organization SET ${['name', 'customer_id', 'home_production', 'created_ms'].map(was).join(', ')}`,
    );
  });

  /** Without the copies above, which fsck rightly reports as foreign tables. */
  const problems = async (deep = false) => {
    const all = (await fsck({ dataDir: service.dataDir, env: {}, deep })).problems;
    return all.filter(({ position }) => !position.startsWith('gov.db/table kept_'));
  };
  const told = async (): Promise<string[]> =>
    (await problems()).map(({ position, kind }) => `${position} ${kind}`);

  it('the rows of tenants agree with the log after every kind of change', async () => {
    expect(await problems(true)).toEqual([]);
  });

  it('fsck names the differing members of a tenant row, and never a secret', async () => {
    const { narrow } = world;
    await below.sql(`UPDATE api_key SET scopes = '["*"]', expires_ms = 1 WHERE key_id = '${narrow}'`);
    expect(await problems()).toEqual([
      {
        position: `${world.projectId}/api_key/${narrow}`,
        kind: 'key_mismatch',
        expected: 'scopes ["log:read"], expires_ms null',
        got: 'scopes ["*"], expires_ms 1',
      },
    ]);
  });

  it('fsck ignores the last use of a key, which no event records', async () => {
    await below.sql('UPDATE api_key SET last_used_ms = 1');
    expect(await problems()).toEqual([]);
  });

  it.each(engine === 'sqlite' ? [...gravest, ...others] : gravest)(
    'fsck reports changed tenant rows: %s',
    async (_, statement, expected) => {
      await below.sql(statement(world, digestOn[engine]));
      expect(await told()).toEqual(expected(world));
    },
  );

  describe('of which an event was erased', () => {
    /** The body of the newest event of this type; answers where it stands. */
    const erase = async (eventType: string, how: (where: string) => string): Promise<string> => {
      const rows = await below.sql(
        `SELECT position FROM leaf WHERE record LIKE '%"eventType":"${eventType}"%' ORDER BY position`,
      );
      const { position } = rows.at(-1) as { position: number };
      await below.sql(how(`position = ${position}`));
      const indexes = engine === 'sqlite' ? sqliteBits : postgresBits;
      return `${world.projectId}/audit/${position % 2 ** indexes}`;
    };
    const gone = (where: string): string => `DELETE FROM body WHERE ${where}`;
    const emptied = (where: string): string => `UPDATE body SET disclosures = '[]' WHERE ${where}`;

    it('fsck cannot check what an erased event changed, and checks all other members', async () => {
      const at = await erase('api_key.revoked', gone);
      const both = [`${at} body_missing`, `${at} not_checkable`];
      expect(await told()).toEqual(both);
      await below.sql(`UPDATE api_key SET revoked_ms = NULL WHERE key_id = '${world.revoked}'`);
      expect(await told()).toEqual(both);
      await below.sql(`UPDATE api_key SET scopes = '["*"]' WHERE key_id = '${world.narrow}'`);
      expect(await told()).toEqual([...both, ...ofKey('narrow')(world)]);
    });

    it('fsck reports a body with less than was logged, also without --deep', async () => {
      const at = await erase('retention.changed', emptied);
      expect(await told()).toEqual([`${at} not_checkable`]);
    });

    it('fsck accepts one key that an erased event may have made, and not two', async () => {
      const at = await erase('api_key.rotated', emptied);
      expect(await told()).toEqual([`${at} not_checkable`]);
      await below.sql(ghost(world, digestOn[engine]));
      const untold = ['key_ghost', world.successor].map(
        (id) => `${world.projectId}/api_key/${id} key_mismatch`,
      );
      expect(new Set(await told())).toEqual(new Set([`${at} not_checkable`, ...untold]));
    });

    it('fsck does not blame an organization for an erased event', async () => {
      const at = await erase('billing.customer_changed', emptied);
      await below.sql("UPDATE organization SET customer_id = 'cus_0'");
      expect(await told()).toContain(`${at} not_checkable`);
      expect(await told()).not.toContain(`organization/${world.orgId} organization_mismatch`);
    });
  });
});
