/**
 * Recomputes the columns of a project's exports from its system events, the same for both engines.
 * The request and the completion of an export are one event each, in the transaction of the change
 * (`src/service/exports/events.ts`). The removal of an artifact is not an event.
 * Proven by `test/service/exports/fsck.long.test.ts`.
 */
import { canonicalize } from '../../../core/json/parse.ts';
import { text, type TenantEvent, type KnownColumns } from './project-life.ts';

const completed = ['row_count', 'size_bytes', 'digest', 'manifest', 'completed_ms'] as const;

export const isExportEvent = (eventType: string): boolean =>
  eventType === 'export.created' || eventType === 'export.completed';

export class ExportLife {
  readonly #exports = new Map<string, KnownColumns>();
  #unread = 0;

  /** By export id. */
  get exports(): ReadonlyMap<string, KnownColumns> {
    return this.#exports;
  }

  /** Number of unreadable events that created an export. */
  get unread(): number {
    return this.#unread;
  }

  /** Call it in log order. */
  add(event: TenantEvent): void {
    const { eventType, resourceId: exportId } = event;
    const known = this.#exports.get(exportId);
    if (eventType === 'export.created') this.#exports.set(exportId, askedFor(event));
    else if (known !== undefined) Object.assign(known, madeOf(event));
  }

  /** Counts an event whose body is missing or altered. */
  forget(eventType: string): void {
    if (eventType === 'export.created') this.#unread += 1;
    else for (const known of this.#exports.values()) for (const column of completed) delete known[column];
  }
}

const askedFor = ({ atMs, metadata }: TenantEvent): KnownColumns => ({
  resource: text(metadata['resource']),
  format: text(metadata['format']),
  filters: canonicalize(metadata['filters'] ?? null),
  include_proof: metadata['includeProof'] === true ? 1 : 0,
  tree_size: Number(metadata['treeSize']),
  created_ms: atMs,
  ...Object.fromEntries(completed.map((column) => [column, null])),
});

const madeOf = ({ atMs, metadata }: TenantEvent): KnownColumns => ({
  row_count: Number(metadata['rowCount']),
  size_bytes: Number(metadata['sizeBytes']),
  digest: text(metadata['sha256']),
  manifest: canonicalize(metadata['manifest'] ?? null),
  completed_ms: atMs,
});
