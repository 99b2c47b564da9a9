/**
 * The rules of saved documents, the same for both engines: the version that a change replaces must be the stored one,
 * a key belongs to one document, and a kind may be bounded.
 * Proven by `test/store/suite/documents.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { versionOf, type DocumentChange, type DocumentStore } from '../port/documents.ts';
import type { AppendOutcome, AppendRequest } from '../port/request.ts';
import type { NewDocument } from '../rules/document-row.ts';

/** The rows of one project's documents. */
export interface DocumentRows {
  /** Null for an unknown document. */
  documentVersion(kind: string, documentId: string): number | null;
  /** The document with this key: null for none, empty for one of another project. */
  documentOfKey(kind: string, key: string): string | null;
  countDocuments(kind: string): number;
  saveDocument(document: NewDocument): void;
  removeDocument(kind: string, documentId: string): void;
}

/** PRECONDITION_FAILED for another version or a taken key, CONFLICT where the kind is full, PAYLOAD_TOO_LARGE. */
export function changeDocuments(rows: DocumentRows, changes: readonly DocumentChange[]): void {
  for (const change of changes) {
    const { kind, documentId, version } = versionOf(change);
    const stored = rows.documentVersion(kind, documentId) ?? 0;
    if (stored !== version) {
      throw new GovError(
        'PRECONDITION_FAILED',
        `expected version ${version} of ${kind} ${documentId}, got ${stored === 0 ? 'none' : `version ${stored}`}`,
        { transient: true },
      );
    }
    if ('remove' in change) rows.removeDocument(kind, documentId);
    else if ('save' in change) save(rows, change);
  }
}

function save(rows: DocumentRows, { save: made, most }: Extract<DocumentChange, { save: unknown }>): void {
  const { kind, documentId, key, version, data } = made;
  if (data.length > limits.documentBytes) {
    throw new GovError(
      'PAYLOAD_TOO_LARGE',
      `expected a ${kind} of at most ${limits.documentBytes} bytes, got ${data.length}`,
    );
  }
  const owner = key === null ? null : rows.documentOfKey(kind, key);
  if (owner !== null && owner !== documentId) {
    throw new GovError(
      'PRECONDITION_FAILED',
      `expected a new key of a ${kind}, got one that another ${kind} has`,
      { transient: true },
    );
  }
  if (version === 0 && most !== undefined && rows.countDocuments(kind) >= most) {
    throw new GovError(
      'CONFLICT',
      `expected at most ${most} of ${kind} in the project, got one more; delete another one first`,
    );
  }
  rows.saveDocument({ ...made, version: version + 1 });
}

/** Saves documents by a request without leaves. */
export const documentSaver =
  (append: (request: AppendRequest) => Promise<AppendOutcome>): DocumentStore['saveDocuments'] =>
  async (projectId, changes) => {
    try {
      const effects = [{ kind: 'saveDocuments', changes } as const];
      await append({ projectId, leaves: [], effects });
      return 'saved';
    } catch (error) {
      if (error instanceof GovError && error.code === 'PRECONDITION_FAILED') return 'conflict';
      if (error instanceof GovError && error.code === 'CONFLICT') return 'full';
      throw error;
    }
  };
