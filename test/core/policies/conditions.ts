/**
 * Conditions and contexts that have to do with one another: `a` is mostly a number, `b` a text, `c` a boolean,
 * `list` a list, and most arguments have the type that their operator takes, or every answer were indeterminate.
 */
import * as fc from 'fast-check';
import type { Json, JsonObject } from '../../../src/core/json/parse.ts';
import type { Node, Operator, Scalar, Segment } from '../../../src/core/policies/language/ast.ts';

type Path = Extract<Node, { kind: 'path' }>;
type Type = 'number' | 'text' | 'boolean' | 'list';

const values: Readonly<Record<Type, fc.Arbitrary<Json>>> = {
  number: fc.constantFrom<Json>(0, 1, 2, -1, 0.5, 3, 1e308),
  text: fc.constantFrom<Json>('', 'a', 'ab', 'b', '1.2.0', 'v1.3.0-rc.1', '2', '𝄞a'),
  boolean: fc.boolean(),
  list: fc.constantFrom<Json>([], [1, 2], ['a', 'b', null], [[], {}]),
};

const oftenOf = (type: Type, deeper: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
  fc.oneof(
    { weight: 8, arbitrary: type === 'list' ? fc.array(deeper, { maxLength: 3 }) : values[type] },
    { weight: 1, arbitrary: fc.oneof(...Object.values(values)) },
    { weight: 1, arbitrary: fc.constant(null) },
  );

const contextOf = (deeper: fc.Arbitrary<Json>): fc.Arbitrary<JsonObject> =>
  fc.record({
    a: oftenOf('number', deeper),
    b: oftenOf('text', deeper),
    c: oftenOf('boolean', deeper),
    list: oftenOf('list', deeper),
    in: deeper,
  }) as fc.Arbitrary<JsonObject>;

const items = fc.oneof(
  { weight: 2, arbitrary: fc.oneof(...Object.values(values)) },
  { weight: 3, arbitrary: contextOf(fc.oneof(...Object.values(values))) },
);

/** Every member is there; what is absent is left to `hide`. */
export const contexts: fc.Arbitrary<JsonObject> = contextOf(items);

const nameOf: Readonly<Record<Type, Segment>> = { number: 'a', text: 'b', boolean: 'c', list: 'list' };

/** A path that mostly leads to a type, in the context, in `in` below it, or in the item. */
function pathTo(type: Type, hasItem: boolean): fc.Arbitrary<Path> {
  const last = fc.oneof(
    { weight: 12, arbitrary: fc.constant(nameOf[type]) },
    { weight: 1, arbitrary: fc.constantFrom<Segment>(0, '1', 'a', 'length', '__proto__', 'constructor') },
  );
  const root = fc
    .oneof(
      { weight: 6, arbitrary: last.map((name): Segment[] => ['context', name]) },
      { weight: 2, arbitrary: last.map((name): Segment[] => ['context', 'in', name]) },
      {
        weight: 1,
        arbitrary: fc.constant<Segment[]>(type === 'number' ? ['step'] : ['context', nameOf[type]]),
      },
    )
    .map((path): Path => ({ kind: 'path', scope: 'root', path }));
  const item = fc
    .oneof({ weight: 3, arbitrary: last.map((name) => [name]) }, { weight: 1, arbitrary: fc.constant([]) })
    .map((path): Path => ({ kind: 'path', scope: 'item', path }));
  return hasItem ? fc.oneof(root, item, item) : root;
}

const call = (op: string, ...args: Node[]): Node => ({ kind: 'call', op: op as Operator, args });
const literal = (value: Scalar): Node => ({ kind: 'literal', value });
const literalOf = (type: Exclude<Type, 'list'>): fc.Arbitrary<Node> =>
  values[type].filter((value) => value !== 1e308).map((value) => literal(value as Scalar));

interface Options {
  /** Whether operators that ask for absence occur: `exists`, `missing` and defaults. */
  readonly total: boolean;
}

/** Conditions of up to five levels, with every operator. */
export const conditions = ({ total }: Options): fc.Arbitrary<Node> =>
  new Levels(total).of('boolean', 4, false).filter((node) => node.kind === 'call' || node.kind === 'path');

class Levels {
  readonly #total: boolean;
  readonly #made = new Map<string, fc.Arbitrary<Node>>();

  constructor(total: boolean) {
    this.#total = total;
  }

  of(type: Type, depth: number, hasItem: boolean): fc.Arbitrary<Node> {
    const key = `${type} ${depth} ${hasItem}`;
    const made = this.#made.get(key) ?? this.#make(type, depth, hasItem);
    this.#made.set(key, made);
    return made;
  }

  #make(type: Type, depth: number, hasItem: boolean): fc.Arbitrary<Node> {
    const path = pathTo(type, hasItem);
    const literals =
      type === 'list'
        ? fc
            .array(fc.oneof(literalOf('number'), literalOf('text')), { maxLength: 3 })
            .map((items): Node => ({ kind: 'list', items }))
        : literalOf(type);
    const leaves: fc.WeightedArbitrary<Node>[] = [
      { weight: 4, arbitrary: path },
      { weight: 2, arbitrary: literals },
    ];
    if (depth === 0) return fc.oneof(...leaves);
    const next = (of: Type): fc.Arbitrary<Node> => this.of(of, depth - 1, hasItem);
    const some = (of: Type, minLength: number, maxLength: number): fc.Arbitrary<Node[]> =>
      fc.array(next(of), { minLength, maxLength });
    const other = fc.constantFrom<Type>('number', 'text', 'boolean', 'list').chain(next);
    const choice = fc
      .tuple(
        fc.array(fc.tuple(next('boolean'), next(type)), { minLength: 1, maxLength: 2 }),
        next(type),
        fc.nat(5),
      )
      .map(([cases, last, kind]) => call('if', ...cases.flat(), ...(kind === 0 ? [] : [last])));
    const joined = fc
      .tuple(fc.constantFrom('and', 'or'), some(type, 1, 3))
      .map(([op, args]) => call(op, ...args));
    return fc.oneof(
      ...leaves,
      { weight: 1, arbitrary: other },
      { weight: 2, arbitrary: choice },
      { weight: type === 'boolean' ? 8 : 2, arbitrary: joined },
      ...this.#calls(type, { next, some, hasItem, depth }).map((arbitrary) => ({ weight: 4, arbitrary })),
      ...(this.#total
        ? [
            {
              weight: 3,
              arbitrary: fc.tuple(path, next(type)).map(([path, fallback]): Node => ({ ...path, fallback })),
            },
          ]
        : []),
    );
  }

  #calls(
    type: Type,
    {
      next,
      some,
      hasItem,
      depth,
    }: {
      readonly next: (type: Type) => fc.Arbitrary<Node>;
      readonly some: (type: Type, least: number, most: number) => fc.Arbitrary<Node[]>;
      readonly hasItem: boolean;
      readonly depth: number;
    },
  ): fc.Arbitrary<Node>[] {
    const scalar = fc.constantFrom<Type>('number', 'text', 'boolean');
    const anyPath = scalar.chain((of) => pathTo(of, hasItem));
    const of = (ops: readonly string[], args: fc.Arbitrary<Node[]>): fc.Arbitrary<Node> =>
      fc.tuple(fc.constantFrom(...ops), args).map(([op, each]) => call(op, ...each));
    switch (type) {
      case 'number':
        return [
          of(['+', '-', '*', 'min', 'max'], some('number', 1, 3)),
          of(['/', '%'], some('number', 2, 3)),
          of(['length'], fc.oneof(some('text', 1, 1), some('list', 1, 1))),
        ];
      case 'text': {
        const slice = fc.tuple(next('text'), literalOf('number'), fc.option(literalOf('number')));
        return [
          of(['cat'], fc.array(scalar.chain(next), { minLength: 1, maxLength: 3 })),
          slice.map(([text, start, count]) =>
            call('substr', text, start, ...(count === null ? [] : [count])),
          ),
        ];
      }
      case 'list':
        return [
          fc.array(scalar.chain(next), { maxLength: 3 }).map((items): Node => ({ kind: 'list', items })),
          ...(this.#total ? [of(['missing'], fc.array(anyPath, { minLength: 1, maxLength: 2 }))] : []),
        ];
      case 'boolean': {
        const text = (literals: readonly string[]): fc.Arbitrary<Node> =>
          fc.oneof(pathTo('text', hasItem), fc.constantFrom(...literals).map(literal));
        const lists = next('list').filter(({ kind }) => kind === 'path' || kind === 'list');
        const version = text(['1.2', 'v1.3.0', '2.0.0-a.1']);
        const sign = fc.constantFrom('=', '!=', '<', '<=', '>', '>=', '^', '~').map(literal);
        return [
          scalar.chain((each) => of(['==', '===', '!=', '!==', '<', '<=', '>', '>='], some(each, 2, 3))),
          of(['!', '!!'], some('boolean', 1, 1)),
          of(['in'], fc.tuple(scalar.chain(next), next('list'))),
          of(['in'], some('text', 2, 2)),
          of(['some'], fc.tuple(next('list'), this.of('boolean', depth - 1, true))),
          of(['all', 'none'], fc.tuple(lists, this.of('boolean', depth - 1, true))),
          of(['starts_with', 'ends_with'], fc.tuple(text(['a', '1.']), text(['a', 'b', '']))),
          of(['sem_ver'], fc.tuple(version, sign, version)),
          ...(this.#total ? [of(['exists'], fc.tuple(anyPath))] : []),
        ];
      }
    }
  }
}

/** A copy without some of the members; an item of a list becomes null, so that the others keep their places. */
export function hide(value: Json, isHidden: () => boolean): Json {
  if (Array.isArray(value)) return value.map((item) => (isHidden() ? null : hide(item, isHidden)));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => (isHidden() ? [] : [[name, hide(member, isHidden)]])),
  );
}
