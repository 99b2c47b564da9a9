/** What a change applies to the sets in memory, against what a load finds, and that it loads nothing. */
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectOf, readPlaneFile } from '../../../src/host/data/config.ts';
import { openEvaluation } from '../../../src/core/decided/evaluation.ts';
import { openLeaf } from '../../../src/core/decided/leaf.ts';
import { policyHash } from '../../../src/core/policies/language/hash.ts';
import type { PolicyVersion } from '../../../src/core/policies/set/in-force.ts';
import type { StoredAppend } from '../../../src/service/log/append-result.ts';
import { PolicySets } from '../../../src/service/in-force/policies.ts';
import { openReader } from '../../../src/store/sqlite/store.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import type { ActivePolicy } from '../../../src/store/port/store.ts';
import { governing } from '../support/governed.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';

const version = (policyId: string, at: number): PolicyVersion => {
  const hashed = { policyId, version: at, action: 'deny', severity: null, condition: { a: at } } as const;
  return { name: policyId, ...hashed, policyHash: policyHash(hashed) };
};
const row = ({ condition, ...policy }: PolicyVersion): ActivePolicy => {
  const text = JSON.stringify(condition);
  const made = { createdMs: 0, createdBy: 'key', published: true, requireSignedApproval: false } as const;
  return { onIndeterminate: null, ...policy, ...made, condition: text, normalized: text };
};
const storedAt = (index: number): StoredAppend => ({
  outcome: 'stored',
  assigned: [{ outcome: 'appended', index, eventId: null, leafHash: null, runSeq: null, serverMs: 0 }],
  response: null,
  used: 0,
});

/** A store that counts how often all is read of it. */
function counting(policies: readonly ActivePolicy[], policyIndex: number) {
  const store = {
    loads: 0,
    policies,
    policyIndex,
    async policiesInForce() {
      store.loads++;
      return { policies: store.policies, policyIndex: store.policyIndex };
    },
    policiesInReview: async () => [],
  };
  return store;
}

describe('a change of this process', () => {
  it('a change by this process loads nothing, nor does an evaluation that it made outdated', async () => {
    const store = counting([row(version('a', 1)), row(version('b', 1))], 7);
    const sets = new PolicySets(store);
    const before = await sets.current('p');
    for (let at = 2; at < 50; at++) {
      const outdated = await sets.current('p');
      const appended = Promise.withResolvers<StoredAppend>();
      const changing = sets.change('p', { policyId: 'a', active: version('a', at) }, async (on) => {
        expect(on).toBe(outdated);
        return appended.promise;
      });
      // refused while the change is not known to be stored yet
      await nextTurn();
      const newer = sets.newer('p', outdated);
      setImmediate(() => appended.resolve(storedAt(at * 10)));
      await changing;
      expect((await newer).policyIndex).toBe(at * 10);
      expect((await newer).set.get('a')?.policy.version).toBe(at);
      expect((await newer).set.get('b')).toBe(before.set.get('b'));
    }
    expect(store.loads).toBe(1);
    expect(before.set.get('a')?.policy.version).toBe(1);
  });

  it('a change is judged again on the loaded set when another process changed a policy in the meantime', async () => {
    const store = counting([row(version('a', 1))], 7);
    const sets = new PolicySets(store);
    await sets.current('p');
    store.policies = [row(version('a', 1)), row(version('c', 1))];
    store.policyIndex = 9;
    const change = { policyId: 'a', active: version('a', 2) };
    const append = (on: { policyIndex: number | null } | null) =>
      Promise.resolve(on?.policyIndex === 9 ? storedAt(12) : ({ outcome: 'outdated' } as const));
    expect((await sets.change('p', change, append)) as unknown).toEqual({ outcome: 'outdated' });
    expect((await sets.change('p', change, append)) as unknown).toEqual(storedAt(12));
    const { set, policyIndex } = await sets.current('p');
    expect([policyIndex, ...set.versions().map(({ version }) => version)]).toEqual([12, 2, 1]);
    expect(store.loads).toBe(2);
  });

  it('a change that was not stored leaves the policies in force unchanged', async () => {
    const store = counting([row(version('a', 1))], 7);
    const sets = new PolicySets(store);
    const before = await sets.current('p');
    const refused = sets.change('p', { policyId: 'a', active: null }, () => Promise.reject(new Error('no')));
    await expect(refused).rejects.toThrow('no');
    expect(await sets.current('p')).toBe(before);
  });

  it('a change can repair a set that cannot be loaded', async () => {
    const broken = { ...row(version('a', 1)), normalized: '{"nonsense":[1,2]}' };
    const store = counting([broken], 7);
    const sets = new PolicySets(store);
    await expect(sets.current('p')).rejects.toThrow('a version 1 does not compile');
    await sets.change('p', { policyId: 'a', active: null }, async (on) => {
      expect(on).toBeNull();
      store.policies = [];
      store.policyIndex = 8;
      return storedAt(8);
    });
    expect((await sets.current('p')).set.size).toBe(0);
  });

  it('a change keeps the cached status of other idle policies', async () => {
    const sets = new PolicySets(counting([], 7));
    const { idle } = await sets.current('p');
    idle.set('a', { name: 'A', status: 'draft' }).set('b', { name: 'B', status: 'draft' });
    await sets.change('p', { policyId: 'a', active: version('a', 1) }, async () => storedAt(8));
    expect([...(await sets.current('p')).idle.keys()]).toEqual(['b']);
  });
});

