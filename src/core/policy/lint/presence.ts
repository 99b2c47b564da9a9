/**
 * Paths that a condition reads without asking whether they are there. A policy acts where it cannot be decided,
 * so one that is about tools denies every step without a tool, unless it begins with `has(context.tool)`. Any
 * other fact is best left unguarded: whoever could leave it out would escape a policy that asks for it first.
 * Proven by `test/core/policy/lint/check.test.ts`.
 */
import type { PolicyAction } from '../../../contract/policy-words.ts';
import type { Node, Segment } from '../language/ast.ts';
import type { Clause, Path } from '../evaluate/clause.ts';
import { decide } from '../evaluate/decision.ts';
import type { Finding } from './finding.ts';
import { factsOf } from './satisfiable.ts';
import { pathText } from '../language/text-print.ts';

type Guards = readonly (readonly Segment[])[];

/** One finding for each guard that is missing; for that of the tool, with the condition that has it. */
export function missingGuards(root: Clause, action: PolicyAction): readonly Finding[] {
  const found = new Map<string, Finding>();
  for (const { clause, path } of unguarded(root, [])) {
    const guard = guardOf(path);
    const text = pathText(guard);
    if (!found.has(text)) found.set(text, finding({ root, clause, path, guard, action }));
  }
  return [...found.values()];
}

interface Unguarded {
  readonly clause: Clause;
  readonly path: readonly Segment[];
}

function unguarded(clause: Clause, guards: Guards): readonly Unguarded[] {
  const { op, parts } = clause;
  switch (op) {
    case 'exists':
    case 'missing':
      return [];
    case 'and':
    case 'or': {
      const inside = [...guards, ...presentWhere(clause, op === 'and')];
      return parts.flatMap((part) => unguarded(part, inside));
    }
    case '!':
    case '!!':
      return parts.flatMap((part) => unguarded(part, guards));
    case 'if':
      return branches(parts, guards);
    default:
      return bareReads(clause.node)
        .filter(({ path }) => !guards.some((guard) => guard.every((segment, at) => segment === path[at])))
        .map(({ path }) => ({ clause, path }));
  }
}

/** Each value of an `if` stands where its test was true and those before it false. */
function branches(parts: readonly Clause[], guards: Guards): readonly Unguarded[] {
  const found: Unguarded[] = [];
  const passed = [...guards];
  for (let at = 0; at < parts.length; at += 2) {
    const [test, value] = parts.slice(at, at + 2);
    if (test === undefined) break;
    found.push(...unguarded(test, passed));
    if (value !== undefined) found.push(...unguarded(value, [...passed, ...presentWhere(test, true)]));
    passed.push(...presentWhere(test, false));
  }
  return found;
}

/** The paths that are there wherever a clause answers so. */
const presentWhere = (clause: Clause, want: boolean): Guards =>
  factsOf(clause, want)
    .filter((fact) => (fact.leaf.op === 'exists' && fact.want) || (fact.leaf.op === 'missing' && !fact.want))
    .flatMap(({ leaf }) => leaf.reads.map(({ path }) => path));

/** Paths of the checkpoint that stand without a default. */
function bareReads(node: Node): readonly Path[] {
  switch (node.kind) {
    case 'literal':
      return [];
    case 'list':
      return node.items.flatMap(bareReads);
    case 'path':
      if (node.fallback !== undefined) return bareReads(node.fallback);
      return node.scope === 'root' && node.path.join() !== 'context' && node.path.length > 0 ? [node] : [];
    case 'call':
      return node.args.flatMap(bareReads);
  }
}

/** The member of the context that a path is below; the path itself where it is no deeper. */
const guardOf = (path: readonly Segment[]): readonly Segment[] => path.slice(0, 2);

interface Missing extends Unguarded {
  readonly root: Clause;
  readonly guard: readonly Segment[];
  readonly action: PolicyAction;
}

function finding({ root, clause, path, guard, action }: Missing): Finding {
  const { decision } = decide(action, 'indeterminate');
  const found = { code: 'missing_guard', path: clause.path } as const;
  if (!tellsSteps(guard)) {
    const effect = `without it the policy answers ${decision} (fail closed)`;
    const advice = 'a guard would let it be escaped by leaving that out';
    const detail = `expected ${pathText(path)} in the checkpoint, got no guard for it: ${effect}; ${advice}`;
    return { ...found, severity: 'info', detail };
  }
  const effect = `where it is absent the policy answers ${decision}`;
  const exists: Node = { kind: 'call', op: 'exists', args: [{ kind: 'path', scope: 'root', path: guard }] };
  const rest = root.node.kind === 'call' && root.node.op === 'and' ? root.node.args : [root.node];
  return {
    ...found,
    severity: 'warning',
    detail: `expected has(${pathText(guard)}) beside it, got ${pathText(path)} alone: ${effect}`,
    fix: { kind: 'call', op: 'and', args: [exists, ...rest] },
  };
}

/** Whether a path is the member of the context by which steps that call a tool are told from others. */
const tellsSteps = (path: readonly Segment[]): boolean => path[0] === 'context' && path[1] === 'tool';
