/**
 * Lint of paths that a condition reads without a presence test. An undecided policy acts, so a policy about tools denies
 * every step without a tool, unless it begins with `has(context.tool)`. Other facts should stay unguarded: a client that
 * can omit a guarded fact would evade the policy.
 * Proven by `test/core/policies/lint/check.test.ts`.
 */
import type { PolicyAction } from '../../../contract/policy-words.ts';
import type { Node, Segment } from '../language/ast.ts';
import type { Clause, Path } from '../evaluate/clause.ts';
import { decide } from '../evaluate/decision.ts';
import type { LintFinding } from './finding.ts';
import { factsOf } from './satisfiable.ts';
import { pathText } from '../language/text-print.ts';

type Guards = readonly (readonly Segment[])[];

/** Returns one finding for each missing guard; the finding for the tool has the guarded condition as fix. */
export function missingGuards(root: Clause, action: PolicyAction): readonly LintFinding[] {
  const found = new Map<string, LintFinding>();
  for (const { clause, path } of unguarded(root, [])) {
    const guard = guardOf(path);
    const text = pathText(guard);
    if (!found.has(text)) found.set(text, finding({ root, clause, path, guard, action }));
  }
  return [...found.values()];
}

interface UnguardedRead {
  readonly clause: Clause;
  readonly path: readonly Segment[];
}

function unguarded(clause: Clause, guards: Guards): readonly UnguardedRead[] {
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

/** A value of an `if` is reached when its test was true and all earlier tests were false. */
function branches(parts: readonly Clause[], guards: Guards): readonly UnguardedRead[] {
  const found: UnguardedRead[] = [];
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

/** Returns the paths that are present if a clause has this result. */
const presentWhere = (clause: Clause, want: boolean): Guards =>
  factsOf(clause, want)
    .filter((fact) => (fact.leaf.op === 'exists' && fact.want) || (fact.leaf.op === 'missing' && !fact.want))
    .flatMap(({ leaf }) => leaf.reads.map(({ path }) => path));

/** Returns the paths of the policy input without a default. */
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

/** Returns the member of the context above a path; a shorter path itself. */
const guardOf = (path: readonly Segment[]): readonly Segment[] => path.slice(0, 2);

interface MissingGuard extends UnguardedRead {
  readonly root: Clause;
  readonly guard: readonly Segment[];
  readonly action: PolicyAction;
}

function finding({ root, clause, path, guard, action }: MissingGuard): LintFinding {
  const { decision } = decide(action, 'indeterminate');
  const found = { code: 'missing_guard', path: clause.path } as const;
  if (!tellsSteps(guard)) {
    const effect = `without it the policy answers ${decision} (fail closed)`;
    const advice = 'with a guard, a client could evade the policy by omitting it';
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

/** Whether a path is the member of the context that marks steps with a tool call. */
const tellsSteps = (path: readonly Segment[]): boolean => path[0] === 'context' && path[1] === 'tool';
