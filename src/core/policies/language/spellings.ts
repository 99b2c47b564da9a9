/**
 * Shorter spellings of conditions than JsonLogic:
 *
 *     {"tool.name": "shell", "env": {"in": ["prod"]}}           fields, which must all match
 *     {"field": "env", "operator": "in", "value": ["prod"]}     one field
 *     {"all": [clauses]}, {"any": [clauses]}, {"none": [clauses]}
 *
 * A value alone is compared with `==`, so a value of another type is indeterminate. Within `some`, `all` and `none`, fields
 * belong to the item. Proven by `test/core/policies/language/parse.test.ts`.
 */
import type { Json, JsonObject } from '../../json/parse.ts';
import type { Node, Operator } from './ast.ts';
import { dottedPath, valPath } from './path-spelling.ts';
import { below, refuse } from './refusal.ts';
import { isBoolean } from './operand-types.ts';

/** Position of a JSON value. */
export interface ClausePosition {
  readonly pointer: string;
  readonly depth: number;
  /** Number of enclosing `some`, `all` and `none`. */
  readonly iterators: number;
}

/** Readers of the parts of a spelling, which may have any spelling themselves. */
export interface PartReaders {
  readonly clause: (json: Json, place: ClausePosition) => Node;
  readonly value: (json: Json, place: ClausePosition) => Node;
}

type Path = Extract<Node, { kind: 'path' }>;

const call = (op: Operator, ...args: Node[]): Node => ({ kind: 'call', op, args });

/** Operators on one field. */
const fieldOperators = [
  ...(['==', '===', '!=', '!==', '<', '<=', '>', '>=', 'in', 'starts_with', 'ends_with', 'sem_ver'] as const),
  ...(['path_in', 'host_in'] as const),
  ...(['exists', 'missing', 'some', 'all', 'none'] as const),
];
type FieldOperator = (typeof fieldOperators)[number];

const foreign: ReadonlySet<string> = new Set([
  'map',
  'filter',
  'reduce',
  'merge',
  'missing_some',
  'log',
  'method',
  'throw',
  'try',
  'preserve',
]);

/** JsonLogic operators that conditions lack; a field with such a name is spelled with `context.`. */
export const isReserved = (name: string): boolean => foreign.has(name);

/** Clauses that must all be true, not all be false, or all be false. */
export function clauseList(
  kind: 'all' | 'any' | 'none',
  value: Json,
  place: ClausePosition,
  read: PartReaders,
): Node {
  if (!Array.isArray(value))
    return refuse(place.pointer, 'WRONG_TYPE', `expected a list of clauses in ${kind}`);
  if (value.length === 0) refuse(place.pointer, 'TOO_FEW', `expected one or more clauses in ${kind}`);
  const clauses = value.map((clause, at) => {
    const pointer = below(place.pointer, at);
    const isClause = typeof clause === 'boolean' || (typeof clause === 'object' && !Array.isArray(clause));
    if (!isClause || clause === null)
      refuse(pointer, 'WRONG_TYPE', `expected clauses in ${kind}, which are objects`);
    return read.clause(clause, { ...place, pointer, depth: place.depth + 1 });
  });
  if (kind !== 'any' && clauses.length === 2) refuseIteration(clauses[0] as Node, below(place.pointer, 0));
  const joined = join(kind === 'all' ? 'and' : 'or', clauses);
  return kind === 'none' ? call('!', joined) : joined;
}

/** Refuses a clause that may be a list, over which JsonLogic's `all` and `none` could iterate. */
function refuseIteration(node: Node, pointer: string): void {
  if (isBoolean(node) || (node.kind === 'call' && node.op === 'missing')) return;
  const expected = 'expected a list or a path, to iterate, or a clause that is only true or false';
  refuse(pointer, 'AMBIGUOUS', `${expected}; {"and": […]} takes any`);
}

const join = (op: 'and' | 'or', clauses: readonly Node[]): Node =>
  clauses.length === 1 ? (clauses[0] as Node) : call(op, ...clauses);

/** Returns whether an object is a triple, not fields with these names. */
export const isTriple = (json: JsonObject): boolean =>
  Object.hasOwn(json, 'field') && (Object.hasOwn(json, 'operator') || Object.hasOwn(json, 'value'));

