/**
 * Details of an evaluation with `explain` (contract G7): every clause with its inputs and result, the decisive paths, and
 * the nearest change that alters the outcome. All of it comes from `compile`, so clauses have one meaning.
 * Proven by `test/core/policies/explain/detail.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { Json } from '../../json/parse.ts';
import type { Node } from '../language/ast.ts';
import type { Clause } from '../evaluate/clause.ts';
import type { PolicyInput, Truth } from '../evaluate/compile.ts';
import { echoJson, isMasked, maskedText, valueAt } from './echo.ts';
import type { Masks } from './echo.ts';
import { nearest } from './nearest.ts';
import type { Change } from './nearest.ts';
import { pathText } from '../language/text-print.ts';
import { judge, pathsOf } from './decisive-clauses.ts';
import type { ClauseResult } from './decisive-clauses.ts';

interface TraceEntry {
  /** Path of the clause in the canonical JSON, such as `$.and[0].===`. */
  readonly path: string;
  readonly op: string;
  /** Read values by path; null for absent ones. Long texts are cut, lists and objects shown by size. */
  readonly reads: Readonly<Record<string, Json>>;
  readonly result: boolean | 'indeterminate';
  /** Whether it is one of the decisive clauses. */
  readonly decisive: boolean;
}

export interface Explanation {
  readonly truth: Truth;
  /** In condition order, at most `limits.traceClauses`; decisive clauses take precedence. */
  readonly trace: readonly TraceEntry[];
  /** The paths that decided, sorted: an input with only these paths gives the same result, true or false. */
  readonly decisivePaths: readonly string[];
  readonly nearest: readonly Change[];
}

export interface ExplainOptions {
  readonly masked?: Masks;
}

/** Explains an evaluation. Cost: one evaluation of each clause, and `limits.nearestEvaluations` of the condition. */
export function explain(node: Node, input: PolicyInput, { masked = [] }: ExplainOptions = {}): Explanation {
  const root = judge(node, input);
  const decisive = new Set(root.deciders);
  return {
    truth: root.truth,
    trace: traced(root, decisive).map((judged) => entry(judged, decisive.has(judged), { input, masked })),
    decisivePaths: [...pathsOf(root.deciders)].sort(),
    nearest: nearest(root, input, masked),
  };
}

/** Returns leaves, and connectives that are decisive themselves. */
function traced(root: ClauseResult, decisive: ReadonlySet<ClauseResult>): readonly ClauseResult[] {
  const all: ClauseResult[] = [];
  const walk = (judged: ClauseResult): void => {
    if (judged.parts.length === 0 || decisive.has(judged)) all.push(judged);
    for (const part of judged.parts) walk(part);
  };
  walk(root);
  let spare = Math.max(0, limits.traceClauses - decisive.size);
  return all.filter((judged) => decisive.has(judged) || spare-- > 0).slice(0, limits.traceClauses);
}

interface ExplainedInput {
  readonly input: PolicyInput;
  readonly masked: Masks;
}

const entry = ({ clause, truth }: ClauseResult, decisive: boolean, given: ExplainedInput): TraceEntry => ({
  path: clause.path,
  op: clause.op,
  reads: readsAt(clause, given),
  result: truth === 'indeterminate' ? truth : truth === 'true',
  decisive,
});

function readsAt(clause: Clause, { input, masked }: ExplainedInput): Record<string, Json> {
  const reads = Object.create(null) as Record<string, Json>; // the author chooses the names
  for (const { path } of clause.reads) {
    reads[pathText(path)] = isMasked(path, masked) ? maskedText : echoJson(valueAt(path, input));
  }
  return reads;
}
