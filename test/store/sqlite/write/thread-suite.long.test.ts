/** The store suite on SQLite that writes in a thread, as planes and services do. */
import { openStore, type SqliteStore } from '../../../../src/store/sqlite/store.ts';
import { dropFolder, genesis, HandClock, newFolder, projectOf, seededBytes } from '../../support/fixture.ts';
import { storeSuite } from '../../suite/all.ts';

await storeSuite(async () => {
  const dataDir = newFolder();
  const clock = new HandClock();
  const randomBytes = seededBytes('store');
  const open = (): SqliteStore => openStore({ dataDir, clock, randomBytes, reserveBytes: 0, thread: true });
  let store = open();
  await store.createProject(projectOf('a'), genesis('a'));
  return {
    store,
    clock,
    reopen: async () => {
      await store.close();
      return (store = open());
    },
    drop: async () => {
      await store.close();
      dropFolder(dataDir);
    },
  };
});
