/**
 * The balance of a recording, as the event `gov.balance/1` has it in its metadata: what the file holds by its shape
 * (`scan.ts`), and what became of it. For each kind of fact
 *
 *     found + unseen = recorded + observed + inherited + repeated + excepted + left out
 *
 * It is the statement of the credential that recorded it, which the service names, until someone repeats it with the file.
 * Tested by `test/core/balance/statement.test.ts`.
 */
import { isObject } from '../json/object.ts';
import { statedByMember } from '../../contract/stated-by.ts';
import { kinds, type Kind } from './kinds.ts';

export const balanceType = 'gov.balance/1';

/** Zero is left out. */
export type Counts = { readonly [K in Kind]?: number };

interface BalanceSource {
  readonly name: string;
  /** SHA-256 of the file in hex. */
  readonly sha256: string;
  readonly bytes: number;
  readonly format: string;
  /** The part of the bytes outside of the remainder: 1 is all of them. */
  readonly accounted: number;
}

/** A part of the file that is in no event, or only in one that says that gov does not understand it. */
export interface Remainder {
  /** `line 812 /message/content/2`; without a pointer where the place in the line is not known. */
  readonly where: string;
  readonly why: string;
  /** Its bytes in the file; of a part that gov does not understand, those of its canonical JSON. */
  readonly bytes: number;
  /** `sha256:` and the hex digest of these bytes. */
  readonly hash: string;
}

interface InheritedCounts extends Counts {
  readonly run: string;
  /** The id of the last line that is repeated, where only the other file shows it. */
  readonly through?: string;
}

export interface Balance {
  readonly source: BalanceSource;
  /** What the scanner counts. */
  readonly found: Counts;
  /** Facts with an event of their own. */
  readonly recorded: Counts;
  /** Facts that another source had recorded: an observation says that this one saw them too. */
  readonly observed: Counts;
  /** Facts that the file repeats of other runs. */
  readonly inherited: readonly InheritedCounts[];
  /** Further copies in the same file. */
  readonly repeated: Counts;
  /** What has the shape of a fact and is none, and facts that the shape does not show: by the name of the exception. */
  readonly excepted: readonly (Counts & { readonly exception: string })[];
  readonly unseen: readonly (Counts & { readonly exception: string })[];
  /** The first `limits.balanceParts` parts, and what is in all of them. */
  readonly remainder: readonly Remainder[];
  readonly leftOut: Counts & { readonly parts: number };
  /** Set where the file holds several runs: how many, and what became events of this one. */
  readonly runs?: number;
  readonly here?: Counts;
  /** Absent in balances from before the service named the credential. */
  readonly [statedByMember]?: string;
}

export const plus = (a: Counts, b: Counts): Counts => fromEach((kind) => (a[kind] ?? 0) + (b[kind] ?? 0));

/** Returns the counts of a function, without zeros. */
export const fromEach = (of: (kind: Kind) => number): Counts =>
  Object.fromEntries(kinds.map((kind) => [kind, of(kind)] as const).filter(([, count]) => count !== 0));

export const sumOf = (parts: readonly Counts[]): Counts => parts.reduce(plus, {});

/** Returns the kinds whose sum does not come out. */
export function unbalanced(balance: Balance): readonly Kind[] {
  const { found, recorded, observed, inherited, repeated, excepted, unseen, leftOut } = balance;
  const given = plus(found, sumOf(unseen));
  const became = sumOf([recorded, observed, repeated, leftOut, ...inherited, ...excepted]);
  return kinds.filter((kind) => (given[kind] ?? 0) !== (became[kind] ?? 0));
}

/** Whether a balance states anything that is left out. A client may have written members that contradict each other. */
export const leavesOut = ({ leftOut, remainder }: Balance): boolean =>
  leftOut.parts > 0 || remainder.length > 0 || kinds.some((kind) => (leftOut[kind] ?? 0) > 0);

/** Whether the sums come out and nothing is left out. */
export const isWhole = (balance: Balance): boolean => unbalanced(balance).length === 0 && !leavesOut(balance);

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const isCounts = (value: unknown): boolean =>
  isObject(value) && kinds.every((kind) => value[kind] === undefined || isCount(value[kind]));

const isListOf = (value: unknown, name: string): boolean =>
  Array.isArray(value) &&
  value.every((each) => isObject(each) && isCounts(each) && typeof each[name] === 'string');

const isSource = (value: unknown): value is BalanceSource =>
  isObject(value) &&
  ['name', 'sha256', 'format'].every((name) => typeof value[name] === 'string') &&
  isCount(value['bytes']) &&
  typeof value['accounted'] === 'number';

const isRemainder = (value: unknown): boolean =>
  isObject(value) &&
  ['where', 'why', 'hash'].every((name) => typeof value[name] === 'string') &&
  isCount(value['bytes']);

