/**
 * Whether two ids are one principal (contract G11, O9). A key that was rotated acts as the one that it replaces, so it
 * does not release what that one wrote. Proven by `test/service/erasure/two-persons.test.ts`.
 */
import type { StoreReader } from '../../store/port/store.ts';

/** Rotations that are followed back: a key that is rotated daily for years. */
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

/** The key that this one was rotated from in the end; the id itself where it is no rotated key of the project. */
async function firstOf(store: Pick<StoreReader, 'apiKeyOf'>, projectId: string, id: string): Promise<string> {
  let first = id;
  for (let step = 0; step < rotationsFollowed; step++) {
    const key = first.startsWith('key_') ? await store.apiKeyOf(projectId, first) : null;
    if (key === null || key.rotatedFrom === null) return first;
    first = key.rotatedFrom;
  }
  throw new Error(`key ${id} was rotated more than ${rotationsFollowed} times`);
}
