/**
 * The operators that flagd added to JsonLogic, `sem_ver`, `starts_with` and `ends_with`, by its own features and
 * schema (github.com/open-feature/flagd-testbed, flagd-schemas). Where flagd falls back to the default variant,
 * because an operand cannot be used, we are indeterminate or refuse.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { GovError } from '../../../src/contract/problems.ts';
import type { Json, JsonObject } from '../../../src/core/json/parse.ts';
import { compileValue, Indeterminate } from '../../../src/core/policies/evaluate/compile.ts';
import { parseCondition } from '../../../src/core/policies/language/parse.ts';
import { compareVersions, parseVersion } from '../../../src/core/policies/language/semver.ts';
import { hasVectors, vectors } from '../../paths.ts';

interface Flag {
  readonly variants: Readonly<Record<string, string>>;
  readonly defaultVariant: string;
  readonly targeting: Json;
}

interface Example {
  readonly key: string;
  readonly context: JsonObject;
  readonly value: string;
}

const read = (name: string): string => readFileSync(vectors(`policy/flagd/${name}`), 'utf8');
const flags = hasVectors
  ? (JSON.parse(read('evaluator/flags/testkit-flags.json')) as { flags: Record<string, Flag> }).flags
  : {};

const cells = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

/** The examples of a Gherkin feature, each scenario with its steps filled in. */
function examplesOf(feature: string): Example[] {
  return read(feature)
    .split(/^ *Scenario(?: Outline)?:/m)
    .slice(1)
    .flatMap((scenario) => {
      const rows = scenario.split('\n').filter((line) => line.trim().startsWith('|'));
      const [names = [], ...examples] = rows.map(cells);
      const filled = (row: readonly string[]): string =>
        names.reduce((text, name, at) => text.replaceAll(`<${name}>`, row[at]!), scenario);
      return (examples.length === 0 ? [scenario] : examples.map(filled)).map(exampleOf);
    });
}

function exampleOf(steps: string): Example {
  const [, key] = /flag with key "([^"]*)"/.exec(steps)!;
  const [, value] = /value should be "([^"]*)"/.exec(steps)!;
  const given = /containing a key "([^"]*)", with type "([^"]*)" and with value "([^"]*)"/.exec(steps);
  const context = given === null ? {} : { [given[1]!]: given[2] === 'String' ? given[3]! : Number(given[3]) };
  return { key: key!, context, value: value! };
}

function resolved({ key, context }: Example): string {
  const { variants, defaultVariant, targeting } = flags[key]!;
  let variant: Json = defaultVariant;
  try {
    const value = compileValue(parseCondition(targeting))({ context });
    if (!(value instanceof Indeterminate)) variant = value;
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
  }
  return variants[variant as string] ?? `no variant ${JSON.stringify(variant)}`;
}

describe.skipIf(!hasVectors)('the features of flagd', () => {
  const examples = hasVectors
    ? ['evaluator/gherkin/semver.feature', 'evaluator/gherkin/string.feature'].flatMap(examplesOf)
    : [];

  it('the test reads all examples of the flagd features', () => expect(examples).toHaveLength(39));

  it.each(examples)('flagd gives the same result: $key of $context is $value', (example) => {
    expect(resolved(example)).toBe(example.value);
  });
});

describe.skipIf(!hasVectors)('the schema of flagd', () => {
  it.each([
    'sem-ver-invalid-range-specifier',
    'sem-ver-invalid-ver-expression',
    'invalid-starts-with-param',
    'invalid-ends-with-param',
  ])('the flagd schema also refuses what conditions refuse: %s', (name) => {
    const targeting = JSON.parse(read(`json/test/targeting/negative/${name}.json`)) as Json;
    expect(() => parseCondition(targeting)).toThrow(/sem_ver|starts_with|ends_with/);
  });

  it('conditions accept what the flagd schema accepts, except for missing operators', () => {
    const { '*': rules } = JSON.parse(read('json/test/targeting/positive/basic-json-ops.json')) as {
      '*': Json[];
    };
    const refused = rules.filter((rule) => {
      try {
        return parseCondition(rule) === undefined;
      } catch {
        return true;
      }
    });
    expect(rules).toHaveLength(47);
    expect(refused.flatMap((rule) => Object.keys(rule as object))).toEqual([
      'map',
      'filter',
      'reduce',
      'merge',
      'merge',
    ]);
  });
});

describe('versions', () => {
  it('versions have the order of Semantic Versioning 2.0.0 §11', () => {
    const ordered =
      '1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 2.0.0 2.1.0 2.1.1';
    const versions = ordered.split(' ').map((text) => parseVersion(text)!);
    for (const [at, a] of versions.entries()) {
      for (const [other, b] of versions.entries()) {
        expect(compareVersions(a, '<', b)).toBe(at < other);
        expect(compareVersions(a, '=', b)).toBe(at === other);
        expect(compareVersions(a, '>=', b)).toBe(at >= other);
      }
    }
  });

  it.each([
    '',
    'v',
    '1.',
    '01.2.3',
    '1.2.3.4',
    '1.2.3-',
    '1.2.3-01',
    '1.2.3-a..b',
    '1.2.3+',
    ' 1',
    '-1',
    '1e3',
    `1.${'1'.repeat(16)}`,
    `1.0.0-${'a'.repeat(260)}`,
  ])('the text %j is not a version', (text) => expect(parseVersion(text)).toBeNull());
});
