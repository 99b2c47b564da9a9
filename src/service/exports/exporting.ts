/**
 * What one export shows, and the pages of leaves that it is read from. Proven by
 * `test/service/exports/handlers.test.ts`.
 */
import type { ExportFilters } from '../../contract/exports.ts';
import type { ExportLeaf, LoggedResource } from '../../core/exports/row.ts';

export interface ExportSelection {
  readonly projectId: string;
  readonly resource: LoggedResource;
  readonly filters: ExportFilters;
  readonly treeSize: number;
}

export type LeafPages = AsyncGenerator<readonly ExportLeaf[], void, undefined>;
