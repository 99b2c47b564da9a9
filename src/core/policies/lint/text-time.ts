/**
 * Lint of times that are compared as texts. `t < "2026-11-28T10:00:00Z"` compares characters, so 10:30 at +01:00, which is
 * half an hour earlier, counts as later, and 11:00 at +01:00 is not equal. Proven by `test/core/policies/lint/check.test.ts`.
 */
import { parseTimestamp } from '../../time.ts';
import { simpleClausesOf, replaced } from '../evaluate/clause.ts';
import type { Clause } from '../evaluate/clause.ts';
import type { Node } from '../language/ast.ts';
import { printText } from '../language/text-print.ts';
import type { LintFinding } from './finding.ts';

/**
 * Returns one finding for each clause that compares a value and a literal time as texts. The fix compares instants; a time
 * that `time` does not read, such as one without an offset, has no fix.
 */
export const textTimes = (root: Clause): readonly LintFinding[] =>
  simpleClausesOf(root).flatMap((leaf): LintFinding[] => {
    const { node, path } = leaf;
    const instead = instants(node);
    if (instead === node) return [];
    const [got, wanted] = [node, instead].map((each) => printText(each).slice(0, 160));
    const unread = timesOf(instead).find((text) => parseTimestamp(text) === null);
    const write =
      unread === undefined ? wanted : `${unread} with its offset, such as 2026-11-28T10:00:00Z, and time(…)`;
    const detail = `expected times compared as instants, got ${got}: one instant has a text for each offset, and their order is another one; write ${write}`;
    const fix = unread === undefined ? { fix: replaced(root, leaf, instead) } : {};
    return [{ code: 'text_time', severity: 'warning', path, detail, ...fix }];
  });

const comparisons: ReadonlySet<string> = new Set(['<', '<=', '>', '>=', '==', '===', '!=', '!==', 'in']);

/** Returns the node with `time(…)` around the operands of each such comparison, also within `some`; itself without one. */
function instants(node: Node): Node {
  if (node.kind !== 'call') return node;
  const args = node.args.map(instants);
  if (comparisons.has(node.op) && args.some(hasTime)) return { ...node, args: args.map(instant) };
  return args.every((arg, at) => arg === node.args[at]) ? node : { ...node, args };
}

function instant(node: Node): Node {
  if (node.kind === 'list') return { ...node, items: node.items.map(instant) };
  if (node.kind === 'call' && node.op === 'time') return node;
  // RFC 3339 allows `t` and `z`, which `time` does not read
  const read = isTime(node) ? { ...node, value: node.value.toUpperCase() } : node;
  return { kind: 'call', op: 'time', args: [read] };
}

/** A day with a time of day. A day alone may be compared with days, where texts have the right order. */
const isTime = (node: Node): node is Node & { readonly kind: 'literal'; readonly value: string } =>
  node.kind === 'literal' && typeof node.value === 'string' && timeOfDay.test(node.value);
/** Of `in`: a list of times is compared with each. */
const hasTime = (node: Node): boolean => isTime(node) || (node.kind === 'list' && node.items.some(isTime));
const timeOfDay = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d/;

const timesOf = (node: Node): string[] =>
  isTime(node)
    ? [node.value]
    : node.kind === 'call'
      ? node.args.flatMap(timesOf)
      : node.kind === 'list'
        ? node.items.flatMap(timesOf)
        : [];
