/**
 * The names of keys and people, for reading: a name may change, and no log has it. Proven by
 * `test/service/approvals/handlers.engines.test.ts`.
 */
import type { Project, StoreReader } from '../../store/port/store.ts';

/** The name of a principal of the project, or null for one without, such as the operator or a data plane. */
export type NameOf = (id: string | null) => string | null;

type Names = Pick<StoreReader, 'apiKeyOf' | 'userOf'>;

/** Cost: one read for each id that differs. */
export async function namesOf(
  store: Names,
  project: Pick<Project, 'projectId' | 'organizationId'>,
  ids: readonly (string | null)[],
): Promise<NameOf> {
  const names = new Map<string, string>();
  for (const id of new Set(ids)) {
    const found = id === null ? null : await named(store, project, id);
    if (id !== null && found !== null) names.set(id, found.name);
  }
  return (id) => (id === null ? null : (names.get(id) ?? null));
}

async function named(
  store: Names,
  { projectId, organizationId }: Pick<Project, 'projectId' | 'organizationId'>,
  id: string,
): Promise<{ readonly name: string } | null> {
  if (id.startsWith('key_')) return store.apiKeyOf(projectId, id);
  return id.startsWith('usr_') ? store.userOf(organizationId, id) : null;
}
