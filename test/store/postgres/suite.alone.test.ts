/** The store suite on PostgreSQL. */
import { afterAll } from 'vitest';
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { genesis, HandClock, projectOf, seededBytes } from '../support/fixture.ts';
import { missing, server } from './support/described.ts';
import { storeSuite } from '../suite/all.ts';

if (missing === null) {
  // while a test runs, the database of the next one is made, and that of the last one is dropped
  let next = server.database();
  let dropped = Promise.resolve();
  afterAll(async () => {
    await dropped;
    await (await next).drop();
  });
  await storeSuite(async () => {
    const made = next;
    next = server.database();
    const database = await made;
    const clock = new HandClock();
    const randomBytes = seededBytes('store');
    const open = () => openPostgres({ url: database.serving, clock, randomBytes });
    let store = await open();
    await store.createProject(projectOf('a'), genesis('a'));
    return {
      store,
      clock,
      reopen: async () => {
        await store.close();
        return (store = await open());
      },
      drop: async () => {
        await store.close();
        await dropped;
        dropped = database.drop();
      },
    };
  });
}
