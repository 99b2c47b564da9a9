/**
 * Reads figures of the stored leaves of a run, a few leaves at a time. Proven by `test/store/suite/log/leaf-figures.ts`.
 */
import {
  noFigures,
  sumOfFigures,
  type IndexedLeaf,
  type LeafFigures,
  type StoreReader,
} from '../port/store.ts';
import { typeNumbers } from '../rules/decided.ts';

/** Leaves of one statement: about 3 ms. */
export const figuresAtOnce = 2000;

/** The figures of leaves whose bodies name the same keys of subjects. */
export interface FigureRow extends Omit<LeafFigures, 'keys'> {
  /** The ids of the keys, or null. */
  readonly keys: string | null;
  /** The largest index of these leaves. */
  readonly last: number;
}

/** SQL: the columns of a `FigureRow`, grouped by the keys of bodies. `i`: the leaf. `record`, `body`: names of its rows. */
export const figureColumns = (record: string, body: string): string =>
  `count(*) AS leaves, count(${record}.record) AS records, count(${body}.disclosures) AS bodies,
   sum(coalesce(octet_length(${record}.record), 0) + coalesce(octet_length(${body}.disclosures), 0)) AS octets,
   sum(coalesce(octet_length(${body}.erased), 0)) AS "erasedOctets", ${body}.keys, max(i.idx) AS last`;

interface Engine<Row extends FigureRow> {
  numberOf(projectId: string): number | Promise<number>;
  readonly seqBelow: StoreReader['runEventsBelow'];
  /** Events of a run with a runSeq in [from, to). */
  events(
    project: number,
    runId: string,
    seqs: { readonly from: number; readonly to: number },
  ): Promise<Row[]>;
  /** The next `figuresAtOnce` leaves of a type with an index in [from, before). */
  decided(
    project: number,
    of: { readonly runId: string; readonly type: number },
    range: { readonly from: number; readonly before: number },
  ): Promise<Row[]>;
  /** How many of the keys that a row names are not destroyed. */
  keysThere(row: Row): number;
  /** Waits until the next statement may run. */
  turn(project: number): Promise<void>;
}

export function figureReads<Row extends FigureRow>(engine: Engine<Row>): Pick<StoreReader, 'leafFigures'> {
  const sum = (rows: readonly Row[]): LeafFigures =>
    rows.map((row) => ({ ...row, keys: row.leaves * engine.keysThere(row) })).reduce(sumOfFigures, noFigures);
  const decided = async (
    project: number,
    of: { runId: string; type: IndexedLeaf },
    { from, before }: { from: number; before: number },
  ): Promise<LeafFigures> => {
    const wanted = { runId: of.runId, type: typeNumbers[of.type] };
    let all = noFigures;
    for (let at = from; ; await engine.turn(project)) {
      const rows = await engine.decided(project, wanted, { from: at, before });
      const found = sum(rows);
      all = sumOfFigures(all, found);
      if (found.leaves < figuresAtOnce) return all;
      at = Math.max(...rows.map(({ last }) => last)) + 1;
    }
  };
  return {
    leafFigures: async (projectId, { runId, type }, { from, before }) => {
      const project = await engine.numberOf(projectId);
      if (type !== 'gov.event/1') return decided(project, { runId, type }, { from, before });
      const first = await engine.seqBelow(projectId, runId, from);
      const end = await engine.seqBelow(projectId, runId, before);
      let all = noFigures;
      for (let at = first; at < end; at += figuresAtOnce, await engine.turn(project)) {
        const seqs = { from: at, to: Math.min(at + figuresAtOnce, end) };
        all = sumOfFigures(all, sum(await engine.events(project, runId, seqs)));
      }
      return all;
    },
  };
}
