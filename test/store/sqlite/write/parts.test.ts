/** Large appends in parts: what is sent ahead, and that the thread gets back what was cut off. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { draftLeaf, type LeafDraft } from '../../../../src/core/events/record.ts';
import { draftBytes } from '../../../../src/store/port/request-bytes.ts';
import type { Write } from '../../../../src/store/sqlite/write/operations.ts';
import { ArrivedParts, inParts, partBytes } from '../../../../src/store/sqlite/write/parts.ts';

/** A leaf of as many bytes. */
const leafOf = (size: number): LeafDraft => ({ ...bare, disclosures: 'x'.repeat(size - draftBytes(bare)) });
const bare = draftLeaf('gov.genesis/1', { origin: 'x' });
const append = (sizes: readonly number[]): Write => ({
  verb: 'append',
  request: {
    projectId: 'prj_a',
    leaves: sizes.map(leafOf),
    meter: { op: 'none', units: 0 },
  },
});
const renewal: Write = { verb: 'sweepOld', nowMs: 1 };

describe('a large append', () => {
  it('an append of exactly one part is sent whole, and one byte more in two parts', () => {
    expect(inParts([append([partBytes])], 0).parts).toEqual([]);
    const half = partBytes / 2;
    expect(inParts([append([half, half])], 0).parts).toEqual([]);
    expect(inParts([append([half, half + 1])], 7).parts.map(({ no, leaves }) => [no, leaves.length])).toEqual(
      [
        [7, 1],
        [7, 1],
      ],
    );
    expect(inParts([append([partBytes + 1])], 0).parts).toEqual([]); // a leaf is never cut
  });

  it('the thread gets each write as it was, whatever was sent in between', () => {
    const size = fc.integer({ min: 200, max: partBytes });
    const write = fc.oneof(fc.array(size, { maxLength: 6 }).map(append), fc.constant(renewal));
    fc.assert(
      fc.property(fc.array(write, { minLength: 1, maxLength: 4 }), fc.nat(9), (writes, first) => {
        const sent = inParts(writes, first);
        const other = inParts([append([partBytes, partBytes])], 100);
        const arrived = new ArrivedParts();
        for (const [at, part] of sent.parts.entries()) {
          const bytes = part.leaves.reduce((sum, leaf) => sum + draftBytes(leaf), 0);
          expect(bytes <= partBytes || part.leaves.length === 1).toBe(true);
          arrived.add(structuredClone(part));
          if (at === 0) for (const each of other.parts) arrived.add(each);
        }
        expect(arrived.complete(structuredClone(sent.writes), first)).toEqual(writes);
        expect(arrived.complete(structuredClone(sent.writes), first)).toEqual(sent.writes);
      }),
      { numRuns: 30 },
    );
  });

  it('the parts of a write that does not come are dropped', () => {
    const { parts, writes } = inParts([append([partBytes, partBytes])], 3);
    const arrived = new ArrivedParts();
    for (const part of parts) arrived.add(part);
    arrived.forget(3, 1);
    expect(arrived.complete(writes, 3)).toEqual(writes);
  });
});
