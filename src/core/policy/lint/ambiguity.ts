/**
 * Tests of membership in a value that may be a list or a text. `"rm" in cmd` holds for the text "x rm", and not for
 * the list ["x rm"], in which it asks for an item: whoever may send either can choose how he is judged. What is
 * named instead takes one of the two and is indeterminate for the other. Proven by `test/core/policy/lint/check.test.ts`.
 */
import type { Node } from '../language/ast.ts';
import { leavesOf } from '../evaluate/clause.ts';
import type { Call, Clause, Path } from '../evaluate/clause.ts';
import type { Finding } from './finding.ts';
import { printText } from '../language/text-print.ts';

/** One finding for each text that is written out and asked for in a path; which of the two was meant is not known. */
export const ambiguousIns = (root: Clause): readonly Finding[] =>
  leavesOf(root).flatMap(({ node, path }) => insOf(node).map((call) => finding(call, path)));

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

function finding({ needle, haystack }: TextIn, path: string): Finding {
  const [text, within] = [printText(needle), printText(haystack)];
  const either = 'a list that has it as an item and a text that has it as a part are both accepted';
  const instead = `write ${text} in substr(${within}, 0) for a text, some(${within}, @ == ${text}) for a list`;
  return {
    code: 'ambiguous_in',
    severity: isSentByAgent(haystack) ? 'warning' : 'info',
    path,
    detail: `expected a list or a text to be asked for, got ${text} in ${within}: ${either}; ${instead}`,
  };
}

/** The arguments of a tool call are what the agent wrote; other facts come from whoever runs it. */
const isSentByAgent = ({ scope, path }: Path): boolean =>
  scope === 'root' && path[0] === 'context' && path[1] === 'arguments';