describe('random changes over HTTP', () => {
  let plane: TestPlane;
  beforeAll(async () => {
    plane = await startPlane();
  });
  afterAll(() => plane.end());

  const ids = ['a', 'b', 'c', 'd'];
  const moves = [
    'publish',
    'version',
    'disabled',
    'archived',
    'draft',
    'review',
    'active',
    'rollback',
  ] as const;
  const conditions = [
    { 'tool.name': 'x' },
    { '>': [{ var: 'n' }, 2] },
    { exists: ['env'] },
    { user: 'root' },
  ];
  const contexts = [{}, { tool: { name: 'x' }, n: 3 }, { env: 'prod', user: 'root', n: 1 }];

  it('random changes over HTTP leave in memory what a load finds: set, index, hash, decisions, review, read-set', async () => {
    const { must } = governing(plane);
    const { projectId } = projectOf(readPlaneFile(join(plane.dataDir, 'plane.json')));
    const reader = openReader(storeFiles(plane.dataDir).main);
    const path = (id: string, rest: string): string => `/governance/policies/${id}/${rest}`;
    const proposed = (at: number) => ({
      condition: conditions[at % 4],
      action: at % 3 === 0 ? 'escalate' : at % 2 === 0 ? 'deny' : 'warn',
    });
    for (const policyId of ids) {
      await must('POST', '/governance/policies', { policyId, name: policyId, ...proposed(1) });
    }
    const change = fc.record({
      id: fc.constantFrom(...ids),
      move: fc.constantFrom(...moves),
      at: fc.nat(20),
    });
    let stored = 0;
    const step = async ({ id, move, at }: { id: string; move: string; at: number }): Promise<void> => {
      const [rest, body] =
        move === 'publish'
          ? ['publish', {}]
          : move === 'version'
            ? ['versions', proposed(at)]
            : move === 'rollback'
              ? ['rollback', { targetVersion: 1 + (at % 3) }]
              : ['transition', { targetStatus: move }];
      const { status } = await plane.call('POST', path(id, rest as string), { body });
      if (status < 300) stored++;
    };
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async (changes) => {
        for (const each of changes) await step(each);
        const fresh = await new PolicySets(reader).current(projectId);
        for (const context of contexts) {
          const said = await must('POST', '/governance/policy/evaluate', {
            runId: 'run',
            checkpoint: { context },
          });
          const again = fresh.set.decide({ context });
          expect(said.summary).toEqual(again.summary);
          expect(said.decisions.map((each: { reasoning: string }) => ({ ...each, reasoning: 0 }))).toEqual(
            again.decisions.map((each) => ({ ...each, reasoning: 0 })),
          );
        }
        const [newest] = await reader.leavesOf(
          projectId,
          { type: 'gov.evaluation/1' },
          { order: 'desc', limit: 1 },
        );
        const evaluation = openEvaluation(openLeaf(newest!));
        expect(evaluation.policyIndex).toBe(fresh.policyIndex);
        expect(evaluation.readSet ?? {}).toEqual(
          fresh.reads.paths.length === 0 ? {} : fresh.reads.retain({ context: contexts.at(-1)! }),
        );
        expect(evaluation.shadow.map(({ policyId, version }) => [policyId, version])).toEqual(
          fresh.review.versions().map(({ policyId, version }) => [policyId, version]),
        );
      }),
      { seed: 3, numRuns: 40 },
    );
    expect(stored).toBeGreaterThan(60);
    reader.close();
  });
});