/** Reads the metadata of an event; undefined if it is no balance. A client may have written anything. */
export function readBalance(metadata: unknown): Balance | undefined {
  if (!isObject(metadata)) return undefined;
  const { source, found, recorded, observed, repeated, remainder, leftOut, runs, here } = metadata;
  const isWellFormed =
    isSource(source) &&
    [found, recorded, observed, repeated, leftOut].every(isCounts) &&
    isObject(leftOut) &&
    isCount(leftOut['parts']) &&
    isListOf(metadata['inherited'], 'run') &&
    isListOf(metadata['excepted'], 'exception') &&
    isListOf(metadata['unseen'], 'exception') &&
    Array.isArray(remainder) &&
    remainder.every(isRemainder) &&
    (runs === undefined || isCount(runs)) &&
    (here === undefined || isCounts(here)) &&
    ['undefined', 'string'].includes(typeof metadata[statedByMember]);
  // every member was checked
  return isWellFormed ? (metadata as unknown as Balance) : undefined;
}

/**
 * The newest balance of each file: one that has grown was pushed again under its name. A balance that leaves something out
 * gives way to no other file of its name, and to no statement of another credential.
 */
export class LatestBalances<T = Balance> {
  readonly #latest = new Map<string, { readonly balance: Balance; readonly kept: T }>();

  /** Takes the metadata of the next event with a balance, and what is kept of it; false if it is none. */
  add(metadata: unknown, kept: (balance: Balance) => T): boolean {
    const balance = readBalance(metadata);
    if (balance === undefined) return false;
    const { name, format } = balance.source;
    const key = JSON.stringify([name, format]);
    const before = this.#latest.get(key);
    // the order is that of the newest ones
    this.#latest.delete(key);
    if (before !== undefined && !isWhole(before.balance) && !hasGrown(before.balance, balance))
      this.#latest.set(JSON.stringify([name, format, before.balance.source.sha256]), before);
    this.#latest.set(key, { balance, kept: kept(balance) });
    return true;
  }

  list(): readonly T[] {
    return [...this.#latest.values()].map(({ kept }) => kept);
  }
}

/** Whether a later balance of the same credential may be of the same file: it was read again, or has more in it. */
const hasGrown = (before: Balance, after: Balance): boolean =>
  before[statedByMember] === after[statedByMember] &&
  (before.source.sha256 === after.source.sha256 ||
    (after.source.bytes > before.source.bytes &&
      kinds.every((kind) => (after.found[kind] ?? 0) >= (before.found[kind] ?? 0))));

/** Returns the first term in which two balances of one file differ: by the kind, or undefined. */
export function differenceOf(a: Balance, b: Balance): string | undefined {
  const terms = (balance: Balance) => ({
    found: balance.found,
    // what another source had recorded depends on when the file was read
    recorded: plus(balance.recorded, balance.observed),
    inherited: sumOf(balance.inherited),
    repeated: balance.repeated,
    excepted: sumOf(balance.excepted),
    unseen: sumOf(balance.unseen),
    leftOut: balance.leftOut as Counts,
  });
  const [left, right] = [Object.entries(terms(a)), terms(b)];
  for (const [name, counts] of left) {
    const other = right[name as keyof typeof right];
    const kind = kinds.find((each) => (counts[each] ?? 0) !== (other[each] ?? 0));
    if (kind !== undefined)
      return `${name} ${kind}: ${counts[kind] ?? 0} in the log, ${other[kind] ?? 0} in the file`;
  }
  return undefined;
}

/** One line about the recordings of a run: `3 of 3 files, nothing left out`. */
export const balanceWords = (balances: readonly Balance[]): string =>
  leftOutWords({
    files: balances.length,
    whole: balances.filter(isWhole).length,
    parts: balances.reduce((sum, { leftOut }) => sum + leftOut.parts, 0),
    facts: sumOf(balances.map(({ leftOut }) => leftOut)),
  });

/** The credentials that balances name, each once: the first ten, and `others`. */
export function statedBy(balances: readonly Balance[]): string[] {
  const names = [...new Set(balances.flatMap((balance) => balance[statedByMember] ?? []))].toSorted();
  return names.length > 10 ? [...names.slice(0, 10), 'others'] : names;
}

/** Whose word balances are. */
export const wordOf = (names: readonly string[]): string =>
  `by the word of ${names.join(', ') || 'the importer'}`;

/** `1 call`, `2 calls`: the kinds that are not zero, with their counts. */
export const countsText = (counts: Counts): string =>
  kinds
    .flatMap((kind) => {
      const n = counts[kind] ?? 0;
      return n === 0 ? [] : [`${n} ${n === 1 ? kind.slice(0, -1) : kind}`];
    })
    .join(', ');

/** The same from sums. `parts`: how many are left out; `facts`: what is in them. */
export function leftOutWords({
  files,
  whole,
  parts,
  facts,
}: {
  readonly files: number;
  readonly whole: number;
  readonly parts: number;
  readonly facts: Counts;
}): string {
  const of = `${whole} of ${files} ${files === 1 ? 'file' : 'files'}`;
  const named = countsText(facts);
  if (parts === 0) return whole === files ? `${of}, nothing left out` : `${of}, the sums do not come out`;
  return `${of}; left out: ${parts} ${parts === 1 ? 'part' : 'parts'}${named === '' ? '' : ` with ${named}`}`;
}
