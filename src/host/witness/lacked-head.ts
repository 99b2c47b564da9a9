/**
 * The check of the proof that a refusing witness shows: its newest cosigned checkpoint of this log. The
 * checkpoint counts if the configured key of the witness cosigned it, a log key that was in force at that size
 * signed it, and the log lacks it. A witness therefore cannot stop a log by a claim alone. A thief with a
 * retired log key cannot either. Proven by `test/host/witness/lacked-head.test.ts` and
 * `test/plane/witnessed.long.test.ts`.
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
  /** Present and former keys of the log. */
  readonly verifierKeys: readonly string[];
  /** Stops all further signatures. */
  readonly remember: (head: LackedHead) => void;
}

interface WitnessContext {
  readonly store: Pick<Store, 'head' | 'tiles' | 'leaf' | 'leavesOf'>;
  readonly projectId: string;
  /** Key of the witness that shows the note. */
  readonly witnessKey: VerifierKey;
}

/**
 * Returns the head of a note where the log signed it and lacks it, else null. An attacker may control the note.
 * Cost: 1 ms. STORAGE_FAULT where the log cannot be read.
 */
export async function lackedHead(
  note: string,
  { origin, verifierKeys }: OwnLog,
  { store, projectId, witnessKey }: WitnessContext,
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
