/**
 * Lint of rules that compare a text where the canonical action says what a call does: a command line, which a quote, a space or a
 * variable changes; a path, which has many spellings; or the name that one client gives a tool. `fold`, `lower` and `bare` do not
 * help there. Proven by `test/core/policies/lint/text-for-action.test.ts`.
 */
import type { PolicyAction } from '../../../contract/policy-words.ts';
import { clientTools } from '../../action/client-tools.ts';
import { simpleClausesOf } from '../evaluate/clause.ts';
import type { Clause } from '../evaluate/clause.ts';
import type { Node } from '../language/ast.ts';
import { pathText } from '../language/text-print.ts';
import type { LintFinding } from './finding.ts';

const stops: ReadonlySet<PolicyAction> = new Set(['deny', 'escalate']);

/** What an action says instead of an argument. */
const instead: ReadonlyMap<string, string> = new Map([
  ['command', 'some(action.commands, @.program == "rm")'],
  ['cmd', 'some(action.commands, @.program == "rm")'],
  ['file_path', 'some(action.paths, "secret" in @.places)'],
  ['filePath', 'some(action.paths, "secret" in @.places)'],
  ['notebook_path', 'some(action.paths, "secret" in @.places)'],
  ['url', 'some(action.hosts, !host_in(@, ["example.com"]))'],
]);

/** Returns one hint for each clause of a policy that denies or escalates, and reads such a text. */
export const textsForActions = (root: Clause, action: PolicyAction): readonly LintFinding[] =>
  !stops.has(action)
    ? []
    : simpleClausesOf(root).flatMap(({ node, path, reads }): LintFinding[] => {
        const detail = argumentDetail(reads.map((each) => each.path)) ?? nameDetail(node);
        return detail === null ? [] : [{ code: 'text_for_action', severity: 'info', path, detail }];
      });

function argumentDetail(reads: readonly (readonly (string | number)[])[]): string | null {
  for (const path of reads) {
    const [context, given, name] = path;
    if (context !== 'context' || given !== 'arguments' || typeof name !== 'string' || path.length > 3)
      continue;
    const better = instead.get(name);
    if (better !== undefined)
      return `expected what the call does, got the text of ${pathText(path)}: clients name and spell it differently; write ${better}`;
  }
  return null;
}

/** Names of tools that only some clients have. */
function nameDetail(node: Node): string | null {
  if (!readsName(node)) return null;
  for (const name of textsIn(node)) {
    const clients = [...clientTools].filter(([, { tools }]) => tools.has(name.trim()));
    const [first] = clients;
    const kind = first?.[1].tools.get(name.trim())?.kind;
    if (kind === undefined || clients.length === clientTools.size) continue;
    const names = clients.map(([client]) => client).join(', ');
    return `expected what the call does, got ${JSON.stringify(name)}, a tool of ${names} alone: other clients name it differently; write action.kind == ${JSON.stringify(kind)}`;
  }
  return null;
}

const readsName = (node: Node): boolean => {
  if (node.kind === 'path') return node.scope === 'root' && node.path.join('/') === 'context/tool/name';
  return partsOf(node).some(readsName);
};

const textsIn = (node: Node): readonly string[] =>
  node.kind === 'literal' && typeof node.value === 'string' ? [node.value] : partsOf(node).flatMap(textsIn);

const partsOf = (node: Node): readonly Node[] =>
  node.kind === 'list' ? node.items : node.kind === 'call' ? node.args : [];
