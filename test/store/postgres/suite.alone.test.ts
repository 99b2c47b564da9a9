/** The store suite on PostgreSQL. */
import { openPostgres } from '../../../src/store/postgres/store.ts';
import { genesis, HandClock, projectOf, seededBytes } from '../support/fixture.ts';
import { missing, server } from './support/described.ts';
import { storeSuite } from '../suite/all.ts';

if (missing === null) {
  await storeSuite(async () => {
    const database = await server.database();
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
        await database.drop();
      },
    };
  });
}
