/**
 * Lint of `in` with a value that may be a list or a text. `"rm" in cmd` is true for the text "x rm" but false for the list
 * ["x rm"], where it requires an item: a client that may send either can choose the result. The suggested operators
 * accept one type and are indeterminate for the other. Proven by `test/core/policies/lint/check.test.ts`.
 */
import type { Node } from '../language/ast.ts';
import { simpleClausesOf } from '../evaluate/clause.ts';
import type { Call, Clause, Path } from '../evaluate/clause.ts';
import type { LintFinding } from './finding.ts';
import { printText } from '../language/text-print.ts';

/** Returns one finding for each literal text that is searched in a path; lint cannot know which type was meant. */
export const ambiguousIns = (root: Clause): readonly LintFinding[] =>
  simpleClausesOf(root).flatMap(({ node, path }) => insOf(node).map((call) => finding(call, path)));

interface TextIn {
  readonly needle: Node;
  readonly haystack: Path;
}

function insOf(node: Node): readonly TextIn[] {
  switch (node.kind) {
    case 'literal':
      return [];
    case 'list':
      return node.items.flatMap(insOf);
    case 'path':
      return node.fallback === undefined ? [] : insOf(node.fallback);
    case 'call':
      return [...textIn(node), ...node.args.flatMap(insOf)];
  }
}

function textIn({ op, args }: Call): readonly TextIn[] {
  const [needle, haystack] = args;
  if (op !== 'in' || needle?.kind !== 'literal' || haystack?.kind !== 'path') return [];
  return typeof needle.value === 'string' ? [{ needle, haystack }] : [];
}

function finding({ needle, haystack }: TextIn, path: string): LintFinding {
  const [text, within] = [printText(needle), printText(haystack)];
  const either = 'it accepts a list with this item and a text with this part';
  const instead = `write ${text} in substr(${within}, 0) for a text, some(${within}, @ == ${text}) for a list`;
  return {
    code: 'ambiguous_in',
    severity: isSentByAgent(haystack) ? 'warning' : 'info',
    path,
    detail: `expected a test of either a list or a text, got ${text} in ${within}: ${either}; ${instead}`,
  };
}

/** The agent writes the arguments of a tool call; other facts come from the program that runs the agent. */
const isSentByAgent = ({ scope, path }: Path): boolean =>
  scope === 'root' && path[0] === 'context' && path[1] === 'arguments';
