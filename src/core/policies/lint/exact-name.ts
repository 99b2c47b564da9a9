/**
 * Lint of rules that stop a tool by its exact name. `tool.name == "pay"` does not match `PAY`, `pay ` or a name with a
 * character that shows nothing, which a tool server may accept. Proven by `test/core/policies/lint/check.test.ts`.
 */
import type { PolicyAction } from '../../../contract/policy-words.ts';
import { simpleClausesOf, replaced } from '../evaluate/clause.ts';
import type { Clause } from '../evaluate/clause.ts';
import type { Node } from '../language/ast.ts';
import { printText } from '../language/text-print.ts';
import { bare } from '../tool-text/fold.ts';
import type { LintFinding } from './finding.ts';

const stops: ReadonlySet<PolicyAction> = new Set(['deny', 'escalate']);

/** Returns one hint for each such clause of a policy that denies or escalates. The fix compares bare names. */
export const exactNames = (root: Clause, action: PolicyAction): readonly LintFinding[] =>
  !stops.has(action)
    ? []
    : simpleClausesOf(root).flatMap((leaf): LintFinding[] => {
        const instead = byBareName(leaf.node);
        if (instead === null) return [];
        const [got, wanted] = [leaf.node, instead].map((each) => printText(each).slice(0, 160));
        const detail = `expected a name compared without case, blanks and hidden characters, got ${got}: another spelling passes; write ${wanted}`;
        const fix = replaced(root, leaf, instead);
        return [{ code: 'exact_name', severity: 'info', path: leaf.path, detail, fix }];
      });

function byBareName(node: Node): Node | null {
  if (node.kind !== 'call' || (node.op !== '==' && node.op !== '===')) return null;
  const name = node.args.find(isToolName);
  const text = node.args.find((each) => each.kind === 'literal');
  if (name === undefined || text?.kind !== 'literal' || typeof text.value !== 'string') return null;
  const args: Node[] = [
    { kind: 'call', op: 'bare', args: [name] },
    { kind: 'literal', value: bare(text.value) },
  ];
  return { ...node, args };
}

const isToolName = (node: Node): boolean =>
  node.kind === 'path' && node.scope === 'root' && node.path.join('/') === 'context/tool/name';
