/** Policies and their versions, by revision; what is in force, of one moment; the risk router's configuration. */
import { describe, expect, it } from 'vitest';
import type { AppendRequest, Expectations, Store } from '../../../../src/store/port/store.ts';
import { codeOf, event, genesis, projectOf, request, startMs, stored } from '../../support/fixture.ts';
import {
  addVersion,
  configure,
  createPolicy,
  movePolicy,
  policy,
  policyLeaf,
  unmetered,
  version,
} from '../../support/governance.ts';
import { open } from '../../support/engine.ts';

async function does(store: Store, ...requests: AppendRequest[]): Promise<void> {
  for (const each of requests) await stored(store, each);
}

describe('a policy', () => {
  it('a policy is created with its first version and read back whole', async () => {
    const { store, reopen, drop } = await open();
    const made = policy('1', { description: 'why', name: 'größer 🚀' });
    await does(store, createPolicy('1', { more: made, of: { severity: null } }));
    const again = await reopen();
    expect(await again.policy('prj_a', 'pol_1')).toEqual(made);
    expect(await again.policyVersion('prj_a', 'pol_1', 1)).toEqual(version('1', 1, { severity: null }));
    expect(await again.policy('prj_a', 'pol_none')).toBeNull();
    expect(await again.policyVersion('prj_a', 'pol_1', 2)).toBeNull();
    expect(await again.policyVersion('prj_a', 'pol_none', 1)).toBeNull();
    await drop();
  });

  it('a policy accepts versions numbered by a service in any order, each once', async () => {
    const { store, drop } = await open();
    const elsewhere = (number: number, revision: number): AppendRequest => {
      const request = addVersion('1', number, revision);
      const counted = { counted: 'elsewhere' } as const;
      return { ...request, effects: request.effects!.map((each) => ({ ...each, ...counted })) as never };
    };
    await does(store, createPolicy('1'), elsewhere(7, 1), elsewhere(4, 2));
    expect(await store.policy('prj_a', 'pol_1')).toMatchObject({ latestVersion: 7, revision: 3 });
    expect(await codeOf(store.append(elsewhere(4, 3)))).toBe('CONFLICT');
    expect(await codeOf(store.append(elsewhere(9, 2)))).toBe('CONFLICT');
    await does(store, movePolicy('1', 'active', { revision: 3, active: 4 }));
    expect(await store.policyVersions('prj_a', 'pol_1', { limit: 9 })).toMatchObject([
      { version: 7, published: false },
      { version: 4, published: true },
      { version: 1, published: false },
    ]);
    // the next that is counted here follows the newest
    await does(store, addVersion('1', 8, 4));
    await drop();
  });

  it('each new version and each move raises the revision of a policy and sets its time', async () => {
    const { store, drop } = await open();
    await does(
      store,
      createPolicy('1'),
      addVersion('1', 2, 1),
      movePolicy('1', 'active', { revision: 2, active: 2, atMs: startMs + 50 }),
    );
    expect(await store.policy('prj_a', 'pol_1')).toEqual(
      policy('1', {
        status: 'active',
        activeVersion: 2,
        lastActiveVersion: 2,
        latestVersion: 2,
        revision: 3,
        updatedMs: startMs + 50,
      }),
    );
    await does(store, movePolicy('1', 'disabled', { revision: 3, active: 2, atMs: startMs + 60 }));
    expect(await store.policy('prj_a', 'pol_1')).toMatchObject({
      status: 'disabled',
      activeVersion: null,
      lastActiveVersion: 2,
      revision: 4,
      updatedMs: startMs + 60,
    });
    const published = async (number: number) =>
      (await store.policyVersion('prj_a', 'pol_1', number))?.published;
    expect([await published(1), await published(2)]).toEqual([false, true]);
    await does(store, movePolicy('1', 'active', { revision: 4, active: 2 }));
    expect(await published(2)).toBe(true);
    await drop();
  });

  const stale = 'expected revision 1 of policy pol_1, got revision 2: somebody changed it meanwhile';
  it.each<[string, AppendRequest, string, string]>([
    ['made twice', createPolicy('1'), 'CONFLICT', 'expected a new policy id, got pol_1, which exists'],
    ['given a version on an old revision', addVersion('1', 3, 1), 'CONFLICT', stale],
    ['moved on an old revision', movePolicy('1', 'active', { revision: 1 }), 'CONFLICT', stale],
    [
      'moved on a revision to come',
      movePolicy('1', 'active', { revision: 3 }),
      'CONFLICT',
      'expected revision 3 of policy pol_1, got revision 2',
    ],
    [
      'given a version though unknown',
      addVersion('9', 2, 1),
      'NOT_FOUND',
      'expected a policy of this project, got pol_9',
    ],
    [
      'moved though unknown',
      movePolicy('9', 'active', { revision: 1 }),
      'NOT_FOUND',
      'expected a policy of this project, got pol_9',
    ],
    ['given a version with a gap', addVersion('1', 4, 2), 'INTERNAL', 'could not be stored'],
    [
      'moved to a version it has not',
      movePolicy('1', 'active', { revision: 2, active: 7 }),
      'INTERNAL',
      'stored',
    ],
  ])('a policy is not %s, and the refused request leaves nothing', async (_, refused, code, message) => {
    const { store, reopen, drop } = await open();
    await does(store, createPolicy('1'), addVersion('1', 2, 1));
    const { policyIndex } = await store.policiesInForce('prj_a');
    const before = [await store.head('prj_a', 'audit'), await store.policy('prj_a', 'pol_1')];
    await expect(store.append(refused)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message) as string,
    });
    const again = await reopen();
    expect([await again.head('prj_a', 'audit'), await again.policy('prj_a', 'pol_1')]).toEqual(before);
    expect(await again.policyVersions('prj_a', 'pol_1', { limit: 9 })).toHaveLength(2);
    expect(await again.policiesInForce('prj_a')).toEqual({ policies: [], policyIndex });
    await drop();
  });

  it('one of two changes that read the same revision of a policy succeeds', async () => {
    const { store, drop } = await open();
    await does(store, createPolicy('1'));
    const results = await Promise.allSettled([
      store.append(movePolicy('1', 'active', { revision: 1 })),
      store.append(movePolicy('1', 'archived', { revision: 1 })),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(await store.policy('prj_a', 'pol_1')).toMatchObject({ status: 'active', revision: 2 });
    await drop();
  });

  it('a policy is invisible and unchangeable for another project, which may use the same id', async () => {
    const { store, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    await does(store, createPolicy('1'), movePolicy('1', 'active', { revision: 1 }));
    expect(await store.policy('prj_b', 'pol_1')).toBeNull();
    expect(await store.policyVersion('prj_b', 'pol_1', 1)).toBeNull();
    expect(await store.policies('prj_b', {}, { limit: 9 })).toEqual([]);
    expect(await store.policyVersions('prj_b', 'pol_1', { limit: 9 })).toEqual([]);
    expect(await store.policiesInForce('prj_b')).toEqual({ policies: [], policyIndex: null });
    const inB = { projectId: 'prj_b' };
    expect(await codeOf(store.append({ ...movePolicy('1', 'archived', { revision: 2 }), ...inB }))).toBe(
      'NOT_FOUND',
    );
    await does(store, { ...createPolicy('1'), ...inB });
    expect(await store.policy('prj_a', 'pol_1')).toMatchObject({ status: 'active' });
    expect(await store.policy('prj_b', 'pol_1')).toMatchObject({ status: 'draft' });
    await drop();
  });
});

describe('policies', () => {
  it('policies are listed newest first, by status, in pages, and their versions by number', async () => {
    const { store, drop } = await open();
    for (const n of [3, 1, 2, 5, 4]) {
      await does(store, createPolicy(`${n}`, { more: { createdMs: startMs + (n >> 1) } }));
    }
    await does(store, movePolicy('2', 'review', { revision: 1 }), movePolicy('4', 'review', { revision: 1 }));
    const list = async (filter: Parameters<Store['policies']>[1], after?: { ms: number; id: string }) =>
      (await store.policies('prj_a', filter, { ...(after === undefined ? {} : { after }), limit: 3 })).map(
        ({ policyId }) => policyId,
      );
    expect(await list({})).toEqual(['pol_5', 'pol_4', 'pol_3']);
    expect(await list({}, { ms: startMs + 1, id: 'pol_3' })).toEqual(['pol_2', 'pol_1']);
    expect(await list({ status: 'review' })).toEqual(['pol_4', 'pol_2']);
    expect(await list({ status: 'review' }, { ms: startMs + 2, id: 'pol_4' })).toEqual(['pol_2']);
    expect(await list({ status: 'active' })).toEqual([]);
    for (let number = 2; number <= 5; number += 1) await does(store, addVersion('1', number, number - 1));
    const numbers = async (after?: number) =>
      (
        await store.policyVersions('prj_a', 'pol_1', { ...(after === undefined ? {} : { after }), limit: 3 })
      ).map((each) => each.version);
    expect([await numbers(), await numbers(3), await numbers(1)]).toEqual([[5, 4, 3], [2, 1], []]);
    await drop();
  });

  it('policies in force or in review are read at one moment, sorted by id, with their version', async () => {
    const { store, reopen, drop } = await open();
    expect(await store.policiesInForce('prj_a')).toEqual({ policies: [], policyIndex: null });
    await does(store, createPolicy('b'), createPolicy('a'), createPolicy('r'), addVersion('r', 2, 1));
    await does(store, movePolicy('b', 'active', { revision: 1 }), movePolicy('a', 'active', { revision: 1 }));
    await does(store, addVersion('a', 2, 2), movePolicy('r', 'review', { revision: 2 }));
    const again = await reopen();
    const { size } = await again.head('prj_a', 'audit');
    expect(await again.policiesInForce('prj_a')).toEqual({
      policies: ['a', 'b'].map((id) => ({ ...version(id, 1, { published: true }), name: `policy ${id}` })),
      policyIndex: size - 1,
    });
    expect(await again.policiesInReview('prj_a')).toEqual([{ ...version('r', 2), name: 'policy r' }]);
    await does(
      again,
      movePolicy('a', 'disabled', { revision: 3 }),
      movePolicy('r', 'archived', { revision: 3 }),
    );
    const { policies } = await again.policiesInForce('prj_a');
    expect(policies.map(({ policyId }) => policyId)).toEqual(['pol_b']);
    expect(await again.policiesInReview('prj_a')).toEqual([]);
    await drop();
  });
});

describe('a request decided by the policies in force', () => {
  it('a request is outdated when the newest policy leaf has changed, also within one commit', async () => {
    const { store, reopen, drop } = await open();
    const decided = (policyIndex: number | null) => request([event()], { expect: { policyIndex } });
    const outcomes = async (from: Store, ...indexes: (number | null)[]) =>
      (await Promise.all(indexes.map((index) => from.append(decided(index))))).map(({ outcome }) => outcome);
    expect(await outcomes(store, null, 0)).toEqual(['stored', 'outdated']);
    const { size } = await store.head('prj_a', 'audit');
    const [first, change, second, third] = await Promise.all([
      store.append(decided(null)),
      store.append(createPolicy('1')),
      store.append(decided(null)),
      store.append(decided(size + 1)),
    ]);
    expect([first, change, second, third].map(({ outcome }) => outcome)).toEqual([
      'stored',
      'stored',
      'outdated',
      'stored',
    ]);
    expect((await store.policiesInForce('prj_a')).policyIndex).toBe(size + 1);
    expect(await outcomes(store, null, size, size + 1)).toEqual(['outdated', 'outdated', 'stored']);
    expect(await outcomes(await reopen(), null, size, size + 1)).toEqual(['outdated', 'outdated', 'stored']);
    await drop();
  });

  it('a refused policy change does not outdate a request, and an outdated request leaves nothing', async () => {
    const { store, drop } = await open();
    const [refused, kept] = await Promise.allSettled([
      store.append(movePolicy('none', 'active', { revision: 1 })),
      store.append(request([event()], { expect: { policyIndex: null } })),
    ]);
    expect(refused.status).toBe('rejected');
    expect(kept).toMatchObject({ value: { outcome: 'stored' } });
    const { size } = await store.head('prj_a', 'audit');
    const outdated = unmetered([policyLeaf('1')], [{ kind: 'saveRiskConfig', config: '{}', atMs: 1 }], {
      expect: { policyIndex: 3 },
      idempotency: { key: 'k', fingerprint: 'f', response: { status: 200, body: '', headers: {} } },
    });
    expect(await store.append(outdated)).toEqual({ outcome: 'outdated' });
    expect((await store.head('prj_a', 'audit')).size).toBe(size);
    expect((await store.riskConfig('prj_a')).config).toBeNull();
    expect(await store.keptResponse('prj_a', 'k')).toBeNull();
    expect((await store.append({ ...outdated, expect: { policyIndex: null } })).outcome).toBe('stored');
    await drop();
  });
});

describe('the configuration of the risk router', () => {
  it('the risk configuration is null before the first one, then the newest one of its project', async () => {
    const { store, reopen, drop } = await open();
    await store.createProject(projectOf('b'), genesis('b'));
    expect(await store.riskConfig('prj_a')).toEqual({ config: null, configIndex: null });
    await does(store, configure('{"one":1}'), request([event()]), configure('{"two":2}'));
    const again = await reopen();
    expect(await again.riskConfig('prj_a')).toEqual({ config: '{"two":2}', configIndex: 3 });
    expect(await again.riskConfig('prj_b')).toEqual({ config: null, configIndex: null });
    await drop();
  });

  it('a new risk configuration outdates only the requests decided by the one before it', async () => {
    const { store, reopen, drop } = await open();
    const decided = (expected: Expectations) => request([event()], { expect: expected });
    const outcomes = async (of: Store): Promise<string[]> => {
      const asked = [null, 1, 2].map((configIndex) => of.append(decided({ configIndex })));
      return (await Promise.all(asked)).map(({ outcome }) => outcome);
    };
    const [first, , second] = await Promise.all([
      store.append(decided({ configIndex: null, policyIndex: null })),
      store.append(configure('{}')),
      store.append(decided({ configIndex: null })),
    ]);
    expect([first.outcome, second.outcome]).toEqual(['stored', 'outdated']);
    expect((await store.riskConfig('prj_a')).configIndex).toBe(2);
    expect(await outcomes(store)).toEqual(['outdated', 'outdated', 'stored']);
    expect(await outcomes(await reopen())).toEqual(['outdated', 'outdated', 'stored']);
    await drop();
  });
});
