/** Maker and verifier of bundles have one bound: what a verifier would not read is refused before it is made. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { GovError } from '../../../src/contract/problems.ts';
import { BundlePlanner } from '../../../src/service/proofs/bundle-plan.ts';

const frame = '{"events":[],"graph":{"edges":[],"leaf":{},"nodes":[]},"mediaType":"\\"events\\":[]"}';
const lists = { projectId: 'p', runId: 'r', events: 'disclosed', treeSize: 1, graphId: 'g' } as const;
const piece = 'x'.repeat(64 * 1024 * 1024);

interface Sizes {
  readonly events?: number;
  readonly edges?: number;
  readonly items?: number;
  readonly values?: number;
}

function planned({ events = 0, edges = 0, items = 1, values = 10 }: Sizes) {
  const planner = new BundlePlanner('disclosed');
  planner.lists = lists;
  const add = (list: 'events' | 'edges', bytes: number): void => {
    // a comma stands between two pieces
    for (let left = bytes; left > 0; left -= piece.length + 1) {
      planner.add({ list, text: piece.slice(0, Math.min(left, piece.length)), items, next: 1 });
    }
  };
  try {
    add('events', events);
    add('edges', edges);
    return planner.around(frame, values);
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    return error;
  }
}

describe('the plan of a bundle', () => {
  it('a small bundle comes back whole, with each item in its list', () => {
    const planner = new BundlePlanner('records');
    planner.lists = lists;
    for (const list of ['events', 'edges', 'nodes'] as const) {
      planner.add({ list, text: `"1 ${list}"`, items: 1, next: 1 });
      planner.add({ list, text: `"2 ${list}","3"`, items: 2, next: 3 });
    }
    const text = Buffer.from(planner.around(frame, 10) as Uint8Array).toString();
    expect(JSON.parse(text)).toEqual({
      events: ['1 events', '2 events', '3'],
      graph: { edges: ['1 edges', '2 edges', '3'], leaf: {}, nodes: ['1 nodes', '2 nodes', '3'] },
      mediaType: '"events":[]',
    });
  });

  it('a larger bundle comes back as a plan with its exact size', () => {
    const most = limits.bundleWholeBytes - frame.length;
    expect(planned({ events: most })).toBeInstanceOf(Uint8Array);
    const plan = planned({ events: most + 1 });
    expect(plan).toMatchObject({ bytes: limits.bundleWholeBytes + 1, lists });
    const { texts } = plan as unknown as { texts: Uint8Array[] };
    expect(texts.map((text) => Buffer.from(text).toString())).toEqual([
      '{"events":[',
      '],"graph":{"edges":[',
      '],"leaf":{},"nodes":[',
      ']},"mediaType":"\\"events\\":[]"}',
    ]);
  });

  it('a bundle is refused above the bytes that a verifier reads, and the error names an alternative', () => {
    const most = limits.bundleBytes - frame.length;
    expect(planned({ events: most })).toMatchObject({ bytes: limits.bundleBytes });
    const refused = planned({ events: most + 1 });
    expect(refused).toMatchObject({ code: 'VALIDATION_ERROR', extensions: { limit: limits.bundleBytes } });
    expect((refused as GovError).message).toContain('ask with events=records');
    expect(planned({ events: 4 * most })).toBeInstanceOf(GovError);
  });

  it('what is not events is refused above the bytes and values that a verifier keeps', () => {
    const most = limits.bundleRestBytes - frame.length;
    expect(planned({ edges: most })).toMatchObject({ bytes: limits.bundleRestBytes });
    expect(planned({ edges: most + 1 })).toBeInstanceOf(GovError);
    const items = limits.bundleValues / 4;
    expect(planned({ edges: 10, items })).toBeInstanceOf(Uint8Array);
    expect(planned({ edges: 10, items: items + 1 })).toBeInstanceOf(GovError);
    expect(planned({ values: limits.bundleValues })).toBeInstanceOf(Uint8Array);
    expect(planned({ values: limits.bundleValues + 1 })).toBeInstanceOf(GovError);
  });
});
