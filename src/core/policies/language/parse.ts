/**
 * Parses conditions in JSON: the JsonLogic profile of `gov.cond/1` (jsonlogic.com; operators in `ast.ts`), and the shorter
 * spellings of `spellings.ts`. All of them become one tree. Nothing is guessed: an ambiguous or ineffective form is refused
 * with the allowed forms.
 *
 * A clause, whose truth counts, may have any spelling; a value, such as an argument of `==`, only JsonLogic.
 * Proven by `test/core/policies/language/parse.test.ts` and `test/core/policies/jsonlogic.test.ts`.
 */
import type { Json, JsonObject } from '../../json/parse.ts';
import { operators } from './ast.ts';
import type { Node, Operator } from './ast.ts';
import { checkCondition, checkDepth } from './bounds.ts';
import { valPath, varPath } from './path-spelling.ts';
import { below, refuse } from './refusal.ts';
import { clauseList, fieldsSpelling, isReserved, isTriple, tripleSpelling } from './spellings.ts';
import type { ClausePosition, PartReaders } from './spellings.ts';
import { isObject } from '../../json/object.ts';

/**
 * Returns the tree of a condition; `{}` is always true. Attacker controlled: throws VALIDATION_ERROR with `errors` at or
 * below `pointer`. Cost: linear in the size of the condition.
 */
export function parseCondition(condition: Json, pointer = '/condition'): Node {
  if (!isObject(condition) && typeof condition !== 'boolean') {
    refuse(pointer, 'WRONG_TYPE', 'expected an object, such as {"tool.name": "shell"}; {} is always true');
  }
  const place = { pointer, depth: 1, iterators: 0 };
  const node = spelling.clause(condition, place);
  checkCondition(node, pointer);
  return node;
}

/** Readers of the parts of shorter spellings. */
const spelling: PartReaders = {
  clause: (json, place) => (isObject(json) ? clauseOrAlways(json, place) : readNode(json, place, 'clause')),
  value: (json, place) => readNode(json, place, 'value'),
};

function clauseOrAlways(condition: JsonObject, place: ClausePosition): Node {
  return Object.keys(condition).length === 0
    ? { kind: 'literal', value: true }
    : readNode(condition, place, 'clause');
}

function readNode(json: Json, place: ClausePosition, as: 'clause' | 'value'): Node {
  checkDepth(place.depth, place.pointer);
  if (Array.isArray(json)) {
    return { kind: 'list', items: json.map((item, at) => readNode(item, inside(place, at), 'value')) };
  }
  // JSON may spell -0; the canonical form has only 0.
  if (!isObject(json)) return { kind: 'literal', value: json === 0 ? 0 : json };
  const names = Object.keys(json);
  const [name = ''] = names;
  if (names.length === 1 && (isOperator(name) || name in aliases) && !isField(json, as)) {
    return readCall(name, json[name] as Json, { ...place, pointer: below(place.pointer, name) }, as);
  }
  if (names.length === 1 && name === 'any') {
    return clauseList(name, json[name] as Json, { ...place, pointer: below(place.pointer, name) }, spelling);
  }
  if (names.length === 0 || as === 'value' || isReserved(name)) refuseOperation(names, place.pointer);
  const mixed = names.find(
    (each) => (isOperator(each) && !lateNames.has(each)) || each in aliases || each === 'any',
  );
  if (mixed !== undefined) {
    const expected = `expected ${mixed} as the only member; a field of that name is context.${mixed}`;
    refuse(below(place.pointer, mixed), 'AMBIGUOUS', expected);
  }
  return isTriple(json) ? tripleSpelling(json, place, spelling) : fieldsSpelling(json, place, spelling);
}

const isOperator = (name: string): name is Operator => (operators as readonly string[]).includes(name);

/** Operators of which conditions stored before may use the name for a field. */
const lateNames: ReadonlySet<string> = new Set(['time', 'bare']);

/**
 * In a clause a late name is still the field, unless it has a list, which no field accepts: conditions stored before keep
 * their meaning, and the canonical form of the call has a list.
 */
const isField = (json: JsonObject, as: 'clause' | 'value'): boolean =>
  as === 'clause' && Object.keys(json).some((name) => lateNames.has(name) && !Array.isArray(json[name]));

/** Further names in place of operators. */
const aliases = { __proto__: null, var: 'path', val: 'path', '??': 'default', '?:': 'if' } as const;

function refuseOperation(names: readonly string[], pointer: string): never {
  const got = names.length === 1 ? JSON.stringify(names[0]) : `${names.length} members`;
  const allowed = ['var', 'val', '??', ...operators].join(' ');
  return refuse(
    pointer,
    'UNKNOWN_OPERATOR',
    `expected an object with one operator, of ${allowed}, got ${got}`,
  );
}

const inside = (place: ClausePosition, at: number): ClausePosition => ({
  ...place,
  pointer: below(place.pointer, at),
  depth: place.depth + 1,
});

