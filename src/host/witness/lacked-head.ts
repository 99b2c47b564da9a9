/**
 * What a witness that refuses a log can show for it: the newest checkpoint that it cosigned. It counts where the configured
 * key of the witness cosigned it, a key of the log signed it that was in force at that size, and the log does not have it.
 * So no witness stops a log by words, and nobody with a key that the log retired, as after a theft, and a way to answer for
 * a witness. Proven by `test/host/witness/lacked-head.test.ts` and `test/plane/witnessed.long.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { openCheckpoint } from '../../core/note/checkpoint.ts';
import { openNote } from '../../core/note/signed.ts';
import { parseVerifierKey, type VerifierKey } from '../../core/note/key.ts';
import { logKeys } from '../../service/log/keys.ts';
import { rootAt } from '../../service/log/tree-proofs.ts';
import type { Store } from '../../store/port/store.ts';
import type { LackedHead } from '../../store/file/copies.ts';

/** The log of a plane. */
export interface OwnLog {
  readonly origin: string;
  /** Those that sign it, and those that did. */
  readonly verifierKeys: readonly string[];
  /** Nothing is signed from then on. */
  readonly remember: (head: LackedHead) => void;
}

interface Shown {
  readonly store: Pick<Store, 'head' | 'tiles' | 'leaf' | 'leavesOf'>;
  readonly projectId: string;
  /** Of the witness that shows it. */
  readonly witnessKey: VerifierKey;
}

/**
 * The head of a note, which anybody may have written, where the log signed it and lacks it; else null. Cost: 1 ms.
 * STORAGE_FAULT where the log cannot be read.
 */
export async function lackedHead(
  note: string,
  { origin, verifierKeys }: OwnLog,
  { store, projectId, witnessKey }: Shown,
): Promise<LackedHead | null> {
  const opened = openedBy(note, verifierKeys, { origin, witnessKey });
  if (opened === null) return null;
  const { size, root } = opened.checkpoint;
  const history = await logKeys(store, projectId);
  if (!opened.signedBy.some(({ key }) => history.couldSign(key.publicKey, size))) return null;
  const { size: have } = await store.head(projectId, 'audit');
  if (size <= have && (await rootAt(store, projectId, size)).equals(root)) return null;
  return { origin, size, root: Buffer.from(root), have };
}

function openedBy(
  note: string,
  keys: readonly string[],
  { origin, witnessKey }: { readonly origin: string; readonly witnessKey: VerifierKey },
) {
  try {
    openNote(note, [witnessKey]);
    return openCheckpoint(note, keys.map(parseVerifierKey), origin);
  } catch (error) {
    if (error instanceof GovError) return null;
    throw error;
  }
}
