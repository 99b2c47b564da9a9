/**
 * What is kept, answered and exported in place of the result of a replay whose values are gone. Proven by
 * `test/service/erasure/copies.test.ts` and `test/service/exports/proofs.test.ts`.
 */
import type { ReplayResult } from '../../contract/replay.ts';
import type { ReplayRecord } from '../decided/replay.ts';
import { readJson, type JsonObject } from '../json/parse.ts';

/** What stands in place of the result of a replay since the erasure of this leaf. */
export const withdrawnText = (leaf: number): string => `{"erasedBy":${leaf}}`;

/** The leaf of the erasure; null for a result. */
export function withdrawnBy(result: string): number | null {
  const [, leaf] = /^\{"erasedBy":(\d{1,15})\}$/.exec(result) ?? [];
  return leaf === undefined ? null : Number(leaf);
}

/** The answer: how many steps there were, of which the log tells, and the leaf that took what they showed. */
export function withdrawnResult(
  { replayId, runId, steps, notReplayable, mismatches, at }: ReplayRecord,
  by: number,
): string {
  const mismatch = mismatches.n;
  const match = steps - mismatch - notReplayable;
  const counts = { match, mismatch, missing: 0, extra: 0, notReplayable, firstDivergence: null };
  const left: ReplayResult = {
    replayId,
    runId,
    steps: [],
    warnings: [`${warningStart}${by}${warningEnd}`],
    driftDiagnostics: [],
    createdAt: at, // when it was asked for, the log does not tell
    summary: { steps, ...counts },
    truncated: true,
  };
  return JSON.stringify(left);
}

const warningStart = 'steps showed values that leaf ';
const warningEnd = ' of the log took since; replay the run again';

/**
 * The leaf by whose word a row stands in place of this replay's result; null for any other row. An attacker controls it;
 * throws what parsers throw.
 */
export function withdrawnRowBy(logged: ReplayRecord, row: string): number | null {
  if (!row.includes(warningStart)) return null;
  const { warnings } = readJson(row) as JsonObject;
  const [warning] = Array.isArray(warnings) ? warnings : [];
  if (typeof warning !== 'string') return null;
  const by = Number(warning.slice(warningStart.length, -warningEnd.length));
  return Number.isSafeInteger(by) && by >= 0 && withdrawnResult(logged, by) === row ? by : null;
}

export const isWithdrawnResult = (logged: ReplayRecord, row: string): boolean =>
  withdrawnRowBy(logged, row) !== null;
