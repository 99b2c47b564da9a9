/** Which policies were in force at an index, against a naive reading of all leaves before it. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { policyStatuses } from '../../../src/contract/policy-words.ts';
import {
  applyPolicyChange,
  policyChangeEvents,
  type VersionsInForce,
  type PolicyChange,
} from '../../../src/core/decided/policy-change.ts';
import { emptyRoot } from '../../../src/core/merkle/tree.ts';
import { hashText, sha256Text } from '../../../src/core/hash.ts';
import { policySetHash } from '../../../src/core/policies/language/hash.ts';
import { PolicyTimeline } from '../../../src/core/decided/timeline.ts';

const change = fc
  .record({
    policyId: fc.constantFrom('a', 'b', 'c'),
    version: fc.integer({ min: 1, max: 3 }),
    event: fc.constantFrom(...policyChangeEvents),
    to: fc.constantFrom(...policyStatuses),
  })
  .map((each): PolicyChange => ({
    ...each,
    from: null,
    at: '2026-01-01T00:00:00Z',
    policyHash: sha256Text(`${each.policyId} ${each.version}`),
  }));
const changes = fc.uniqueArray(fc.tuple(fc.nat(60), change), { selector: ([index]) => index, maxLength: 30 });

function naive(list: readonly (readonly [number, PolicyChange])[], index: number): VersionsInForce {
  const inForce: VersionsInForce = new Map();
  for (const [at, each] of list) if (at < index) applyPolicyChange(inForce, each);
  return inForce;
}

describe('the policies in force', () => {
  it('the timeline gives the policies in force before every index of the log', () => {
    fc.assert(
      fc.property(changes, (unsorted) => {
        const list = unsorted.toSorted(([a], [b]) => a - b);
        const timeline = new PolicyTimeline();
        for (const [index, each] of list) {
          timeline.add(index, each);
          const expected = naive(list, index + 1);
          expect(timeline.versions).toEqual(expected);
          expect(timeline.policyIndex).toBe(index);
          expect(timeline.policySetHash).toBe(
            policySetHash(Array.from(expected, ([policyId, { policyHash }]) => ({ policyId, policyHash }))),
          );
        }
        for (let index = 0; index <= 62; index++) {
          expect(timeline.activeAt(index)).toBe(naive(list, index).size > 0);
        }
      }),
      { seed: 71, numRuns: 300 },
    );
  });

  it('the timeline says by the times of the changes when a policy was in force', () => {
    const timeline = new PolicyTimeline();
    const move = (second: number, event: PolicyChange['event'], to: PolicyChange['to']): PolicyChange => ({
      policyId: 'a',
      version: 1,
      policyHash: sha256Text('a'),
      event,
      from: null,
      to,
      at: `2026-01-01T00:00:0${second}Z`,
    });
    timeline.add(1, move(1, 'created', 'draft'));
    timeline.add(2, move(2, 'published', 'active'));
    timeline.add(3, move(4, 'transition', 'disabled'));
    const at = (ms: number): boolean => timeline.activeAtMs(Date.parse('2026-01-01T00:00:00Z') + ms);
    expect([1000, 1999, 2000, 3999, 4000, 9000].map(at)).toEqual([false, false, true, true, false, false]);
  });

  it('the timeline has no policies in force before the first leaf', () => {
    const timeline = new PolicyTimeline();
    expect([timeline.policyIndex, timeline.everActive, timeline.activeAt(9)]).toEqual([null, false, false]);
    expect(timeline.activeAtMs(Date.now())).toBe(false);
    expect(timeline.policySetHash).toBe(hashText(emptyRoot));
  });
});
