import { describe, expect, it } from 'vitest';
import { Database } from '../../../../src/store/postgres/connection/database.ts';

/** Nothing listens there. */
const url = 'postgres://gov@127.0.0.1:1/gov';

describe('reads of a database that does not answer', () => {
  const scope = { project: 1 };
  it.each<readonly [string, (database: Database) => Promise<unknown>]>([
    ['one round trip', (database) => database.read(scope, [])],
    ['one snapshot', (database) => database.readAtOnce(scope, [])],
    ['several round trips', (database) => database.moment(scope, (run) => run([]))],
  ])('a read in %s does not say that a request may have been stored', async (_what, read) => {
    const database = new Database({ url });
    await expect(read(database)).rejects.toMatchObject({
      code: 'STORAGE_FAULT',
      message: 'the database is unreachable; send the request again',
    });
    await database.close();
  });
});
