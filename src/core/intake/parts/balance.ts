/**
 * The balance of a file that is read part by part (`reader.ts`): the sum of the balances of its parts. It is that of the
 * whole file only where each part comes out by itself, so any other part has none. Tested by `test/core/intake/parts/reader.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { plus, type Balance, type Counts } from '../../balance/statement.ts';
import { weigh } from '../balance.ts';
import { accountedOf, bytesIn, clipped, scanned, statedOf } from '../balance-file.ts';
import type { PartBalance } from './state.ts';
import type { ImportedRun } from '../run.ts';

/** Returns the balance of lines; undefined where something in them is explained only by others, or by nothing. */
export function balancePart(
  bytes: Buffer,
  { line, run }: { readonly line: number; readonly run: ImportedRun },
): PartBalance | undefined {
  const { found, broken } = scanned(bytes, line);
  if (broken.length > 0) return undefined;
  const weighed = weigh({
    found,
    runs: [run],
    refusedLines: new Set(),
    bytesOf: ({ start, end }) => bytes.subarray(start, end),
  });
  if (weighed.faults.length > 0 || weighed.unexplained > 0) return undefined;
  const { remainder, format } = run;
  return {
    balance: {
      source: { name: '', sha256: '', bytes: bytes.length, format, accounted: 1 },
      ...statedOf(weighed, [run]),
      remainder: remainder.slice(0, limits.balanceParts).map(clipped),
      leftOut: { parts: remainder.length },
    },
    left: bytesIn(remainder),
  };
}

/** Returns the balance of two parts, the earlier one first. */
export function addBalances(a: PartBalance | undefined, b: PartBalance): PartBalance {
  if (a === undefined) return b;
  const [before, after] = [a.balance, b.balance];
  return {
    balance: {
      source: { ...after.source, bytes: before.source.bytes + after.source.bytes },
      found: plus(before.found, after.found),
      recorded: plus(before.recorded, after.recorded),
      observed: {},
      inherited: [],
      repeated: plus(before.repeated, after.repeated),
      excepted: byException([...before.excepted, ...after.excepted]),
      unseen: byException([...before.unseen, ...after.unseen]),
      remainder: [...before.remainder, ...after.remainder].slice(0, limits.balanceParts),
      leftOut: { parts: before.leftOut.parts + after.leftOut.parts },
    },
    left: a.left + b.left,
  };
}

type Excepted = Counts & { readonly exception: string };

function byException(all: readonly Excepted[]): Excepted[] {
  const sums = new Map<string, Counts>();
  for (const { exception, ...counts } of all) sums.set(exception, plus(sums.get(exception) ?? {}, counts));
  return [...sums]
    .map(([exception, counts]) => ({ exception, ...counts }))
    .toSorted((one, other) => (one.exception < other.exception ? -1 : 1));
}

/** Returns the balance of the file; undefined where the importer understands too little of it (`balanceFile` says what). */
export function balanceOfParts(
  { balance, left }: PartBalance,
  { name, sha256 }: Pick<Balance['source'], 'name' | 'sha256'>,
): Balance | undefined {
  const accounted = accountedOf(left, balance.source.bytes);
  if (accounted * 100 < limits.balanceUnderstoodPercent) return undefined;
  return { ...balance, source: { ...balance.source, name, sha256, accounted } };
}
