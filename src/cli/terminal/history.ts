/** How a verdict says whether a log shows one history. Tested by `test/cli/commands/proofs/history.test.ts`. */
import type { HistoryResult } from '../../core/evidence/history.ts';
import { shellWord } from '../../core/shell-word.ts';
import { safe, type Safe, type Styles } from './safe.ts';

export interface History {
  readonly result: HistoryResult;
  /** Leaves of the kept head that it was compared with. */
  readonly kept: number | null;
  readonly detail: string | null;
  /** The evidence file that was written. */
  readonly evidence: string | null;
}

/** The line of a verdict; for a split view also what to do. */
export function historyLines(
  { result, kept, detail, evidence }: History,
  { bold, red, yellow }: Styles,
): Safe[] {
  switch (result) {
    case 'first':
      return [safe`  history   first signed head of this log here`];
    case 'extends':
      return [safe`  history   one history with the kept head of ${String(kept)} leaves`];
    case 'not_compared':
      if (detail !== null) return [safe`  history   ${bold(red('NOT SHOWN'))}: ${detail}`];
      return [
        safe`  history   ${yellow(`not compared with the kept head of ${kept} leaves`)}; gov heads check asks the log`,
      ];
    case 'split':
      return [
        safe`  history   ${bold(red('SPLIT VIEW'))}: ${detail ?? ''}`,
        safe`            the log signed both; anybody can check it: gov evidence verify ${shellWord(evidence ?? '')}`,
      ];
  }
}

/** The row of tab-separated output; none without a comparison. */
export const historyRows = (history: History | undefined): (string | null)[][] =>
  history === undefined
    ? []
    : [['history', history.result, history.kept === null ? null : String(history.kept), history.evidence]];
