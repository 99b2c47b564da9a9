/**
 * The run keys of API keys, with which run tokens are checked (contract B20). A run key follows from the API key, which the
 * store does not have. It is kept when an API key is made, and where it lacks, when the key asks for its identity, as
 * `gov run` does; sealed, so that who reads the database cannot make tokens. Proven by `test/http/admit/run-tokens.test.ts`.
 */
import { runKeyOf } from '../../core/run-token.ts';
import type { DocumentChange, StoreReader } from '../../store/port/store.ts';
import type { Seal } from '../call/secrets.ts';

const kind = 'run_key';

export const runKeyDocument = (
  token: string,
  {
    keyId,
    createdMs,
    seal,
  }: { readonly keyId: string; readonly createdMs: number; readonly seal: Pick<Seal, 'seal'> },
): Extract<DocumentChange, { save: unknown }> => ({
  save: {
    kind,
    documentId: keyId,
    key: null,
    parentId: null,
    status: 'kept',
    createdMs,
    dueMs: null,
    version: 0,
    data: JSON.stringify(seal.seal(runKeyOf(token).toString('base64url'))),
  },
});

/** The run key of an API key; null where none was kept. */
export async function keptRunKey(
  { store, seal }: { readonly store: Pick<StoreReader, 'document'>; readonly seal: Pick<Seal, 'open'> },
  { projectId, keyId }: { readonly projectId: string; readonly keyId: string },
): Promise<Buffer | null> {
  const document = await store.document(projectId, kind, keyId);
  const sealed: unknown = document === null ? null : JSON.parse(document.data);
  const opened = typeof sealed === 'string' ? seal.open(sealed) : null;
  return opened === null ? null : Buffer.from(opened, 'base64url');
}
