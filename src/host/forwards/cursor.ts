/**
 * The position of a target in a log, as a document outside the log: kind `forward_cursor`, one for each project and
 * target. A save after each confirmed batch makes delivery at least once: a crash before it repeats the batch. Where
 * several processes serve one store, a lease in the document lets one of them send.
 * Proven by `test/host/forwards/lane.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { ForwardGap, ForwardStatus } from '../../service/hosting/forwards.ts';
import type { DocumentReader, DocumentStore, StoredDocument } from '../../store/port/store.ts';
import type { ForwardTarget } from './config.ts';

export const cursorKind = 'forward_cursor';

/** How far a target is at an address that it had before. */
interface Place {
  readonly to: string;
  readonly next: number;
  readonly state: unknown;
  readonly begun: number | null;
}

export interface Cursor {
  /** The address that the position is about; absent in a cursor of an earlier version. */
  readonly to?: string;
  /** Those of earlier addresses, newest first: at most `limits.forwardPlaces`. */
  readonly places?: readonly Place[];
  /** The first leaf that is not confirmed. */
  readonly next: number;
  readonly records: number;
  readonly refused: number;
  readonly lastDeliveredMs: number | null;
  readonly lastError: string | null;
  readonly lastErrorMs: number | null;
  readonly failingSinceMs: number | null;
  readonly gaps: readonly ForwardGap[];
  /** What the transport returned last, such as the hash of the last manifest. */
  readonly state: unknown;
  /** The end of a batch whose objects may be stored already; null where there is none. */
  readonly begun: number | null;
  /** The largest signed head that was sent; absent before the first one. */
  readonly head?: { readonly size: number; readonly atMs: number };
  /** The process that sends, and until when no other may. */
  readonly owner: string;
  readonly leaseUntilMs: number;
}

export interface LaneTrouble {
  readonly failingSinceMs: number | null;
  readonly behindSinceMs: number | null;
  readonly cursor: Cursor | null;
}

/** A cursor that no process holds. */
type Unheld = Omit<Cursor, 'owner' | 'leaseUntilMs'>;

export const newCursor = (next: number): Unheld => ({
  next,
  records: 0,
  refused: 0,
  lastDeliveredMs: null,
  lastError: null,
  lastErrorMs: null,
  failingSinceMs: null,
  gaps: [],
  state: null,
  begun: null,
});

/**
 * The cursor of a target at the address that it has now. A new address continues at the position, and has no state: the manifests of an object
 * store are a chain of its own. An address that the target had before continues where it ended, so that its receiver lacks
 * nothing of what went to another one meanwhile.
 */
export function cursorAt(cursor: Unheld, target: ForwardTarget): Unheld {
  // buckets of two stores may have one name
  const to = target.kind === 's3' && target.endpoint !== null ? `${target.endpoint} ${target.to}` : target.to;
  const { to: before, places = [], head: _head, ...same } = cursor;
  if (before === undefined || before === to) return { ...cursor, to };
  const known = places.find((place) => place.to === to);
  const { next, state, begun } = cursor;
  const left = [{ to: before, next, state, begun }, ...places.filter((place) => place.to !== to)];
  return {
    ...same,
    to,
    places: left.slice(0, limits.forwardPlaces),
    next: known?.next ?? next,
    state: known?.state ?? null,
    begun: known?.begun ?? null,
    lastError: null,
    lastErrorMs: null,
    failingSinceMs: null,
  };
}

export type CursorStore = Pick<DocumentReader, 'document'> & Pick<DocumentStore, 'saveDocuments'>;

/** A cursor that this process may change. */
export interface HeldCursor {
  readonly cursor: Cursor;
  readonly stored: StoredDocument | null;
}

export async function readCursor(
  store: Pick<CursorStore, 'document'>,
  projectId: string,
  target: string,
): Promise<HeldCursor | null> {
  const stored = await store.document(projectId, cursorKind, target);
  return stored === null ? null : { cursor: JSON.parse(stored.data) as Cursor, stored };
}

/** Saves a cursor over the one that was read. Null where another process changed it meanwhile. */
export async function saveCursor(
  store: CursorStore,
  {
    projectId,
    target,
    nowMs,
  }: { readonly projectId: string; readonly target: string; readonly nowMs: number },
  { cursor, before }: { readonly cursor: Cursor; readonly before: StoredDocument | null },
): Promise<HeldCursor | null> {
  const document = {
    kind: cursorKind,
    documentId: target,
    key: null,
    parentId: null,
    status: cursor.failingSinceMs === null ? 'sending' : 'failing',
    createdMs: before?.createdMs ?? nowMs,
    dueMs: null,
    version: before?.version ?? 0,
    data: JSON.stringify(cursor),
  };
  const outcome = await store.saveDocuments(projectId, [{ save: document }]);
  if (outcome !== 'saved') return null;
  return { cursor, stored: { ...document, projectId, version: document.version + 1 } };
}

/** What a target did so far, as the API shows it. */
export function statusOf(
  { name, to, format }: ForwardTarget,
  { cursor, treeSize }: { readonly cursor: Cursor; readonly treeSize: number },
): ForwardStatus {
  const { next, records, refused, lastDeliveredMs, lastError, lastErrorMs, failingSinceMs, gaps } = cursor;
  const lag = Math.max(0, treeSize - next);
  const state = failingSinceMs !== null ? 'failing' : lag > 0 ? 'behind' : records === 0 ? 'new' : 'current';
  return {
    name,
    to,
    format,
    state,
    position: next,
    treeSize,
    lag,
    behindSinceMs: null,
    records,
    refused,
    lastDeliveredMs,
    lastError,
    lastErrorMs,
    retryMs: null,
    gaps,
  };
}
