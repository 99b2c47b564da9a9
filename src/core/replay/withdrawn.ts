/**
 * What is kept, answered and exported in place of the result of a replay whose values are gone. Proven by
 * `test/service/copies.test.ts` and `exportproofs.test.ts`.
 */
import type { ReplayResult } from '../../contract/replay.ts';
import type { ReplayRecord } from '../decided/replayed.ts';
import { readJson, type JsonObject } from '../json.ts';

/** What stands in place of the result of a replay since the erasure of this leaf. */
export const withdrawnText = (leaf: number): string => `{"erasedBy":${leaf}}`;

/** The leaf of the erasure; null for a result. */
export function withdrawnBy(result: string): number | null {
  const [, leaf] = /^\{"erasedBy":(\d{1,15})\}$/.exec(result) ?? [];
  return leaf === undefined ? null : Number(leaf);
}

/** The answer: how many steps there were, of which the log tells, and the leaf that took what they showed. */
export function withdrawnResult(
  { replayId, runId, steps, notReplayable, mismatches }: ReplayRecord,
  { by, createdAt }: { readonly by: number; readonly createdAt: string },
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
    createdAt,
    summary: { steps, ...counts },
    truncated: true,
  };
  return JSON.stringify(left);
}

const warningStart = 'steps showed values that leaf ';
const warningEnd = ' of the log took since; replay the run again';

/** Whether a row is what stands in place of this replay's result. An attacker controls it; throws what parsers throw. */
export function isWithdrawnResult(logged: ReplayRecord, row: string): boolean {
  if (!row.includes(warningStart)) return false;
  const { warnings, createdAt } = readJson(row) as JsonObject;
  const [warning] = Array.isArray(warnings) ? warnings : [];
  if (typeof warning !== 'string' || typeof createdAt !== 'string') return false;
  const by = Number(warning.slice(warningStart.length, -warningEnd.length));
  return Number.isSafeInteger(by) && withdrawnResult(logged, { by, createdAt }) === row;
}
