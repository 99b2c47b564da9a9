/**
 * What the system events of a project give of its exports, column by column and whatever the engine: to be asked for and to
 * be complete are one event each, in the transaction of the change (`src/service/exports/events.ts`). When an artifact goes
 * is no event. Proven by `test/service/exports/fsck.test.ts`.
 */
import { canonicalize } from '../../../core/json/parse.ts';
import { text, type TenantEvent, type Told } from './project-life.ts';

const completed = ['row_count', 'size_bytes', 'digest', 'manifest', 'completed_ms'] as const;

export const tellsOfExport = (eventType: string): boolean =>
  eventType === 'export.created' || eventType === 'export.completed';

export class ExportLife {
  readonly #exports = new Map<string, Told>();
  #unread = 0;

  /** By export id. */
  get exports(): ReadonlyMap<string, Told> {
    return this.#exports;
  }

  /** Events that made an export and cannot be read. */
  get unread(): number {
    return this.#unread;
  }

  /** In log order. */
  add(event: TenantEvent): void {
    const { eventType, resourceId: exportId } = event;
    const told = this.#exports.get(exportId);
    if (eventType === 'export.created') this.#exports.set(exportId, askedFor(event));
    else if (told !== undefined) Object.assign(told, madeOf(event));
  }

  /** An event whose body is gone, or is not what was logged. */
  forget(eventType: string): void {
    if (eventType === 'export.created') this.#unread += 1;
    else for (const told of this.#exports.values()) for (const column of completed) delete told[column];
  }
}

const askedFor = ({ atMs, metadata }: TenantEvent): Told => ({
  resource: text(metadata['resource']),
  format: text(metadata['format']),
  filters: canonicalize(metadata['filters'] ?? null),
  include_proof: metadata['includeProof'] === true ? 1 : 0,
  tree_size: Number(metadata['treeSize']),
  created_ms: atMs,
  ...Object.fromEntries(completed.map((column) => [column, null])),
});

const madeOf = ({ atMs, metadata }: TenantEvent): Told => ({
  row_count: Number(metadata['rowCount']),
  size_bytes: Number(metadata['sizeBytes']),
  digest: text(metadata['sha256']),
  manifest: canonicalize(metadata['manifest'] ?? null),
  completed_ms: atMs,
});
