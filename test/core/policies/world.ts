/** A small world of conditions and checkpoints, in which random ones meet: few paths, few values, all types. */
import * as fc from 'fast-check';
import type { Json, JsonObject } from '../../../src/core/json/parse.ts';
import type { Node, Operator, Scalar, Segment } from '../../../src/core/policies/language/ast.ts';
import type { PolicyInput } from '../../../src/core/policies/evaluate/compile.ts';

const call = (op: Operator, ...args: Node[]): Node => ({ kind: 'call', op, args });
const literal = (value: Scalar): Node => ({ kind: 'literal', value });

const rootPaths: readonly (readonly Segment[])[] = [
  ['step'],
  ['context'],
  ['context', 'env'],
  ['context', 'tool'],
  ['context', 'tool', 'name'],
  ['context', 'tool', 'a.b'],
  ['context', 'list'],
  ['context', 'list', 0],
  ['context', 'list', '1', 'name'],
  ['context', 'list', '0'],
  ['context', '__proto__'],
];
const rootPath = fc.constantFrom(...rootPaths).map((path): Node => ({ kind: 'path', scope: 'root', path }));
const itemPath = fc
  .constantFrom<readonly Segment[]>([], ['name'], ['list'], [0])
  .map((path): Node => ({ kind: 'path', scope: 'item', path }));

const scalar = fc.constantFrom<Exclude<Scalar, null>>('prod', 'shell', '', 0, 1, 2, true, false);
const literals = fc.array(scalar, { maxLength: 3 }).map((values) => values.map(literal));
const texts = fc
  .array(fc.constantFrom('prod', 'shell', ''), { maxLength: 3 })
  .map((values) => values.map(literal));
const list = fc.oneof(literals, texts, texts).map((items): Node => ({ kind: 'list', items }));

const { truth } = fc.letrec<{ truth: Node; value: Node; ofItem: Node }>((tie) => ({
  value: fc.oneof(
    { weight: 4, arbitrary: rootPath },
    { weight: 2, arbitrary: scalar.map(literal) },
    fc.tuple(rootPath, scalar).map(([path, value]): Node => ({ ...path, fallback: literal(value) }) as Node),
    rootPath.map((path) => call('length', path)),
    fc.constant(literal(null)),
  ),
  truth: fc.oneof(
    { depthSize: 'small' },
    fc.tuple(rootPath, scalar).map(([path, value]) => call('==', path, literal(value))),
    fc.tuple(rootPath, scalar).map(([path, value]) => call('===', literal(value), path)),
    fc.tuple(rootPath, list).map(([path, values]) => call('in', path, values)),
    rootPath.map((path) => call('exists', path)),
    fc.array(tie('truth'), { minLength: 1, maxLength: 3 }).map((args) => call('and', ...args)),
    fc.array(tie('truth'), { minLength: 1, maxLength: 3 }).map((args) => call('and', ...args)),
    fc.array(tie('truth'), { minLength: 1, maxLength: 3 }).map((args) => call('or', ...args)),
    tie('truth').map((arg) => call('!', arg)),
    fc.tuple(tie('truth'), tie('truth')).map(([a, b]) => call('if', a, b, literal(false))),
    fc.tuple(tie('value'), tie('value')).map(([a, b]) => call('<', a, b)),
    fc.tuple(tie('value'), tie('value')).map(([a, b]) => call('!==', a, b)),
    fc.tuple(rootPath, rootPath).map(([a, b]) => call('in', a, b)),
    fc.array(rootPath, { minLength: 1, maxLength: 2 }).map((paths) => call('!', call('missing', ...paths))),
    iterations(rootPath, tie('ofItem')),
    iterations(tie('value'), tie('ofItem')),
  ),
  ofItem: fc.oneof(
    { depthSize: 'small' },
    fc.tuple(itemPath, scalar).map(([path, value]) => call('==', path, literal(value))),
    itemPath.map((path) => call('exists', path)),
    itemPath,
    tie('truth'),
    fc.array(tie('ofItem'), { minLength: 1, maxLength: 2 }).map((args) => call('and', ...args)),
    iterations(itemPath, tie('ofItem')),
  ),
}));

function iterations(lists: fc.Arbitrary<Node>, predicates: fc.Arbitrary<Node>): fc.Arbitrary<Node> {
  return fc
    .tuple(fc.constantFrom('some', 'all', 'none'), lists, predicates)
    .map(([op, list, predicate]) => call(op as Operator, list, predicate));
}

export const anyCondition: fc.Arbitrary<Node> = truth;

const value: fc.Arbitrary<Json> = fc.oneof(
  { weight: 3, arbitrary: scalar },
  fc.constantFrom<Json>(null, [], {}, ['prod', 1], { name: 'shell', 'a.b': 1 }),
);
const item = fc.oneof(
  value,
  fc.record({ name: value, list: fc.array(value, { maxLength: 2 }) }, { requiredKeys: [] }),
);
const context = fc.record(
  {
    env: value,
    tool: fc.oneof(value, fc.record({ name: value, 'a.b': value, secret: value }, { requiredKeys: [] })),
    list: fc.oneof(value, fc.array(item, { maxLength: 3 })),
    ['__proto__']: value,
    unread: fc.constant('secret'),
  },
  { requiredKeys: [] },
);

export const anyCheckpoint: fc.Arbitrary<PolicyInput> = fc.oneof(
  context.map((context) => ({ context: context as JsonObject })),
  fc.tuple(fc.nat({ max: 2 }), context).map(([step, context]) => ({ step, context: context as JsonObject })),
);
