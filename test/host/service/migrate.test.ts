import { describe, expect, it } from 'vitest';
import { serviceMigrate } from '../../../src/host/service/migrate.ts';
import { newestVersion } from '../../../src/store/postgres/schema/tables.ts';
import { missing, server } from '../../store/postgres/support/described.ts';

describe('service migrate', () => {
  it('service migrate says what it needs when no database is named', async () => {
    await expect(serviceMigrate({ env: {} })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringMatching(/in --database or GOV_DATABASE; SQLite is migrated when/),
    });
    const database = 'postgres://owner:hush@127.0.0.1/gov';
    await expect(serviceMigrate({ database, env: {} })).rejects.toThrow(/^--database: expected no password/);
  });

  it.skipIf(missing !== null)(
    'service migrate reports what it did, and does nothing the second time',
    async () => {
      const database = await server.database();
      const made = { role: 'gov_test_serving', to: newestVersion, madeRole: false, roleMayLogIn: true };
      const options = { role: made.role, env: { GOV_DATABASE: database.owner } };
      expect(await serviceMigrate(options)).toEqual({ ...made, from: newestVersion });
      await database.drop();
    },
  );
});
