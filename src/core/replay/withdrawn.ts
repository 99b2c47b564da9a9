/**
 * The substitute for the result of a replay whose values were erased, in the store, in responses and in exports.
 * Proven by `test/service/erasure/copies.test.ts` and `test/service/exports/proofs.test.ts`.
 */
import type { ReplayResult } from '../../contract/replay.ts';
import type { ReplayRecord } from '../decided/replay.ts';
import { readJson, type JsonObject } from '../json/parse.ts';

/** Returns the stored substitute for a result that the erasure of this leaf withdrew. */
export const withdrawnText = (leaf: number): string => `{"erasedBy":${leaf}}`;

/** Returns the index of the erasing leaf from a stored text; null for a result. */
export function withdrawnBy(result: string): number | null {
  const [, leaf] = /^\{"erasedBy":(\d{1,15})\}$/.exec(result) ?? [];
  return leaf === undefined ? null : Number(leaf);
}

/** Returns the response: the counts that the log has, and the leaf that withdrew the steps. */
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
    createdAt: at, // the log does not have the time of the request
    summary: { steps, ...counts },
    truncated: true,
  };
  return JSON.stringify(left);
}

const warningStart = 'steps showed values that leaf ';
const warningEnd = ' of the log took since; replay the run again';

/**
 * Returns the leaf that withdrew the result of this replay, according to a row; null for any other row. Attacker
 * controlled; throws the errors of the parsers.
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
