/**
 * Documents: JSON objects outside the log, such as reports, schedules, webhook endpoints and deliveries. The log
 * holds the evidence; a document holds the state of work that may change and expire.
 * Proven by `test/store/suite/documents.ts` for every engine.
 */
import type { ByAge } from './rows.ts';
import type { Page } from './log.ts';

export interface StoredDocument {
  readonly projectId: string;
  /** Such as `report`, `report_schedule`, `delivery`. */
  readonly kind: string;
  /** Unique in its kind and project. */
  readonly documentId: string;
  /** Unique in its kind over all projects, such as the hash of a token; null without one. */
  readonly key: string | null;
  /** The document that it belongs to, such as the report of a delivery; null without one. */
  readonly parentId: string | null;
  readonly status: string;
  readonly createdMs: number;
  /** When a worker shall claim it, Unix milliseconds; null: never. */
  readonly dueMs: number | null;
  /** 1 for a new document; each save and each claim adds 1. */
  readonly version: number;
  /** JSON, at most `limits.documentBytes`. */
  readonly data: string;
}

export type DocumentChange =
  | {
      /** `version` is the one that it replaces; 0 for a new document. */
      readonly save: Omit<StoredDocument, 'projectId'>;
      /** Refuses a new document where the project has this many of its kind. */
      readonly most?: number;
    }
  | { readonly remove: DocumentVersion }
  /** Changes nothing, and refuses the other changes where the document has another version; 0: no document. */
  | { readonly expect: DocumentVersion };

type DocumentVersion = Pick<StoredDocument, 'kind' | 'documentId' | 'version'>;

/** The document and version that a change is about. */
export function versionOf(change: DocumentChange): DocumentVersion {
  if ('save' in change) return change.save;
  return 'remove' in change ? change.remove : change.expect;
}

interface DocumentFilter {
  readonly kind: string;
  readonly parentId?: string;
  readonly status?: string;
}

export interface DocumentReader {
  document(projectId: string, kind: string, documentId: string): Promise<StoredDocument | null>;
  /** Finds a document of any project by its key. */
  documentByKey(kind: string, key: string): Promise<StoredDocument | null>;
  /** Newest first. */
  documents(projectId: string, filter: DocumentFilter, page: Page<ByAge>): Promise<StoredDocument[]>;
  /** Documents of one kind in all projects, in the order of projects and ids. For workers. Cost: all projects. */
  allDocuments(
    kind: string,
    page: Page<Pick<StoredDocument, 'projectId' | 'documentId'>>,
  ): Promise<StoredDocument[]>;
  /** The earliest due time of these kinds and statuses in all projects; null if nothing is due at any time. */
  nextDue(kinds: readonly string[], statuses: readonly string[]): Promise<number | null>;
}

export interface DocumentClaim {
  readonly kind: string;
  readonly statuses: readonly string[];
  readonly nowMs: number;
  /** The document is due again after this time, unless the worker saves it earlier. */
  readonly leaseMs: number;
  /** The status that a claimed document gets; absent: it keeps its own. */
  readonly becomes?: string;
  /** Skips projects that have so many documents of this kind with the status `becomes` and a lease that still runs. */
  readonly most?: number;
}

export interface DocumentStore {
  /**
   * Writes all changes in one transaction, or none. Returns `conflict` if a document has another version or its
   * key is taken, and `full` if the project has `most` documents of the kind.
   */
  saveDocuments(
    projectId: string,
    changes: readonly DocumentChange[],
  ): Promise<'saved' | 'conflict' | 'full'>;
  /**
   * Claims the document that is due longest; projects take turns. Its version proves the lease: a save with it
   * is refused once another worker claimed the document.
   */
  claimDocument(claim: DocumentClaim): Promise<StoredDocument | null>;
}
