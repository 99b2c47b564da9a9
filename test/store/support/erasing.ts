/** Erasures as store tests make them. */
import { draftErasure, readErasure, type ErasureTarget } from '../../../src/core/decided/erasure.ts';
import { digestOf, disclosureTexts } from '../../../src/core/events/disclosure.ts';
import { readJson } from '../../../src/core/json/parse.ts';
import { recordDigests } from '../../../src/core/events/run-entry.ts';
import type { AppendRequest, Store } from '../../../src/store/port/store.ts';
import type { Leaf } from '../../../src/store/port/store.ts';
import { unmetered } from './governance.ts';

const at = '2026-01-01T00:00:00.000Z';
let made = 0;

/** An erasure with its leaf. */
export function erasing(targets: readonly ErasureTarget[], more: Partial<AppendRequest> = {}): AppendRequest {
  const erasureId = `ers_${`${made++}`.padStart(26, '0')}`;
  const record = { erasureId, targets, reasonCode: 'test', requestedAt: at, executedAt: at };
  const leaf = draftErasure({ ...record, keyDestroyed: false });
  return unmetered([leaf], [{ kind: 'eraseFields', targets, leaf: 0 }], more);
}

/** An erasure of the last about a subject, with its key. */
export function ending(subject: string, targets: readonly ErasureTarget[]): AppendRequest {
  const { leaves, effects = [], ...made } = erasing(targets);
  const says = leaves.map((leaf) => {
    const record = readErasure('record' in leaf ? leaf.record : '');
    if (record === null) throw new Error('expected an erasure');
    return draftErasure({ ...record, keyDestroyed: true });
  });
  const ends = effects.map((each) =>
    each.kind === 'eraseFields' ? ({ ...each, subject, destroysKey: true } as const) : each,
  );
  return { ...made, leaves: says, effects: ends };
}

/** All that is left of the leaves about a subject; of what is gone, all that its record committed to. */
export async function allAbout(store: Store, subject: string): Promise<ErasureTarget[]> {
  const leaves = await store.leavesAbout('prj_a', subject, { limit: 1000 });
  return leaves.flatMap((leaf) => {
    const gone = leaf.isGone === true ? (recordDigests(leaf.record) ?? []) : [];
    const digests = [...digestsOf(leaf).values(), ...gone];
    return digests.length === 0 ? [] : [{ index: leaf.index, digests }];
  });
}

/** Digests of the fields that a leaf still has, by pointer. */
export const digestsOf = ({ disclosures }: Leaf): Map<string, string> =>
  new Map(
    (disclosureTexts(disclosures ?? '[]') ?? []).map((text) => [
      (readJson(text) as [string, string])[1],
      digestOf(text),
    ]),
  );
