/** Planes with sealed bodies about subjects, as tests of their keys make them, and what their files hold. */
import { copyFileSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach } from 'vitest';
import { fsckStore } from '../../../src/store/fsck/run.ts';
import type { Faults } from '../../../src/store/file/faults.ts';
import type { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { appended, event, genesis, projectOf, request, seededBytes, stored } from './fixture.ts';
import { allAbout, ending } from './erasing.ts';
import { TestPlane } from './plane.ts';

export const masterKey = seededBytes('master')(32);
export const [ann, bob] = ['a1'.repeat(16), 'b2'.repeat(16)];
export const secret = 'what nobody may read of a subject that was erased';
export const planes: TestPlane[] = [];
/** To be called by each file: drops them after each test. */
export const dropPlanes = (): void =>
  afterEach(() => {
    for (const plane of planes.splice(0)) plane.drop();
  });

export const about = (subjects: readonly string[], value = secret) => ({
  ...event({ metadata: { secret: value } }),
  subjects: [...subjects],
});

/** A plane with one event each about Ann, Bob, both and nobody, at the leaves 1 to 4. */
export async function recorded(more: { faults?: Faults; thread?: boolean } = {}) {
  const plane = new TestPlane();
  planes.push(plane);
  const store = plane.open({ masterKey, ...more });
  await store.createProject(projectOf('a'), genesis('a'));
  await appended(store, request([about([ann]), about([bob]), about([ann, bob]), about([])]));
  return { plane, store };
}

export const eraseAll = async (store: SqliteStore, subject: string) =>
  stored(store, ending(subject, await allAbout(store, subject)));

export const check = ({ dataDir }: TestPlane) => fsckStore({ dataDir, deep: true, masterKey });
export const kinds = async (plane: TestPlane) => (await check(plane)).problems.map(({ kind }) => kind);

interface KeyRow {
  readonly key_id: string;
  readonly subject: string;
  readonly secret: Buffer;
}

export function keysIn({ dataDir }: TestPlane): KeyRow[] {
  const db = new Database(storeFiles(dataDir).subjects, { readonly: true });
  try {
    return db.prepare<[], KeyRow>('SELECT * FROM subject_key ORDER BY no').all();
  } finally {
    db.close();
  }
}

/** Files below the directory that hold these bytes. */
export const filesWith = ({ dataDir }: TestPlane, bytes: Uint8Array): string[] =>
  readdirSync(dataDir).filter((name) => readFileSync(join(dataDir, name)).includes(Buffer.from(bytes)));

/** A plane with this log and those keys. */
export function beside(log: TestPlane, keys: TestPlane): TestPlane {
  const plane = log.copy();
  planes.push(plane);
  for (const name of readdirSync(plane.dataDir)) {
    if (name.startsWith('subjects.db')) rmSync(join(plane.dataDir, name));
  }
  copyFileSync(storeFiles(keys.dataDir).subjects, storeFiles(plane.dataDir).subjects);
  return plane;
}

export const textOf = async (store: SqliteStore, index: number) =>
  (await store.leaf('prj_a', index))!.disclosures;
