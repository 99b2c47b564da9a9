/**
 * The leaves of a period. Server times never run backwards, so a period is one range of the log. A leaf without a time has
 * that of the newest leaf below it, as in the index of the log (`src/core/completeness/map-function.ts`). Both ends are
 * found by bisection. Proven by `test/service/reports/templates/period.test.ts`.
 */
import { readMapped } from '../../../core/completeness/map-function.ts';
import { formatTimestamp } from '../../../core/time.ts';
import type { ReportSource } from './source.ts';

export interface Period {
  readonly startMs: number;
  /** Included. */
  readonly endMs: number;
  /** The leaves of the period are [from, to). */
  readonly from: number;
  readonly to: number;
  /** Events below it were pruned; 0 where none were. */
  readonly prunedBelow: number;
  /** Server time of the first leaf that has one, and of the newest below the tree size: the state that the report shows. */
  readonly firstMs: number;
  readonly asOfMs: number;
}

export async function periodOf(source: ReportSource): Promise<Period> {
  const { reader, projectId, treeSize, startMs, endMs } = source;
  const prunedBelow = Math.min(await reader.prunedBelow(projectId), treeSize);
  const firstFrom = async (ms: number): Promise<number> => {
    let [low, high] = [prunedBelow, treeSize];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((await timeAt(source, middle, prunedBelow)) >= ms) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  const from = await firstFrom(startMs);
  return {
    startMs,
    endMs,
    // of pruned leaves only decisions and changes are left: their own times select them
    from: from === prunedBelow ? 0 : from,
    to: Math.max(from, await firstFrom(endMs + 1)),
    prunedBelow,
    firstMs: await firstTime(source, prunedBelow),
    asOfMs: treeSize === 0 ? 0 : await timeAt(source, treeSize - 1, prunedBelow),
  };
}

const fewLeaves = 16;
const mostLeaves = 512;

/** The time of a leaf, or 0 before the first leaf that has one. */
async function timeAt(
  { reader, projectId }: ReportSource,
  index: number,
  prunedBelow: number,
): Promise<number> {
  let size = fewLeaves;
  for (let to = index + 1; to > prunedBelow; size = mostLeaves) {
    const from = Math.max(prunedBelow, to - size);
    const leaves = await reader.leaves(projectId, 'audit', { from, to, bodies: false });
    for (const { record } of leaves.toReversed()) {
      const { ms } = readMapped(record);
      if (ms !== null) return ms;
    }
    to = from;
  }
  return 0;
}

async function firstTime({ reader, projectId, treeSize }: ReportSource, from: number): Promise<number> {
  const range = { from, to: Math.min(treeSize, from + mostLeaves), bodies: false } as const;
  for (const { record } of await reader.leaves(projectId, 'audit', range)) {
    const { ms } = readMapped(record);
    if (ms !== null) return ms;
  }
  return 0;
}

/** Whether a leaf belongs to the period. `ms`: the time that the leaf itself states, for leaves among pruned ones. */
export const isIn = ({ from, to, prunedBelow, startMs, endMs }: Period, index: number, ms: number): boolean =>
  index >= from && index < to && (index >= prunedBelow || (ms >= startMs && ms <= endMs));

/** Which leaves a report covers, in words. */
export function coverText(period: Period): string {
  const { from, to } = period;
  if (from >= to) return 'The log recorded nothing in the period.';
  const range = `The period has ${count(to - from, 'leaf', 'leaves')} of the log, ${from} to ${to - 1}.`;
  const pruned = prunedText(period);
  return pruned === null ? range : `${range} ${pruned}`;
}

/** Says that the period may have events that were pruned; null where it has none. */
export const prunedText = ({ from, prunedBelow }: Pick<Period, 'from' | 'prunedBelow'>): string | null =>
  prunedBelow <= from
    ? null
    : `Events below leaf ${prunedBelow} were pruned and are in an archive: this report does not show them.`;

/** A number with its noun. */
export const count = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;

/** The time as the log writes it; null for none. */
export const timeText = (ms: number | null): string | null =>
  ms === null || ms <= 0 ? null : formatTimestamp(ms);
