/**
 * The read-set of conditions: what they read of a policy input, so that history stays replayable without its payload.
 * It is the smallest input on which every condition that reads no more has the same truth. If only the presence of a value
 * is read, as by `exists`, a blank of its kind is retained (`""`, `0`, `false`, `[]`, `{}`); of list items, the parts that
 * the predicate reads. Proven by `test/core/policies/language/read-set.test.ts` (random conditions have the same truth on
 * the retained input).
 */
import type { Json, JsonObject } from '../../json/parse.ts';
import type { Node } from './ast.ts';
import type { PolicyInput } from '../evaluate/compile.ts';
import {
  below,
  each,
  fewest,
  isCovered,
  keepsKind,
  parseRead,
  type PathRead,
  type Step,
  stepOf,
  type Trie,
  trieOf,
} from './read-path.ts';
import { iterates } from './operand-types.ts';
import { isObject } from '../../json/object.ts';

type Path = Extract<Node, { kind: 'path' }>;
type Call = Extract<Node, { kind: 'call' }>;
/** The items of the innermost list, as steps from the root; empty for a computed list. */
type Items = readonly (readonly Step[])[];

export interface ReadSet {
  /** Sorted; none is covered by another. */
  readonly paths: readonly string[];
  /** Returns the part of a policy input that these paths read; values are shared, not copied. */
  retain(input: PolicyInput): PolicyInput;
  /** Returns the paths that a condition reads beyond these: empty if the retained input is enough to replay it. */
  missing(node: Node): string[];
}

/** Returns the fewest paths of the policy input that a condition reads on any branch, sorted. */
export function readPaths(node: Node): string[] {
  const reads: PathRead[] = [];
  collect(node, [], reads);
  return fewest(reads);
}

/** Returns the read-set of paths in the spelling of `readPaths`. Throws an Error for a malformed path. */
export function readSet(paths: Iterable<string>): ReadSet {
  const reads = [...paths].map(parseRead);
  const root = trieOf(reads);
  return {
    paths: fewest(reads),
    retain: (input) => retained(input, root),
    missing: (node) => readPaths(node).filter((path) => !isCovered(parseRead(path), [root])),
  };
}

function collect(node: Node, items: Items, reads: PathRead[]): void {
  switch (node.kind) {
    case 'literal':
      return;
    case 'list':
      for (const item of node.items) collect(item, items, reads);
      return;
    case 'path':
      for (const steps of stepsOf(node, items)) reads.push({ steps, blank: false });
      if (node.fallback !== undefined) collect(node.fallback, items, reads);
      return;
    case 'call':
      collectCall(node, items, reads);
  }
}

function collectCall({ op, args }: Call, items: Items, reads: PathRead[]): void {
  const [list, predicate] = args;
  if (iterates(op) && list !== undefined && predicate !== undefined) {
    collectItems(list, predicate, items, reads);
    return;
  }
  for (const arg of args) {
    if ((op === 'exists' || op === 'missing') && arg.kind === 'path') {
      for (const steps of stepsOf(arg, items)) reads.push({ steps, blank: true });
    } else {
      collect(arg, items, reads);
    }
  }
}

/** Reads the length of a list that is a path and what the predicate reads of its items; another list as a whole. */
function collectItems(list: Node, predicate: Node, items: Items, reads: PathRead[]): void {
  const isPath = list.kind === 'path' && list.fallback === undefined;
  const within = isPath ? stepsOf(list, items).map(itemOf) : [];
  if (!isPath) collect(list, items, reads);
  const ofItems: PathRead[] = [];
  collect(predicate, within, ofItems);
  reads.push(...ofItems);
  for (const steps of within) {
    const isRead = ofItems.some((read) => steps.every((step, at) => read.steps[at] === step));
    if (!isRead) reads.push({ steps, blank: true });
  }
}

const itemOf = (steps: readonly Step[]): readonly Step[] => [...steps, each];

const stepsOf = ({ scope, path }: Path, items: Items): (readonly Step[])[] => {
  const steps: readonly Step[] = path.map(stepOf);
  return scope === 'root' ? [steps] : items.map((item) => [...item, ...steps]);
};

function retained(input: PolicyInput, root: Trie): PolicyInput {
  const { step, context } = input;
  const whole: JsonObject = step === undefined ? { context } : { step, context };
  const kept = keep(whole, [root]);
  // A policy input always has a context, even if nothing of it is read.
  const object = isObject(kept) ? kept : {};
  const parts = { context: isObject(object['context']) ? object['context'] : {} };
  return typeof object['step'] === 'number' ? { step: object['step'], ...parts } : parts;
}

/** Returns the read part of a value; undefined for nothing. Null stays null, since `exists` distinguishes it. */
function keep(value: Json, at: readonly Trie[]): Json | undefined {
  if (at.some((trie) => trie.whole)) return value;
  const kind = at.some(keepsKind);
  if (Array.isArray(value)) return keepItems(value, at) ?? (kind ? [] : undefined);
  if (isObject(value)) return keepMembers(value, at) ?? (kind ? {} : undefined);
  return kind ? blankOf(value) : undefined;
}

/** Items keep their index; null replaces items that are not read. */
function keepItems(items: readonly Json[], at: readonly Trie[]): Json[] | undefined {
  if (at.some((trie) => trie.each !== undefined)) {
    return items.map((item, index) => keep(item, below(at, index)) ?? null);
  }
  const kept: Json[] = [];
  for (const step of at.flatMap(({ members }) => [...members.keys()])) {
    if (typeof step !== 'number' || step >= items.length) continue;
    const item = keep(items[step] ?? null, below(at, step));
    if (item === undefined) continue;
    while (kept.length < step) kept.push(null);
    kept[step] = item;
  }
  return kept.length === 0 ? undefined : kept;
}

function keepMembers(object: JsonObject, at: readonly Trie[]): JsonObject | undefined {
  const kept: JsonObject = Object.create(null) as JsonObject;
  let found = false;
  for (const step of new Set(at.flatMap(({ members }) => [...members.keys()]))) {
    const name = String(step);
    if (!Object.hasOwn(object, name)) continue;
    const member = keep(object[name] ?? null, below(at, step));
    if (member === undefined) continue;
    kept[name] = member;
    found = true;
  }
  return found ? kept : undefined;
}

function blankOf(value: null | boolean | number | string): Json {
  if (value === null) return null;
  if (typeof value === 'string') return '';
  return typeof value === 'number' ? 0 : false;
}
