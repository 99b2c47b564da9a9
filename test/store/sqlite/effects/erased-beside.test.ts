/** What an erasure takes while a reader holds an older state: gone as soon as that reader is, though nothing more is written. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { storeFiles } from '../../../../src/store/file/paths.ts';
import { allAbout, ending } from '../../support/erasing.ts';
import { appended, event, genesis, projectOf, request, seededBytes, stored } from '../../support/fixture.ts';
import { TestPlane } from '../../support/plane.ts';

const ann = 'a1'.repeat(16);

it.each([false, true])('erased values and keys leave the write-ahead logs (thread: %s)', async (thread) => {
  const plane = new TestPlane();
  const store = plane.open({ masterKey: seededBytes('master')(32), thread });
  await store.createProject(projectOf('a'), genesis('a'));
  await appended(store, request([{ ...event(), subjects: [ann] }]));
  const { main, subjects } = storeFiles(plane.dataDir);
  const readers = [main, subjects].map((path) => new Database(path, { readonly: true }));
  for (const reader of readers) reader.exec('BEGIN; SELECT * FROM sqlite_schema');
  const key = readers[1]!.prepare<[], Buffer>('SELECT secret FROM subject_key').pluck().get()!;
  const filesWithKey = (): string[] =>
    readdirSync(plane.dataDir).filter((name) => readFileSync(join(plane.dataDir, name)).includes(key));

  await stored(store, ending(ann, await allAbout(store, ann)));
  expect(filesWithKey()).not.toEqual([]);
  for (const reader of readers) reader.close();
  await expect.poll(filesWithKey, { timeout: 30_000 }).toEqual([]);
  await expect.poll(() => statSync(`${main}-wal`).size, { timeout: 30_000 }).toBe(0);
  await store.close();
  plane.drop();
});
