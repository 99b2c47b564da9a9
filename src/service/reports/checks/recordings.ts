/**
 * Whether recordings of other programs were read whole, for checks of several templates: from the balances in the events of
 * runs. Proven by `test/service/reports/checks/recordings.test.ts` and `fails.test.ts` in the same folder.
 */
import { balanceWords, isWhole, statedBy, wordOf, type Balance } from '../../../core/balance/statement.ts';
import type { Recordings } from '../../../core/proofs/recordings.ts';
import { count } from '../templates/period.ts';
import type { Examination } from './verdict.ts';

export class RecordingTally {
  readonly #balances: (Balance & { readonly runId: string })[] = [];
  /** Runs with facts of recordings, or with events of balances, that no balance can be compared with. */
  readonly #open: string[] = [];

  add(runId: string, { balances, unread, uncovered }: Recordings): void {
    for (const { balance } of balances) this.#balances.push({ ...balance, runId });
    if (unread.count > 0 || Object.keys(uncovered).length > 0) this.#open.push(runId);
  }

  /** `leftOut`: runs that were not read. */
  examined({ none, leftOut }: { readonly none: string; readonly leftOut: number }): Examination {
    const failing = this.#balances.filter((each) => !isWhole(each));
    // one in which the scanner finds nothing could not have failed
    const compared = this.#balances.filter(({ found }) => Object.keys(found).length > 0);
    const able = new Set([...compared, ...failing]);
    const open = this.#open;
    const empty = this.#balances.length - able.size;
    const missing = [
      ...(open.length === 0 ? [] : [`${runsOf(open)} recordings without a balance.`]),
      ...(empty === 0 ? [] : [`In ${count(empty, 'file')} the scanner finds nothing to compare.`]),
      ...(leftOut === 0 ? [] : [`${count(leftOut, 'run was', 'runs were')} not compared.`]),
    ];
    return {
      examined: able.size,
      failed: failing.length,
      detail: `${balanceWords(this.#balances)}, ${wordOf(statedBy(this.#balances))}.${namesOf(failing)}`,
      none: [none, ...missing].join(' '),
      missing: missing.length === 0 ? null : missing.join(' '),
    };
  }
}

/** How many runs and files a check names. */
const named = 3;

const runsOf = (runs: readonly string[]): string =>
  `${runs.slice(0, named).join(', ')}${runs.length > named ? ` and ${runs.length - named} more` : ''} ${runs.length === 1 ? 'has' : 'have'}`;

function namesOf(failing: readonly (Balance & { readonly runId: string })[]): string {
  const [first] = failing;
  if (first === undefined) return '';
  const files = failing.slice(0, named).map(({ source, runId }) => `${source.name} (${runId})`);
  const more = failing.length > named ? ` and ${failing.length - named} more` : '';
  return ` Not whole: ${files.join(', ')}${more}. gov runs balance ${first.runId} shows what is left out.`;
}
