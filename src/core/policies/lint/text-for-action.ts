/**
 * Lint of rules that compare a text where the canonical action says what a call does: a command line, which a quote, a space or a
 * variable changes; a path, which has many spellings; the name that one client gives a tool, or the name of a client. `fold`, `lower` and `bare` do not
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

/** Names of tools that only some clients have, and names of clients. */
function nameDetail(node: Node): string | null {
  if (readsOneOf(node, ['context/client', 'context/facts/client/name'])) {
    const client = textsIn(node).find((text) => clientTools.has(text.trim().toLowerCase()));
    if (client !== undefined)
      return `expected what the call does, got the client ${JSON.stringify(client)}: calls of other clients are not decided; write action.kind == "shell"`;
  }
  if (!readsOneOf(node, ['context/tool/name'])) return null;
  for (const name of textsIn(node)) {
    const clients = clientsWith(name.trim());
    const [first] = clients;
    if (first === undefined || clients.length === clientTools.size) continue;
    const names = clients.map(({ client }) => client).join(', ');
    return `expected what the call does, got ${JSON.stringify(name)}, a tool of ${names} alone: other clients name it differently; write action.kind == ${JSON.stringify(first.kind)}`;
  }
  return null;
}

/** The clients that have a tool of this name; without one, those that have it in other cases, because `fold` removes these. */
function clientsWith(name: string): { readonly client: string; readonly kind: string }[] {
  const having = (isSame: (tool: string) => boolean) =>
    [...clientTools].flatMap(([client, { tools }]) => {
      const [, tool] = [...tools].find(([each]) => isSame(each)) ?? [];
      return tool === undefined ? [] : [{ client, kind: tool.kind }];
    });
  const exact = having((tool) => tool === name);
  return exact.length > 0 ? exact : having((tool) => tool.toLowerCase() === name.toLowerCase());
}

const readsOneOf = (node: Node, paths: readonly string[]): boolean => {
  if (node.kind === 'path') return node.scope === 'root' && paths.includes(node.path.join('/'));
  return partsOf(node).some((part) => readsOneOf(part, paths));
};

const textsIn = (node: Node): readonly string[] =>
  node.kind === 'literal' && typeof node.value === 'string' ? [node.value] : partsOf(node).flatMap(textsIn);

const partsOf = (node: Node): readonly Node[] =>
  node.kind === 'list' ? node.items : node.kind === 'call' ? node.args : [];
