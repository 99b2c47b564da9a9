/** What is left of the committed fields of a leaf: kept, erased by a leaf, or missing. */
import { describe, expect, it } from 'vitest';
import { eraseDigests, erasuresOf, unkeptOf } from '../../../src/core/events/erased.ts';
import { Committer, sortedDigests } from '../../../src/core/events/disclosure.ts';

let salts = 0;
function committed(...pointers: string[]) {
  const committer = new Committer(() => `${salts++}`.padStart(22, 'A'));
  for (const pointer of pointers) committer.add(pointer, `the value at ${pointer} ],["`);
  const disclosures = committer.finish();
  return { digests: sortedDigests(disclosures), body: { disclosures, erased: null as string | null } };
}

describe('erased fields', () => {
  it('an erased field is gone from the body, which names the erasure', () => {
    const { digests, body } = committed('/action', '/actor/id', '/metadata/card');
    const first = eraseDigests(body, { digests: [digests[1]!], leaf: 9 })!;
    expect(first.removed).toHaveLength(1);
    expect(first.body.disclosures).not.toContain(first.removed[0]);
    expect(unkeptOf(digests, first.body)).toEqual({
      erased: [{ digest: digests[1], leaf: 9 }],
      missing: [],
    });
    const second = eraseDigests(first.body, { digests: [digests[0]!, digests[2]!], leaf: 12 })!;
    expect(second.body.disclosures).toBe('[]');
    expect(second.body.erased).toBe(`[[9,"${digests[1]}"],[12]]`);
    expect(unkeptOf(digests, second.body).erased).toEqual([
      { digest: digests[0], leaf: 12 },
      { digest: digests[1], leaf: 9 },
      { digest: digests[2], leaf: 12 },
    ]);
    expect(erasuresOf(second.body.erased)).toEqual([9, 12]);
  });

  it('an erasure of an erased or unknown field changes nothing', () => {
    const { digests, body } = committed('/action', '/actor');
    const { body: after } = eraseDigests(body, { digests: [digests[0]!], leaf: 1 })!;
    expect(eraseDigests(after, { digests, leaf: 2 })).toBeNull();
    expect(eraseDigests(body, { digests: ['A'.repeat(43)], leaf: 2 })).toBeNull();
    expect(eraseDigests(body, { digests: [], leaf: 2 })).toBeNull();
    expect(eraseDigests({ disclosures: 'no list', erased: null }, { digests, leaf: 2 })).toBeNull();
  });

  it('erased fields are distinguished from missing fields', () => {
    const { digests, body } = committed('/action', '/actor', '/resource');
    const { body: after } = eraseDigests(body, { digests: [digests[0]!], leaf: 1 })!;
    expect(unkeptOf(digests, { ...after, disclosures: '[]' })).toEqual({
      erased: [{ digest: digests[0], leaf: 1 }],
      missing: [digests[1], digests[2]],
    });
    expect(unkeptOf(digests, { disclosures: null, erased: null }).missing).toEqual(digests);
  });

  it.each(['', 'null', '{}', '[1]', '[["1"]]', '[[1,2]]', '[[1.5]]', '[[1]'])(
    'no field counts as erased when the list of erasures is %j',
    (erased) => {
      const { digests } = committed('/action');
      expect(unkeptOf(digests, { disclosures: '[]', erased }).missing).toEqual(digests);
      expect(erasuresOf(erased)).toEqual([]);
    },
  );
});
