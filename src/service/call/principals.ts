/**
 * Whether two ids are one principal (contract G11, O9). A rotated key counts as the key that it replaced, so
 * a rotation cannot approve its own work. Proven by `test/service/erasure/two-persons.test.ts`.
 */
import type { StoreReader } from '../../store/port/store.ts';

/** The most rotations to follow back: years of a key that is rotated daily. */
const rotationsFollowed = 4096;

/** Cost: one read for each rotation of either key; none where the ids are equal. */
export async function isSamePrincipal(
  store: Pick<StoreReader, 'apiKeyOf'>,
  projectId: string,
  [one, other]: readonly [one: string, other: string],
): Promise<boolean> {
  if (one === other) return true;
  return (await firstOf(store, projectId, one)) === (await firstOf(store, projectId, other));
}

/** The first key of a chain of rotations; the id itself where it is no rotated key of the project. */
async function firstOf(store: Pick<StoreReader, 'apiKeyOf'>, projectId: string, id: string): Promise<string> {
  let first = id;
  for (let step = 0; step < rotationsFollowed; step++) {
    const key = first.startsWith('key_') ? await store.apiKeyOf(projectId, first) : null;
    if (key === null || key.rotatedFrom === null) return first;
    first = key.rotatedFrom;
  }
  throw new Error(`expected key ${id} to be rotated at most ${rotationsFollowed} times, got more`);
}
