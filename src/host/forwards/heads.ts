/** The signed heads that a receiver gets between the records of leaves. Proven by `test/host/forwards/heads.test.ts`. */
import { limits } from '../../contract/limits.ts';
import { headNotice } from '../../core/forwards/notice.ts';
import { unverifiedHead } from '../../core/note/checkpoint.ts';
import type { StoreReader } from '../../store/port/store.ts';
import type { Cursor } from './cursor.ts';
import { lineOf, type GatherOptions } from './gather.ts';
import type { Line } from './transport.ts';

export interface HeadOptions extends Pick<GatherOptions, 'source' | 'target' | 'hostname'> {
  readonly store: Pick<StoreReader, 'newestCheckpoint'>;
  readonly cursor: Cursor;
  readonly nowMs: number;
}

/** A head to send now, or when to look again, in Unix milliseconds. */
type NextHead = { readonly size: number; readonly line: Line } | number;

/** For a receiver that has all leaves. Null where it has the newest head. An archive has the roots in its manifests. */
export async function nextHead({ store, cursor, nowMs, ...place }: HeadOptions): Promise<NextHead | null> {
  const { source, target } = place;
  const { size: sent, atMs } = cursor.head ?? { size: 0, atMs: 0 };
  if (target.kind === 's3' || sent >= cursor.next) return null;
  const dueMs = atMs + limits.forwardHeadSeconds * 1000;
  if (nowMs < dueMs) return dueMs;
  const checkpoint = await store.newestCheckpoint(source.projectId, 'audit');
  if (checkpoint === null) return null;
  const { size, root } = unverifiedHead(checkpoint);
  if (size <= sent) return nowMs + signedWithinMs;
  return { size, line: lineOf(headNotice(source, { nowMs, size, root, checkpoint }), place) };
}

/** A log signs its head within this time after an append. */
const signedWithinMs = 5000;
