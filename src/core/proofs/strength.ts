/**
 * By whose word nothing is missing from a file, and the words that every output has for it. "Proven" is said of index
 * witnesses alone: others derived the index themselves (`docs/how-to/use-index-witnesses.md`).
 * Proven by `test/core/note/strength.test.ts`.
 */
import type { IndexCosigners } from '../note/checkpoint.ts';

/** The strongest first. */
export const strengths = ['witnessed', 'derived', 'own_index', 'none'] as const;
export type Strength = (typeof strengths)[number];

export interface Completeness {
  readonly result: 'passed' | 'failed' | 'not_checked';
  /**
   * `witnessed`: as many index witnesses as the trust requires derived the index. `derived`: this check did, from every
   * record. `own_index`: by the index that the operator of the log signed. `none`: not shown.
   */
  readonly strength: Strength;
  /** Names of the index witnesses in the trust; else the origin of the log, whose index it is. */
  readonly by: readonly string[];
  /** How many index witnesses have to have derived the index. */
  readonly quorum: number;
  /** How many the trust names, or how many records were read; only of `witnessed` and `derived`. */
  readonly of?: number;
}

/** The index leaves of a log whose records this check has read (`src/core/completeness/derive.ts`). */
export interface DerivedLog {
  /** How many records it read. */
  readonly records: number;
  /** `unknown`: another leaf, or one beyond the records. */
  judge(index: number, record: string): 'right' | 'false' | 'unknown';
}

/** Who derived the index of a file. */
export interface IndexDerivation {
  /** Null without a trusted checkpoint, or where the trust names no index witness. */
  readonly cosigners: IndexCosigners | null;
  /** Records from which this check derived the index leaf of the file; null where it did not. */
  readonly records: number | null;
}

const nobody: IndexDerivation = { cosigners: null, records: null };

export function completenessOf(
  checks: readonly { readonly id: string; readonly result: Completeness['result'] }[],
  origin: string | null,
  { cosigners, records }: IndexDerivation = nobody,
): Completeness {
  const result = checks.find(({ id }) => id === 'completeness')?.result ?? 'not_checked';
  const quorum = cosigners?.quorum ?? 0;
  if (result !== 'passed') return { result, strength: 'none', by: [], quorum };
  if (cosigners !== null && quorum > 0 && cosigners.by.length >= quorum)
    return { result, strength: 'witnessed', by: cosigners.by, quorum, of: cosigners.of };
  const by = origin === null ? [] : [origin];
  if (records !== null) return { result, strength: 'derived', by, quorum, of: records };
  return { result, strength: 'own_index', by, quorum };
}

/**
 * That of several files together: no more than each of them has, and proven only by index witnesses that derived the index
 * of all of them. `none` of no file.
 */
export function weakestOf(files: readonly Completeness[]): Completeness {
  const [weakest] = files.toSorted((a, b) => strengths.indexOf(b.strength) - strengths.indexOf(a.strength));
  if (weakest === undefined) return { result: 'not_checked', strength: 'none', by: [], quorum: 0 };
  const failed = files.find(({ result }) => result === 'failed');
  if (failed !== undefined) return failed;
  if (weakest.strength !== 'witnessed') return weakest;
  const by = weakest.by.filter((name) => files.every((file) => file.by.includes(name)));
  return by.length >= weakest.quorum
    ? { ...weakest, by }
    : { result: 'passed', strength: 'own_index', by: [], quorum: weakest.quorum };
}

/** For the command line, after "none missing: ". */
export function strengthText({ strength, by, of = 0 }: Completeness): string {
  switch (strength) {
    case 'witnessed':
      return `proven to ${by.length} of ${of} index witnesses (${by.join(', ')})`;
    case 'derived':
      return `derived here from ${of.toLocaleString('en-US')} records`;
    case 'own_index':
      return "by the operator's own index";
    case 'none':
      return 'not checked';
  }
}

/** For the verify page and for reports. */
export function strengthSentence({ strength, by }: Pick<Completeness, 'strength' | 'by'>): string {
  const whole = 'The log has no more entries than the file shows.';
  switch (strength) {
    case 'witnessed':
      return `${whole} ${listed(by)} derived its index ${by.length === 1 ? 'itself' : 'themselves'}.`;
    case 'derived':
      return `${whole} This check derived the index from every record.`;
    case 'own_index':
      return 'By the index that the operator signed, the log has no more entries. Nobody else checked that index.';
    case 'none':
      return 'The file does not show whether entries are missing.';
  }
}

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`;

interface Judged {
  readonly verified: boolean;
  readonly code: string | null;
  readonly completeness: Completeness;
}

/** The verdict, not verified where nothing else is wrong and the strength is less than the required one. */
export function requireStrength<V extends Judged>(verdict: V, required: Strength | undefined): V {
  const isEnough =
    required === undefined || strengths.indexOf(verdict.completeness.strength) <= strengths.indexOf(required);
  return isEnough || !verdict.verified
    ? verdict
    : { ...verdict, verified: false, code: 'COMPLETENESS_TOO_WEAK' };
}
