/**
 * Whether a project is deleted. Calls of a deleted project end with its keys; work that nobody calls for, such as
 * schedules, deliveries and webhooks, asks here. A plane deletes no project.
 * Tested by `test/service/reports/schedules/due.long.test.ts` and `test/service/webhooks/lane.test.ts`.
 */
import type { Store } from '../../store/port/store.ts';

/** Two reads by key. A project that the store does not have is not deleted. */
export async function isDeletedProject(
  { store }: { readonly store: Pick<Store, 'project' | 'storedProject'> },
  projectId: string,
): Promise<boolean> {
  const project = await store.project(projectId);
  if (project === null) return false;
  const stored = await store.storedProject(project.organizationId, projectId);
  return stored !== null && stored.deletedMs !== null;
}
