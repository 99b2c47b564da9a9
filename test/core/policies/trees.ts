/** Any tree of a condition, for properties that hold for all of them. */
import * as fc from 'fast-check';
import { checkCondition } from '../../../src/core/policies/language/bounds.ts';
import type { Membership, TextFunction } from '../../../src/core/policies/evaluate/tool-texts.ts';
import type { Json, JsonObject } from '../../../src/core/json/parse.ts';
import type { Node, Operator, Scalar, Segment } from '../../../src/core/policies/language/ast.ts';
import type { PolicyInput } from '../../../src/core/policies/evaluate/compile.ts';

const names = fc.constantFrom(
  'tool',
  'env',
  'in',
  'a.b',
  'true',
  'x-y',
  '__proto__',
  'ü',
  '"',
  '\u202e',
  '0',
  '_1',
);
const segments: fc.Arbitrary<Segment> = fc.oneof(names, fc.nat({ max: 3 }), fc.string({ unit: 'grapheme' }));

const numbers = fc
  .double({ noNaN: true, noDefaultInfinity: true })
  .filter((value) => !Number.isInteger(value) || Number.isSafeInteger(value))
  .map((value) => (value === 0 ? 0 : value));
const scalars: fc.Arbitrary<Scalar> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer({ min: -9, max: 9 }),
  numbers,
  fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
);

type Arity = readonly [least: number, most: number];

/** Operators with tests of their own: the reference interpreter does not know them. */
type TextOperator = TextFunction | Membership;

/** How many arguments each operator may have. */
const arities: Readonly<
  Record<Exclude<Operator, 'exists' | 'missing' | 'some' | 'all' | 'none' | 'sem_ver' | TextOperator>, Arity>
> = {
  and: [1, 4],
  or: [1, 4],
  '!': [1, 1],
  '!!': [1, 1],
  if: [1, 5],
  '==': [2, 3],
  '===': [2, 3],
  '!=': [2, 3],
  '!==': [2, 3],
  '<': [2, 3],
  '<=': [2, 3],
  '>': [2, 3],
  '>=': [2, 3],
  in: [2, 2],
  '+': [1, 4],
  '-': [1, 3],
  '*': [1, 4],
  '/': [2, 3],
  '%': [2, 3],
  min: [1, 3],
  max: [1, 3],
  cat: [1, 3],
  substr: [2, 3],
  starts_with: [2, 2],
  ends_with: [2, 2],
  length: [1, 1],
};

/** Paths from the root that a stored condition may have. */
const rootPaths: fc.Arbitrary<Segment[]> = fc.oneof(
  fc.constant<Segment[]>(['step']),
  fc.array(segments, { maxLength: 3 }).map((rest): Segment[] => ['context', ...rest]),
);

const path = (scope: 'root' | 'item', from: fc.Arbitrary<Segment[]>): fc.Arbitrary<Node> =>
  from.map((path): Node => ({ kind: 'path', scope, path }));

const { call } = fc.letrec<{ any: Node; call: Node }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalars.map((value): Node => ({ kind: 'literal', value })),
    path('root', rootPaths),
    fc
      .tuple(rootPaths, tie('any'))
      .map(([path, fallback]): Node => ({ kind: 'path', scope: 'root', path, fallback })),
    fc.array(tie('any'), { maxLength: 3 }).map((items): Node => ({ kind: 'list', items })),
    tie('call'),
    tie('call'),
    tie('call'),
  ),
  call: fc.oneof(
    ...Object.entries(arities).map(([op, [least, most]]) =>
      fc
        .array(tie('any'), { minLength: least, maxLength: most })
        .map((args): Node => ({ kind: 'call', op: op as Operator, args })),
    ),
    ...(['exists', 'missing'] as const).map((op) =>
      path('root', rootPaths).map((path): Node => ({ kind: 'call', op, args: [path] })),
    ),
    rootPaths.map((path): Node => ({
      kind: 'call',
      op: 'sem_ver',
      args: [
        { kind: 'path', scope: 'root', path },
        { kind: 'literal', value: '>=' },
        { kind: 'literal', value: '1.2.0' },
      ],
    })),
    ...(['some', 'all', 'none'] as const).map((op) =>
      fc
        .tuple(
          tie('any'),
          fc.oneof(
            path('item', fc.array(segments, { maxLength: 2 })),
            fc
              .tuple(path('item', fc.array(segments, { maxLength: 2 })), tie('any'))
              .map(([item, other]): Node => ({ kind: 'call', op: '==', args: [item, other] })),
          ),
        )
        .map((args): Node => ({ kind: 'call', op, args })),
    ),
  ),
}));

