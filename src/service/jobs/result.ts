/**
 * The result of a replay, checked against the log. Its text is stored with the job, and its `gov.replay/1`
 * leaf commits to the text. Proven by `test/service/replay/faults.test.ts`.
 */
import { openLeaf } from '../../core/decided/leaf.ts';
import { openReplay } from '../../core/decided/replay.ts';
import { sha256Text } from '../../core/hash.ts';
import { readErasure } from '../../core/decided/erasure.ts';
import { readPrune } from '../../core/decided/prune.ts';
import { withdrawnBy, withdrawnResult } from '../../core/replay/withdrawn.ts';
import type { StoredJob, StoreReader } from '../../store/port/store.ts';
import type { Leaf } from '../../store/port/store.ts';
import { contradiction } from '../log/contradiction.ts';

/**
 * The text of a result, or null where there is none yet. STORAGE_FAULT where job and leaf contradict each
 * other, or the commitment was erased. Cost: a leaf, and a SHA-256 of the text.
 */
export async function loggedResult(
  store: StoreReader,
  projectId: string,
  replayId: string,
): Promise<string | null> {
  // read before the job: a logged replay is always completed
  const before = await store.leafOf(projectId, 'gov.replay/1', replayId);
  const job = await store.jobWithResult(projectId, replayId);
  if (before === null && job?.status !== 'completed') return null;
  const leaf = before ?? (await store.leafOf(projectId, 'gov.replay/1', replayId));
  return heldAgainst({ store, projectId, replayId, job, leaf });
}

/** The result of a completed job. Only results of replays are checked. */
export async function resultOf(store: StoreReader, projectId: string, job: StoredJob): Promise<string> {
  const { type, jobId, resultId, result } = job;
  if (type !== 'replay' && resultId === null) return result ?? 'null';
  const leaf = resultId === null ? null : await store.leafOf(projectId, 'gov.replay/1', resultId);
  return heldAgainst({ store, projectId, replayId: resultId ?? `of job ${jobId}`, job, leaf });
}

interface ReplayRecord {
  readonly store: StoreReader;
  readonly projectId: string;
  readonly replayId: string;
  readonly job: StoredJob | null;
  readonly leaf: Leaf | null;
}

async function heldAgainst({ store, projectId, replayId, job, leaf }: ReplayRecord): Promise<string> {
  const logged = leaf === null ? null : openReplay(openLeaf(leaf));
  const result = job?.status === 'completed' && job.runId === logged?.runId ? job.result : null;
  const by = result === null ? null : withdrawnBy(result);
  if (by !== null && job !== null && logged !== null) {
    const erasure = await store.leaf(projectId, by);
    const isKnown = erasure !== null && (readErasure(erasure.record) ?? readPrune(erasure.record)) !== null;
    if (isKnown) return withdrawnResult(logged, by);
  }
  if (result === null || sha256Text(result) !== logged?.result)
    throw contradiction(`the result of replay ${replayId}`, leaf);
  return result;
}
