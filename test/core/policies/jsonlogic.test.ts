/**
 * The public JsonLogic suites (github.com/json-logic/compat-tables). Conditions are a strict profile, so a case may
 * be refused or indeterminate, but an answer that is given is JsonLogic's.
 */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { compileValue, Indeterminate } from '../../../src/core/policies/evaluate/compile.ts';
import { parseCondition } from '../../../src/core/policies/language/parse.ts';
import type { Json, JsonObject } from '../../../src/core/json/parse.ts';
import { GovError } from '../../../src/contract/problems.ts';
import { hasVectors, vectors } from '../../paths.ts';

interface Case {
  readonly suite: string;
  readonly rule: Json;
  readonly data: Json;
  /** Absent where an error is expected. */
  readonly result?: Json;
}

type Class = 'same' | 'different' | 'refused' | 'indeterminate';

const read = (name: string): Json =>
  JSON.parse(readFileSync(vectors(`policy/jsonlogic-compat/suites/${name}`), 'utf8')) as Json;

/** A case is `[rule, data, result]` or an object; a text is a heading. */
function casesOf(suite: string): Case[] {
  return (read(suite) as Json[]).flatMap((each): Case[] => {
    if (typeof each === 'string') return [];
    if (Array.isArray(each)) {
      const [rule, data, result] = each as [Json, Json, Json];
      return [{ suite, rule, data, result }];
    }
    const { rule, data = null, result } = each as JsonObject;
    return [{ suite, rule: rule!, data, ...(result === undefined ? {} : { result }) }];
  });
}

/** An expected error is met by a refusal and by indeterminate alike. */
function classOf({ rule, data, result }: Case): Class {
  let value;
  try {
    value = compileValue(parseCondition(rule))({ context: data as JsonObject });
  } catch (error) {
    if (error instanceof GovError && error.code === 'VALIDATION_ERROR') return 'refused';
    throw error;
  }
  if (value instanceof Indeterminate) return 'indeterminate';
  return isDeepStrictEqual(value, result) ? 'same' : 'different';
}

describe.skipIf(!hasVectors)('the JsonLogic suites', () => {
  const cases = hasVectors ? (read('index.json') as string[]).flatMap(casesOf) : [];

  it('no case of the JsonLogic suites has another answer than conditions give', () => {
    const classes = Map.groupBy(cases, classOf);
    const count = (name: Class): number => classes.get(name)?.length ?? 0;
    expect(classes.get('different') ?? []).toEqual([]);
    expect(cases).toHaveLength(1138);
    expect(count('same')).toBeGreaterThanOrEqual(609);
    expect(count('same') + count('refused') + count('indeterminate')).toBe(cases.length);
  });
});
