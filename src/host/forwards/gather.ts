/**
 * Reads leaves from a position and encodes those that a target wants. It works in small pieces and lets other work of
 * the thread run between them, because recording comes first. Proven by `test/host/forwards/lane.test.ts`.
 */
import { setTimeout } from 'node:timers/promises';
import { version } from '../../client/version.ts';
import { limits } from '../../contract/limits.ts';
import { encodeLine } from '../../core/forwards/encode.ts';
import { isNotice } from '../../core/forwards/notice.ts';
import { isWanted } from '../../core/forwards/filter.ts';
import { forwardRecord, type ForwardRecord, type LogSource } from '../../core/forwards/record.ts';
import { syslogMessage } from '../../core/forwards/syslog.ts';
import type { StoreReader } from '../../store/port/store.ts';
import type { ForwardTarget } from './config.ts';
import type { Batch, Line } from './transport.ts';

/** Leaves of one piece: about 1 ms of reading and encoding. */
const pieceLeaves = 20;
/** After a piece the thread rests as long as the piece took, so that forwarding takes at most half of it. */
const restMs = 20;

export interface GatherOptions {
  readonly store: Pick<StoreReader, 'leaves'>;
  readonly source: LogSource;
  readonly target: ForwardTarget;
  readonly hostname: string;
  readonly from: number;
  /** Reads no leaf from here on. */
  readonly size: number;
  /** Reads to the end of a batch that was begun before, whatever its size. */
  readonly exactly: boolean;
}

/** Returns the next batch; empty at the end of the log. */
export async function gather(gathering: GatherOptions): Promise<Batch> {
  const { store, source, from, size, exactly } = gathering;
  const lines: Line[] = [];
  let bytes = 0;
  let at = from;
  let timeMs = 0;
  const isFull = (): boolean =>
    !exactly && (at - from >= limits.forwardBatchLeaves || bytes >= limits.forwardBatchBytes);
  while (at < size && !isFull()) {
    const startedMs = performance.now();
    const to = Math.min(size, at + pieceLeaves);
    for (const leaf of await store.leaves(source.projectId, 'audit', { from: at, to })) {
      const record = forwardRecord(leaf, source, timeMs);
      timeMs = record.loggedMs;
      if (!isWanted(record, gathering.target.filter)) continue;
      const line = lineOf(record, gathering);
      bytes += Buffer.byteLength(line.text);
      lines.push(line);
    }
    at = to;
    await setTimeout(Math.min(restMs, performance.now() - startedMs));
  }
  return { source, from, to: at, lines };
}

/** Encodes one record for the target. */
export function lineOf(
  record: ForwardRecord,
  { target, hostname }: Pick<GatherOptions, 'target' | 'hostname'>,
): Line {
  const { format, ocsfVersion, content } = target;
  const shown = content === 'full' || isNotice(record) ? record : { ...record, data: {} };
  const text = encodeLine(shown, { format, ocsfVersion, version });
  const place = { index: record.index, timeMs: record.timeMs };
  if (target.kind !== 'syslog') return { ...place, text };
  const { facility, maxBytes } = target;
  const msg = format === 'syslog' ? 'sentence' : 'record';
  return { ...place, text: syslogMessage(shown, text, { hostname, facility, maxBytes, msg }) };
}
