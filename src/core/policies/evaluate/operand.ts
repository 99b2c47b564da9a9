/** Operand types of operators as words for explanations. Proven by `test/core/policies/explain/reasoning.test.ts`. */
import type { Node, Operator } from '../language/ast.ts';
import type { Indeterminate } from './compile.ts';

export const opposite = { '<': '>=', '<=': '>', '>': '<=', '>=': '<' } as const;

/** The order operator after exchanging the sides. */
export const mirrored = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const;

/** Returns the type that an undecided clause needed; `value` if any type would do. */
export function neededType(clause: Node, { node, reason }: Indeterminate): string {
  const caller = reason === 'absent' && node.kind !== 'call' ? callerOf(clause, node) : undefined;
  const call = caller ?? (node.kind === 'call' ? node : undefined);
  if (call?.kind !== 'call') return 'value';
  return byOperator[call.op] ?? typeOfLiterals(call.args);
}

const byOperator: Readonly<Partial<Record<Operator, string>>> = {
  '+': 'number',
  '-': 'number',
  '*': 'number',
  '/': 'number',
  '%': 'number',
  min: 'number',
  max: 'number',
  some: 'list',
  all: 'list',
  none: 'list',
  substr: 'string',
  starts_with: 'string',
  ends_with: 'string',
  length: 'string or list',
  sem_ver: 'version',
  cat: 'scalar',
  lower: 'string',
  fold: 'string',
  path: 'plain path',
  path_in: 'plain path',
  host: 'URL with one reading',
  host_in: 'URL with one reading',
  programs: 'shell command that names its programs',
  time: 'RFC 3339 time with an offset',
  bare: 'string',
};

/** Returns the call that has a node as argument; undefined if there is none. */
function callerOf(within: Node, node: Node): Node | undefined {
  if (within.kind === 'path') {
    return within.fallback === undefined ? undefined : callerOf(within.fallback, node);
  }
  const parts = within.kind === 'call' ? within.args : within.kind === 'list' ? within.items : [];
  if (within.kind === 'call' && parts.some((part) => part === node || isDefaultOf(part, node))) return within;
  for (const part of parts) {
    const found = callerOf(part, node);
    if (found !== undefined) return found;
  }
  return undefined;
}

const isDefaultOf = (part: Node, node: Node): boolean => part.kind === 'path' && part.fallback === node;

/** Returns the type of the literals in a comparison. */
function typeOfLiterals(args: readonly Node[]): string {
  for (const arg of args) {
    const items = arg.kind === 'list' ? arg.items : [arg];
    const values = items.map((item) => (item.kind === 'literal' ? item.value : null));
    const types = new Set(values.map((value) => (value === null ? 'value' : typeof value)));
    const [type] = types;
    if (types.size === 1 && type !== undefined && type !== 'value') return type;
  }
  return 'value';
}