export function tripleSpelling(json: JsonObject, place: ClausePosition, read: PartReaders): Node {
  const { pointer } = place;
  const other = Object.keys(json).find((name) => !['field', 'operator', 'value'].includes(name));
  if (other !== undefined) {
    refuse(below(pointer, other), 'NOT_ALLOWED', 'expected field, operator and value and no other member');
  }
  const { field, operator, value } = json as { readonly [name: string]: Json | undefined };
  const path = fieldPath(field ?? null, below(pointer, 'field'), place);
  const at = below(pointer, 'operator');
  const op = fieldOperator(operator ?? null, at);
  const isPresence = op === 'exists' || op === 'missing';
  if (value === undefined && !isPresence) refuse(pointer, 'NOT_ALLOWED', `expected a value for ${op}`);
  return fieldClause(path, op, value ?? (isPresence && value === undefined), {
    place: { ...place, pointer: below(pointer, 'value') },
    read,
  });
}

function fieldPath(field: Json, pointer: string, { iterators }: ClausePosition): Path {
  if (Array.isArray(field)) return valPath(field, pointer, iterators);
  if (typeof field === 'string' && field !== '') return dottedPath(field, pointer, iterators);
  return refuse(pointer, 'WRONG_TYPE', 'expected a path, such as "tool.name" or ["tool", "name"]');
}

/** Reads fields, each with a required value or an object of operators and values. */
export function fieldsSpelling(json: JsonObject, place: ClausePosition, read: PartReaders): Node {
  const clauses = Object.entries(json).flatMap(([field, value]) => {
    const pointer = below(place.pointer, field);
    const path = fieldPath(field, pointer, place);
    if (Array.isArray(value))
      refuse(pointer, 'NOT_ALLOWED', 'expected a value or {"in": […]} for a field, got a list');
    const isScalar = typeof value !== 'object' || value === null;
    const conditions = isScalar ? [['==', value] as const] : Object.entries(value);
    if (conditions.length === 0) refuse(pointer, 'TOO_FEW', 'expected one or more operators for a field');
    return conditions.map(([operator, operand]) => {
      const itsPointer = isScalar ? pointer : below(pointer, operator);
      return fieldClause(path, fieldOperator(operator, itsPointer), operand, {
        place: { ...place, pointer: itsPointer },
        read,
      });
    });
  });
  return join('and', clauses);
}

function fieldOperator(operator: Json, pointer: string): FieldOperator {
  const found = fieldOperators.find((each) => each === operator);
  if (found !== undefined) return found;
  return refuse(pointer, 'UNKNOWN_OPERATOR', `expected one of ${fieldOperators.join(' ')} for a field`);
}

/** Reads one condition on a field; `place` is the position of the value. */
function fieldClause(
  path: Path,
  op: FieldOperator,
  value: Json,
  { place, read }: { readonly place: ClausePosition; readonly read: PartReaders },
): Node {
  const { pointer } = place;
  const inside = { ...place, depth: place.depth + 1 };
  switch (op) {
    case 'exists':
    case 'missing':
      if (typeof value !== 'boolean') refuse(pointer, 'WRONG_TYPE', `expected true or false for ${op}`);
      return value ? call(op, path) : call('!', call(op, path));
    case 'some':
    case 'all':
    case 'none':
      return call(op, path, read.clause(value, { ...inside, iterators: place.iterators + 1 }));
    case 'sem_ver': {
      const isPair = Array.isArray(value) && value.length === 2;
      if (!isPair)
        refuse(pointer, 'WRONG_TYPE', 'expected a comparison and a version, such as [">=", "1.2.0"]');
      return call(op, path, ...value.map((each) => read.value(each, inside)));
    }
    case 'in':
    case 'path_in':
    case 'host_in':
      return call(op, path, read.value(value, inside));
    default:
      if (value === null) {
        refuse(
          pointer,
          'NOT_ALLOWED',
          'expected a value, got null, which means absent; use {"missing": true}',
        );
      }
      if (Array.isArray(value)) refuse(pointer, 'WRONG_TYPE', `expected one value for ${op}, got a list`);
      return call(op, path, read.value(value, inside));
  }
}