/** Trees that a stored condition may have. */
export const anyTree: fc.Arbitrary<Node> = call.filter((tree) => {
  try {
    checkCondition(tree);
    return true;
  } catch {
    return false;
  }
});

const values: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalars,
    scalars,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(names, tie('value'), { maxKeys: 4, noNullPrototype: false }),
  ),
})).value;

/** Checkpoints with members of the names that the paths of `anyTree` have. */
export const anyCheckpoint: fc.Arbitrary<PolicyInput> = fc.record(
  { step: fc.nat({ max: 5 }), context: fc.dictionary(names, values, { noNullPrototype: false }) },
  { requiredKeys: ['context'] },
);

const fields = ['a', 'b', 'c'].flatMap((name): Segment[][] => [
  ['context', name],
  ['context', 'o', name],
]);
const field: fc.Arbitrary<Node> = fc
  .constantFrom(...fields, ['step'])
  .map((path): Node => ({ kind: 'path', scope: 'root', path }));
const small: fc.Arbitrary<Scalar> = fc.constantFrom(0, 1, 2, 'x', 'y', true, false);
const written: fc.Arbitrary<Node> = small.map((value): Node => ({ kind: 'literal', value }));
const comparisons = ['==', '===', '!=', '!==', '<', '<=', '>', '>='] as const;

const policies: fc.Arbitrary<Node> = fc.letrec<{ clause: Node; compared: Node }>((tie) => ({
  compared: fc.oneof(
    fc
      .tuple(fc.constantFrom(...comparisons), field, fc.oneof(written, written, field))
      .map(([op, left, right]): Node => ({ kind: 'call', op, args: [left, right] })),
    fc
      .tuple(field, fc.array(written, { maxLength: 3 }))
      .map(([path, items]): Node => ({ kind: 'call', op: 'in', args: [path, { kind: 'list', items }] })),
    fc
      .tuple(fc.constantFrom('exists' as const, 'missing' as const), field)
      .map(([op, path]): Node => ({ kind: 'call', op, args: [path] })),
    fc
      .tuple(fc.constantFrom('starts_with' as const, 'ends_with' as const), field)
      .map(([op, path]): Node => ({ kind: 'call', op, args: [path, { kind: 'literal', value: 'x' }] })),
    field,
  ),
  clause: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    tie('compared'),
    fc
      .tuple(
        fc.constantFrom('and' as const, 'or' as const),
        fc.array(tie('clause'), { minLength: 1, maxLength: 4 }),
      )
      .map(([op, args]): Node => ({ kind: 'call', op, args })),
    fc
      .tuple(fc.constantFrom('!' as const, '!!' as const), tie('clause'))
      .map(([op, arg]): Node => ({ kind: 'call', op, args: [arg] })),
    fc
      .array(tie('clause'), { minLength: 2, maxLength: 5 })
      .map((args): Node => ({ kind: 'call', op: 'if', args })),
  ),
})).clause;

const sizeOf = (node: Node): number =>
  node.kind === 'call' ? node.args.reduce((size, arg) => size + sizeOf(arg), 1) : 1;

/**
 * Conditions as people write them: connectives over comparisons of few fields, so that many are decided. Far
 * below the limits, so that what is made of them, such as a mutant, keeps them too.
 */
export const anyPolicy: fc.Arbitrary<Node> = policies.filter((node) => sizeOf(node) <= 120);

const held: fc.Arbitrary<Json> = fc.oneof(
  { weight: 9, arbitrary: small },
  { weight: 1, arbitrary: fc.constantFrom<Json>([], ['x'], [1, 'y'], {}, { a: 1 }) },
);
const members = fc.record({ a: held, b: held, c: held }, { requiredKeys: [] });

/** Checkpoints with the fields of `anyPolicy`. */
export const anyFields: fc.Arbitrary<PolicyInput> = fc.record(
  {
    step: fc.nat({ max: 3 }),
    context: fc
      .tuple(members, fc.option(members))
      .map(([own, o]): JsonObject => (o === null ? { ...own } : { ...own, o: { ...o } })),
  },
  { requiredKeys: ['context'] },
);
