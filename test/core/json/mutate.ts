/** Every change of one member of a JSON value: to other values of its type, to other types, gone, or one too many. */
import type { Json, JsonObject } from '../../../src/core/json/parse.ts';

export interface Mutation {
  /** JSON pointer of what is changed. */
  readonly pointer: string;
  readonly value: Json;
  readonly what: string;
}

export function* mutations(value: Json, pointer = ''): Generator<Mutation> {
  for (const [what, other] of others(value)) yield { pointer, what, value: other };
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      for (const change of mutations(item, `${pointer}/${at}`))
        yield { ...change, value: value.with(at, change.value) };
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      const { [name]: _gone, ...rest } = value;
      yield { pointer: `${pointer}/${name}`, what: 'without it', value: rest };
      for (const change of mutations(member, `${pointer}/${name}`))
        yield { ...change, value: { ...value, [name]: change.value } };
    }
  }
}

function* others(value: Json): Generator<[what: string, value: Json]> {
  const types: Record<string, Json> = {
    null: null,
    true: true,
    number: 1.5,
    text: 'x',
    array: [],
    object: {},
  };
  for (const [name, other] of Object.entries(types)) {
    if (JSON.stringify(other) !== JSON.stringify(value)) yield [name, other];
  }
  if (typeof value === 'number') {
    for (const other of [value + 1, value - 1, 0, -0, Number.MAX_SAFE_INTEGER, 2 ** 53])
      if (other !== value) yield [String(other), other];
  } else if (typeof value === 'string') {
    yield* otherTexts(value);
  } else if (Array.isArray(value)) {
    yield ['the first gone', value.slice(1)];
    yield ['the last gone', value.slice(0, -1)];
    if (value.length > 0) yield ['the last twice', [...value, value.at(-1)!]];
    if (value.length > 1) yield ['turned around', value.toReversed()];
  } else if (typeof value === 'object' && value !== null) {
    yield ['one member more', { ...value, more: 1 } satisfies JsonObject];
  }
}

/** One character changed for another of its kind, at the start, in the middle and at the end. */
function* otherTexts(value: string): Generator<[what: string, value: Json]> {
  yield ['empty', ''];
  yield ['longer', `${value} `];
  for (const at of new Set([0, value.length >> 1, value.length - 2, value.length - 1])) {
    const char = value[at];
    if (char === undefined) continue;
    const other = /[0-9]/.test(char) ? (char === '1' ? '2' : '1') : char === 'a' ? 'b' : 'a';
    yield [`another character ${at}`, value.slice(0, at) + other + value.slice(at + 1)];
  }
}
