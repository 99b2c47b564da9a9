/** The limits of policies, reached by rows that are put below the store. */
import { afterEach, describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { stored } from '../../support/fixture.ts';
import { addVersion, createPolicy, movePolicy, unmetered } from '../../support/governance.ts';
import { TestPlane } from '../../support/plane.ts';

const planes: TestPlane[] = [];
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});

/** Policies `pol_1` (active) and `pol_2` (draft), after `statements`. */
async function opened(statements: string) {
  const plane = await new TestPlane().filled(10);
  planes.push(plane);
  const store = plane.open();
  await stored(store, createPolicy('1'));
  await stored(store, createPolicy('2'));
  await stored(store, movePolicy('1', 'active', { revision: 1 }));
  await store.close();
  plane.sql(statements);
  return plane.open();
}

const column = (name: string, value: string): string =>
  `UPDATE policy SET ${name} = ${value} WHERE policy_id = 'pol_2'`;

describe('the limits of policies', () => {
  it.each([
    [limits.policyVersions - 1, 'stored'],
    [limits.policyVersions, 'CONFLICT'],
  ])('a policy of %i versions gets one more version: %s', async (latest, expected) => {
    const store = await opened(column('latest_version', `${latest}`));
    const result = store.append(addVersion('2', latest + 1, 1)).then(
      ({ outcome }) => outcome,
      (error: { code: string }) => error.code,
    );
    expect(await result).toBe(expected);
    await store.close();
  });

  it.each([
    [limits.policiesActive - 1, 'stored'],
    [limits.policiesActive, 'CONFLICT'],
  ])(
    'a policy beside %i active ones becomes active: %s; an active one may change its version',
    async (active, expected) => {
      const store = await opened(
        `CREATE TEMP TABLE more AS WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${active})
         SELECT i, policy.* FROM n, policy WHERE policy_id = 'pol_1';
       UPDATE more SET policy_id = 'pol_x' || i, status = 'active', active_version = 1;
       ALTER TABLE more DROP COLUMN i;
       INSERT INTO policy SELECT * FROM more;
       CREATE TEMP TABLE versions AS SELECT more.policy_id AS of, v.* FROM more, policy_version v
         WHERE v.policy_id = 'pol_1';
       UPDATE versions SET policy_id = of, published = 1;
       ALTER TABLE versions DROP COLUMN of;
       INSERT INTO policy_version SELECT * FROM versions`,
      );
      expect((await store.policiesInForce('prj_a')).policies).toHaveLength(active);
      const result = store.append(movePolicy('2', 'active', { revision: 1 })).then(
        ({ outcome }) => outcome,
        (error: { code: string }) => error.code,
      );
      expect(await result).toBe(expected);
      await stored(store, addVersion('1', 2, 2));
      await stored(store, movePolicy('1', 'active', { revision: 3, active: 2 }));
      await stored(store, unmetered([]));
      await store.close();
    },
  );
});