/** Reads an operator with its arguments; `place` is the position of the arguments, at the depth of the call. */
function readCall(name: string, value: Json, place: ClausePosition, as: 'clause' | 'value'): Node {
  switch (name) {
    case 'var':
      return readVar(value, place);
    case 'val':
      return valPath(value, place.pointer, place.iterators);
    case '??':
      return readDefault(value, place);
    case 'exists':
      return readExists(value, place);
    case 'missing':
      return readMissing(value, place);
    case 'all':
    case 'none':
      return isIteration(value) ? readIterator(name, value, place) : clauseList(name, value, place, spelling);
    case 'some':
      return readIterator(name, value, place);
    case 'and':
    case 'or':
      return {
        kind: 'call',
        op: name,
        args: readArguments(listOf(name, value, place), place, () => 'clause'),
      };
    case 'if':
    case '?:': {
      const list = listOf(name, value, place);
      const isTest = (at: number): boolean => at % 2 === 0 && at + 1 < list.length;
      return {
        kind: 'call',
        op: 'if',
        args: readArguments(list, place, (at) => (isTest(at) ? 'clause' : as)),
      };
    }
    default: {
      const kind = name === '!' || name === '!!' ? 'clause' : 'value';
      return { kind: 'call', op: name as Operator, args: readArguments(value, place, () => kind) };
    }
  }
}

/** Reads the arguments of a call; a single one needs no list. */
function readArguments(value: Json, place: ClausePosition, as: (at: number) => 'clause' | 'value'): Node[] {
  if (Array.isArray(value)) return value.map((item, at) => readNode(item, inside(place, at), as(at)));
  return [readNode(value, { ...place, depth: place.depth + 1 }, as(0))];
}

function listOf(name: string, value: Json, { pointer }: ClausePosition): Json[] {
  if (Array.isArray(value)) return value;
  return refuse(pointer, 'WRONG_TYPE', `expected a list of arguments of ${name}`);
}

function readVar(value: Json, place: ClausePosition): Node {
  const { pointer, iterators } = place;
  if (!Array.isArray(value)) return varPath(value, pointer, iterators);
  if (value.length > 2)
    refuse(pointer, 'TOO_MANY', `expected a path and a default, got ${value.length} arguments`);
  const path = varPath(value[0], below(pointer, 0), iterators);
  const [, fallback] = value;
  return fallback === undefined ? path : { ...path, fallback: readNode(fallback, inside(place, 1), 'value') };
}

/** `??`: paths, and the default if all of them are absent. */
function readDefault(value: Json, place: ClausePosition): Node {
  const list = listOf('??', value, place);
  if (list.length < 2) refuse(place.pointer, 'TOO_FEW', 'expected a path and a default as arguments of ??');
  const nodes = readArguments(list, place, () => 'value');
  return nodes.reduceRight((fallback, node, at) => {
    if (node.kind === 'path' && node.fallback === undefined) return { ...node, fallback };
    return refuse(
      below(place.pointer, at),
      'WRONG_TYPE',
      'expected a path in all arguments of ?? but the last',
    );
  });
}

function readExists(value: Json, { pointer, iterators }: ClausePosition): Node {
  if (typeof value === 'string' && value.includes('.')) {
    const [one, path] = [[value], value.split('.')].map((segments) => JSON.stringify(segments));
    refuse(pointer, 'AMBIGUOUS', `expected the segments of a path: ${path}, or ${one} for a name with dots`);
  }
  return { kind: 'call', op: 'exists', args: [valPath(value, pointer, iterators)] };
}

function readMissing(value: Json, place: ClausePosition): Node {
  const { pointer, iterators } = place;
  const list = Array.isArray(value) ? value : [value];
  const args = list.map((each, at) => {
    const itsPointer = Array.isArray(value) ? below(pointer, at) : pointer;
    const isVal = Array.isArray(value) && isObject(each) && Object.keys(each).join() === 'val';
    if (isVal) return valPath(each['val'] as Json, below(itsPointer, 'val'), iterators);
    if (typeof each === 'string') return varPath(each, itsPointer, iterators);
    return refuse(
      itsPointer,
      'WRONG_TYPE',
      'expected paths as texts, such as "tool.name"; they cannot be computed',
    );
  });
  return { kind: 'call', op: 'missing', args };
}

/**
 * Returns whether `all` or `none` is an iterator of JsonLogic, with list and predicate, and not a list of clauses: it has
 * two arguments, of which the first is a list, a path, or no clause.
 */
function isIteration(value: Json): boolean {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [first] = value as [Json];
  if (Array.isArray(first) || !isObject(first)) return true;
  const names = Object.keys(first);
  const [name = ''] = names;
  return names.length === 1 && (name === 'var' || name === 'val' || name === '??');
}

function readIterator(op: 'some' | 'all' | 'none', value: Json, place: ClausePosition): Node {
  const list = listOf(op, value, place);
  const args = list.map((each, at) => {
    const isPredicate = at === 1;
    const iterators = place.iterators + (isPredicate ? 1 : 0);
    return readNode(each, { ...inside(place, at), iterators }, isPredicate ? 'clause' : 'value');
  });
  return { kind: 'call', op, args };
}
