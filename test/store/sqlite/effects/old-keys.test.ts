/**
 * Keys of subjects beside a log that is older or newer than they are: what is destroyed stays so whichever copy is put back,
 * and nothing is said to be destroyed that is not to be.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { storeFiles } from '../../../../src/store/file/paths.ts';
import { appended, codeOf, request, stored } from '../../support/fixture.ts';
import { allAbout, ending, erasing } from '../../support/erasing.ts';
import type { TestPlane } from '../../support/plane.ts';
import {
  about,
  ann,
  beside,
  bob,
  check,
  dropPlanes,
  eraseAll,
  filesWith,
  keysIn,
  kinds,
  masterKey,
  planes,
  recorded,
  secret,
  textOf,
} from '../../support/subjects.ts';

dropPlanes();

/** A plane, which is stopped, and a copy of it from before all about Ann was erased. */
async function erasedSince(): Promise<{ readonly plane: TestPlane; readonly older: TestPlane }> {
  const { plane, store } = await recorded();
  await store.close();
  const older = plane.copy();
  planes.push(older);
  const newer = plane.open({ masterKey });
  await eraseAll(newer, ann);
  await newer.close();
  return { plane, older };
}

describe('an older log beside newer keys', () => {
  it('fsck reports the destroyed bodies of an older log until they are erased there as well', async () => {
    const { plane, older } = await erasedSince();
    const mixed = beside(older, plane);
    expect(await kinds(mixed)).toEqual(['body_missing', 'body_missing']);
    const old = mixed.open({ masterKey });
    await eraseAll(old, ann);
    expect(await old.leaf('prj_a', 1)).not.toHaveProperty('isGone');
    await old.close();
    expect(await kinds(mixed)).toEqual([]);
  });

  it('the next start destroys the keys again when older keys were put beside a newer log', async () => {
    const { plane, older } = await erasedSince();
    const mixed = beside(plane, older);
    const [ofAnn] = keysIn(mixed);
    expect(ofAnn!.secret.equals(Buffer.alloc(32))).toBe(false);
    expect(await kinds(mixed)).toEqual(['erasure_mismatch']);
    await mixed.open({ masterKey }).close();
    expect(filesWith(mixed, ofAnn!.secret)).toEqual([]);
    expect(await kinds(mixed)).toEqual([]);
  });

  it('the store does not open without its key file or with the key file of another log', async () => {
    const { plane, store } = await recorded();
    await store.close();
    const { plane: other, store: another } = await recorded();
    await another.close();
    const open = async (of: TestPlane) => of.open({ masterKey }).close();
    expect(await codeOf(open(beside(plane, plane)))).toBe('none');
    expect(await codeOf(open(beside(plane, other)))).toBe('STORAGE_FAULT');
    const without = plane.copy();
    planes.push(without);
    rmSync(storeFiles(without.dataDir).subjects);
    expect(await codeOf(open(without))).toBe('STORAGE_FAULT');
    expect(existsSync(storeFiles(without.dataDir).subjects)).toBe(false);
    const report = await check(without);
    expect([report.problems, report.unopened]).toEqual([[], 3]);
  });
});

describe('older keys beside a newer log', () => {
  const [carl, dora] = ['c3'.repeat(16), 'd4'.repeat(16)];

  /** A log with a body about these subjects, whose keys are not in the file beside it; and the plane that has them. */
  async function mixedOf(subjects: readonly string[]) {
    const { plane, store } = await recorded();
    await store.close();
    const older = plane.copy();
    planes.push(older);
    const newer = plane.open({ masterKey });
    const [made] = await appended(newer, request([about(subjects)]));
    await newer.close();
    const mixed = beside(plane, older);
    return { newest: plane, mixed, index: made!.index, store: mixed.open({ masterKey }) };
  }

  /** Puts the newest keys beside the log: they are found out, and destroyed by the next start. */
  async function expectDestroyed(mixed: TestPlane, newest: TestPlane): Promise<void> {
    const restored = beside(mixed, newest);
    const lost = keysIn(newest).at(-1)!;
    expect(filesWith(restored, lost.secret)).not.toEqual([]);
    expect(new Set(await kinds(restored))).toEqual(new Set(['erasure_mismatch']));
    await restored.open({ masterKey }).close();
    expect(filesWith(restored, lost.secret)).toEqual([]);
    expect(await kinds(restored)).toEqual([]);
  }

  it('a key that was missing at its destruction is destroyed once it comes back', async () => {
    const { newest, mixed, store } = await mixedOf([carl]);
    await appended(store, request([about([carl], 'with another key')]));
    await eraseAll(store, carl);
    expect(await store.hasSubjectKey('prj_a', carl)).toBe(false);
    await store.close();
    expect(await kinds(mixed)).toEqual([]);
    await expectDestroyed(mixed, newest);
  });

  it('a returned key is destroyed even when earlier erasures without key removed its bodies', async () => {
    const { newest, mixed, index, store } = await mixedOf([carl]);
    const [gone] = await allAbout(store, carl);
    await stored(store, erasing([gone!]));
    expect(await store.leaf('prj_a', index)).toMatchObject({ disclosures: '[]' });
    expect(await store.leaf('prj_a', index)).not.toHaveProperty('isGone');
    await appended(store, request([about([carl], 'with another key')]));
    await stored(
      store,
      ending(
        carl,
        (await allAbout(store, carl)).filter((each) => each.index !== index),
      ),
    );
    await store.close();
    expect(await kinds(mixed)).toEqual([]);
    await expectDestroyed(mixed, newest);
  });

  it('an erasure is refused while it is unknown which missing key belongs to the subject', async () => {
    const { newest, mixed, store } = await mixedOf([carl, dora]);
    const [gone] = await allAbout(store, carl);
    await appended(store, request([about([carl], 'with another key')]));
    expect(await codeOf(store.append(ending(carl, await allAbout(store, carl))))).toBe('CONFLICT');
    await stored(store, erasing([gone!]));
    expect(await codeOf(store.append(ending(carl, await allAbout(store, carl))))).toBe('CONFLICT');
    await store.close();
    const restored = beside(mixed, newest);
    const again = restored.open({ masterKey });
    await eraseAll(again, carl);
    await again.close();
    expect(keysIn(restored).filter(({ secret: bytes }) => bytes.equals(Buffer.alloc(32)))).toHaveLength(1);
    expect(await kinds(restored)).toEqual([]);
  });
});

describe('a lost key file', () => {
  it('an empty key file starts new keys, and bodies under lost keys are missing until erased', async () => {
    const { plane, store } = await recorded();
    await store.close();
    const path = storeFiles(plane.dataDir).subjects;
    rmSync(path);
    writeFileSync(path, '');
    const { problems, unopened } = await check(plane);
    expect([problems, unopened]).toEqual([[], 3]);
    const again = plane.open({ masterKey });
    expect(await again.leaf('prj_a', 1)).toMatchObject({ disclosures: '[]', isGone: true });
    expect(await textOf(again, 4)).toContain(secret);
    const [made] = await appended(again, request([about([ann])]));
    expect(await textOf(again, made!.index)).toContain(secret);
    await eraseAll(again, ann);
    await again.close();
    expect(await kinds(plane)).toEqual(['body_missing']);
    const last = plane.open({ masterKey });
    await stored(last, erasing(await allAbout(last, bob)));
    await last.close();
    expect(await kinds(plane)).toEqual([]);
  });
});
