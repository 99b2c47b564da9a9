/** fsck tells erased fields from missing ones: a body that lost anything without an erasure is found. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { appended, event, request } from '../support/fixture.ts';
import { digestsOf, erasing } from '../support/erasing.ts';
import { TestPlane } from '../support/plane.ts';

const planes: TestPlane[] = [];
let original: TestPlane;
/** Leaves 5 and 6 lost fields, one of them some, one all; leaf 7 nothing. `leaf`: the erasure. */
let leaf = 0;
/** The body of leaf 5 as it was. */
let before = '';

beforeAll(async () => {
  original = await new TestPlane().filled(20);
  const store = original.open();
  before = (await store.leaf('prj_a', 5))!.disclosures!;
  const digests = async (index: number) => digestsOf((await store.leaf('prj_a', index))!);
  const some = [(await digests(5)).get('/action')!, (await digests(5)).get('/clientEventId')!];
  const targets = [
    { index: 5, digests: some },
    { index: 6, digests: [...(await digests(6)).values()] },
  ];
  const [erasure] = await appended(store, erasing(targets));
  leaf = erasure!.index;
  await appended(store, request([event()]));
  await store.close();
});
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});
afterAll(() => original.drop());

function erased(): TestPlane {
  const plane = original.copy();
  planes.push(plane);
  return plane;
}

const found = async (plane: TestPlane, deep = true): Promise<string[]> =>
  (await plane.fsck(deep)).problems.map(({ position, kind }) => `${position} ${kind}`);

describe('fsck of a log with erasures', () => {
  it('fsck finds no problem in a log with erasures', async () => {
    expect(await found(erased())).toEqual([]);
    expect(await found(erased(), false)).toEqual([]);
  });

  it('erased values are gone from all files, also while the store is open', async () => {
    const plane = await new TestPlane().filled(10);
    planes.push(plane);
    const store = plane.open();
    const secret = 'a secret that nobody may find again';
    const [made] = await appended(store, request([event({ metadata: { secret } })]));
    const digests = [...digestsOf((await store.leaf('prj_a', made!.index))!).values()];
    expect(plane.holds(secret)).not.toEqual([]);
    await appended(store, erasing([{ index: made!.index, digests }]));
    expect(plane.holds(secret)).toEqual([]);
    await store.close();
    expect(plane.holds(secret)).toEqual([]);
  });

  it.each([
    [
      'a body removed without an erasure',
      "UPDATE body SET disclosures = '[]' WHERE idx = 7",
      ['prj_a/audit/7 body_missing'],
    ],
    [
      'a body removed without an erasure that names one',
      `UPDATE body SET disclosures = '[]', erased = '[[3]]' WHERE idx = 7`,
      ['prj_a/audit/7 erasure_mismatch'],
    ],
    [
      'a body removed that names an erasure of others',
      () => `UPDATE body SET disclosures = '[]', erased = '[[${leaf}]]' WHERE idx = 7`,
      ['prj_a/audit/7 erasure_mismatch'],
    ],
    [
      'more removed than was erased',
      "UPDATE body SET disclosures = '[]' WHERE idx = 5",
      ['prj_a/audit/5 body_missing'],
    ],
    [
      'more removed than was erased, all under its name',
      () => `UPDATE body SET disclosures = '[]', erased = '[[${leaf}]]' WHERE idx = 5`,
      ['prj_a/audit/5 erasure_mismatch'],
    ],
    [
      'an erased body whose row is gone',
      'DELETE FROM body WHERE idx = 6',
      ['prj_a/audit/6 body_missing', 'prj_a/audit/21 erasure_mismatch'],
    ],
    [
      'an erased body that does not say so',
      'UPDATE body SET erased = NULL WHERE idx = 6',
      ['prj_a/audit/6 body_missing', 'prj_a/audit/21 erasure_mismatch'],
    ],
    [
      'a whole body that names none',
      "UPDATE body SET erased = '[]' WHERE idx = 7",
      ['prj_a/audit/7 erasure_mismatch'],
    ],
    [
      'a whole body that names one',
      "UPDATE body SET erased = '[[3]]' WHERE idx = 7",
      ['prj_a/audit/7 erasure_mismatch'],
    ],
    [
      'an erased body that names another erasure too',
      "UPDATE body SET erased = json_insert(erased, '$[#]', json('[3]')) WHERE idx = 5",
      ['prj_a/audit/5 erasure_mismatch'],
    ],
    [
      'an erasure that is gone',
      () => `DELETE FROM leaf WHERE idx = ${leaf}`,
      [
        'prj_a/audit/21 record_missing',
        'prj_a/audit/5 erasure_mismatch',
        'prj_a/audit/6 erasure_mismatch',
        'prj_a/decided index_mismatch',
      ],
    ],
    [
      'an erasure that cannot be found by its id',
      'DELETE FROM decided WHERE type = 8',
      ['prj_a/audit/21 index_mismatch', 'prj_a/decided index_mismatch'],
    ],
  ])('fsck reports %s', async (_, change, expected) => {
    const plane = erased();
    plane.sql(typeof change === 'string' ? change : change());
    expect((await found(plane)).sort()).toEqual([...expected].sort());
  });

  it('fsck reports an erased value that was restored from a copy', async () => {
    const plane = erased();
    plane.sql(`UPDATE body SET disclosures = '${before}' WHERE idx = 5`);
    expect(await found(plane)).toEqual(['prj_a/audit/21 erasure_mismatch']);
  });
});

describe('the triggers on bodies', () => {
  it.each([
    "UPDATE body SET disclosures = '[]' WHERE idx = 7",
    "UPDATE body SET erased = '[[21]]' WHERE idx = 7",
    "UPDATE body SET disclosures = '[]' WHERE idx = 5",
    'UPDATE body SET position = position + 100 WHERE idx = 7',
    'DELETE FROM body WHERE idx = 6',
    "DELETE FROM client_event WHERE client_event_id = 'c7'",
    "UPDATE client_event SET idx = 1 WHERE client_event_id = 'c7'",
  ])('the triggers on bodies refuse %s', (statement) => {
    expect(() => erased().guarded(statement)).toThrow(/append-only|only loses/);
  });
});
