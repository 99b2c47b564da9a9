/** A stored document as a change takes it. */
import type { StoredDocument } from '../../store/port/store.ts';

export function withoutProject(stored: StoredDocument): Omit<StoredDocument, 'projectId'> {
  const { projectId: _, ...rest } = stored;
  return rest;
}
