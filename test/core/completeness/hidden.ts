/** A log whose operator, with changed software, leaves events of the run "hide" out of the index that it signs. */
import { draftIndex } from '../../../src/core/completeness/index-leaf.ts';
import { LogMap } from '../../../src/core/completeness/log-map.ts';
import { readMapped } from '../../../src/core/completeness/map-function.ts';
import { ProofLog } from '../proofs/log.ts';
import { sealed } from './indexed.ts';

export interface HiddenLog {
  readonly log: ProofLog;
  /** The map that the operator signed. */
  readonly map: LogMap;
  /** The index leaf. */
  readonly index: number;
  /** The leaves of the events of the run, by number. */
  readonly run: readonly number[];
}

/** The numbers of the events that are hidden: the five ways of hiding events of a run of five. */
export const ways: readonly (readonly number[])[] = [[3, 4], [4], [0, 1, 2, 3, 4], [1], [0]];

/** 60 events of eight runs and an index leaf, then more events and an index leaf that hides nothing new. */
export function hiddenLog(hidden: readonly number[]): HiddenLog {
  const log = new ProofLog();
  const map = new LogMap();
  const run: number[] = [];
  const take = (): void => {
    for (let at = map.size; at < log.leaves.length; at++) {
      const mapped = readMapped(log.leaves[at]?.record ?? '');
      const isHidden = hidden.includes(run.indexOf(at));
      map.add(
        log.hashes[at]?.toString('latin1') ?? '',
        isHidden ? { ms: mapped.ms, event: null, items: [] } : mapped,
      );
    }
  };
  for (let at = 0; at < 60; at++) {
    const isOf = at >= 30 && at < 35;
    const { index } = log.record({ runId: isOf ? 'hide' : `run-${at % 7}` });
    if (isOf) run.push(index);
  }
  take();
  const draft = draftIndex({ size: map.size, root: map.root(), keys: map.keys, ms: map.ms, fn: map.fn });
  const index = log.append({ ...draft, record: sealed(draft, map.ms) });
  for (let at = 0; at < 3; at++) log.record({ runId: 'later' });
  return { log, map, index, run };
}
