/**
 * Every statement that carries its tenant (`test/store/tenant-statements.alone.test.ts`) goes by a key or an index that leads with it:
 * its plan, made for any values by the role that serves, has no scan of a whole table.
 */
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { missing, server } from './support/described.ts';
import { fillTenants } from './support/filled.ts';
import { plannedStatements, strayed } from './support/plans.ts';

/** A walk over the 200 rows of one tenant costs about 1,000, one over the 60,000 of all some 3,000 or more. */
const dear = 2000;

describe.skipIf(missing !== null)('a statement', () => {
  it('each statement uses an index that starts with the tenant, whatever the values', async ({ skip }) => {
    const database = await server.database();
    const superuser = new Client({ connectionString: database.superuser });
    await superuser.connect();
    await fillTenants(superuser);
    await superuser.end();
    expect(plannedStatements().length).toBeGreaterThan(100);
    const found = await strayed(database.serving, dear);
    await database.drop();
    skip(found === null, 'PostgreSQL 16 makes generic plans');
    expect(found).toEqual([]);
  }, 180_000);
});
