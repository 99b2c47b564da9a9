/**
 * The metering log as a report reads it: the leaves of a time, and the proof of the units of days
 * (`src/core/reports/units.ts`). Proven by `test/service/reports/templates/contents.test.ts`.
 */
import { parseMeterRecord, zeroTotals, type Totals } from '../../core/planes/metering.ts';
import { pathText } from '../../core/proofs/bundle.ts';
import { unitsText, type UnitsCut } from '../../core/reports/units.ts';
import { openOwn } from '../log/checkpoints.ts';
import { inclusionAt } from '../log/tree-proofs.ts';
import type { ReportSource } from './templates/source.ts';

export interface Meter {
  /** Leaves that the note covers; without a note, those that cover audit leaves below the tree size. */
  readonly size: number;
  readonly origin: string;
  readonly root: string | null;
  /** The smallest signed note that covers the audit leaves of the report; null where none is signed yet. */
  readonly note: string | null;
  /** Time and totals of a leaf. */
  at(index: number): Promise<{ readonly ms: number; readonly totals: Totals }>;
}

export async function meterOf({ reader, projectId, treeSize }: ReportSource): Promise<Meter> {
  const last = treeSize === 0 ? null : await reader.meterIndexOf(projectId, treeSize - 1);
  const least = last === null ? 0 : last + 1;
  const note = least === 0 ? null : await reader.checkpointFrom(projectId, 'metering', least);
  const signed = note === null ? null : openOwn(note);
  const project = await reader.project(projectId);
  return {
    size: signed?.size ?? least,
    origin: project?.meteringOrigin ?? '',
    root: signed === null ? null : Buffer.from(signed.root).toString('base64'),
    note,
    at: async (index) => {
      const [leaf] = await reader.leaves(projectId, 'metering', { from: index, to: index + 1 });
      const read = leaf === undefined ? null : parseMeterRecord(leaf.record);
      return { ms: read === null ? 0 : Date.parse(read.at), totals: read?.totals ?? zeroTotals };
    },
  };
}

/** The first leaf at or after a time, from `low` on. */
export async function leafFrom({ at, size }: Meter, ms: number, low = 0): Promise<number> {
  let high = size;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((await at(middle)).ms >= ms) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Totals after the leaves below an index. */
export const totalsBelow = async (meter: Meter, index: number): Promise<Totals> =>
  index === 0 ? zeroTotals : (await meter.at(index - 1)).totals;

/** The file that proves the units between cuts; null where no note is signed yet. */
export async function unitsFile(
  { reader, projectId, breathe }: ReportSource,
  { note, size }: Meter,
  cuts: readonly UnitsCut[],
): Promise<Uint8Array | null> {
  if (note === null) return null;
  const indexes = new Set(cuts.flatMap(({ index }) => [index - 1, index]));
  const leaves = [];
  for (const index of [...indexes].filter((each) => each >= 0 && each < size).toSorted((a, b) => a - b)) {
    const [leaf] = await reader.leaves(projectId, 'metering', { from: index, to: index + 1 });
    const path = await inclusionAt(reader, projectId, { index, size, tree: 'metering' });
    leaves.push({ index, record: leaf?.record ?? '', inclusion: pathText(path) });
    await breathe();
  }
  return Buffer.from(unitsText({ checkpoint: note, leaves, cuts }));
}
