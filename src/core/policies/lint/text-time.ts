/**
 * Lint of times that are ordered as texts. `t < "2026-11-28T10:00:00Z"` compares characters, so 10:30 at +01:00, which is
 * half an hour earlier, counts as later. Proven by `test/core/policies/lint/check.test.ts`.
 */
import { parseTimestamp } from '../../time.ts';
import { leavesOf, replaced } from '../evaluate/clause.ts';
import type { Clause } from '../evaluate/clause.ts';
import type { Node } from '../language/ast.ts';
import { printText } from '../language/text-print.ts';
import type { Finding } from './finding.ts';

/** Returns one finding for each clause that orders a value and a literal time as texts. The fix compares instants. */
export const textTimes = (root: Clause): readonly Finding[] =>
  leavesOf(root).flatMap((leaf): Finding[] => {
    const { node, path } = leaf;
    const instead = instants(node);
    if (instead === node) return [];
    const [got, wanted] = [node, instead].map((each) => printText(each).slice(0, 160));
    const detail = `expected times compared as instants, got ${got}: texts of different offsets have another order; write ${wanted}`;
    return [{ code: 'text_time', severity: 'warning', path, detail, fix: replaced(root, leaf, instead) }];
  });

const orders: ReadonlySet<string> = new Set(['<', '<=', '>', '>=']);

/** Returns the node with `time(…)` around the operands of each such order, also within `some`; itself without one. */
function instants(node: Node): Node {
  if (node.kind !== 'call') return node;
  const args = node.args.map(instants);
  if (orders.has(node.op) && args.some(isTime)) return { ...node, args: args.map(instant) };
  return args.every((arg, at) => arg === node.args[at]) ? node : { ...node, args };
}

const instant = (node: Node): Node =>
  node.kind === 'call' && node.op === 'time' ? node : { kind: 'call', op: 'time', args: [node] };

const isTime = (node: Node): boolean =>
  node.kind === 'literal' && typeof node.value === 'string' && parseTimestamp(node.value) !== null;
