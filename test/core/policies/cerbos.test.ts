/**
 * Cerbos' tests of missing and null attributes under all, any and none (github.com/cerbos/cerbos, test data of
 * cel_eval). Cerbos counts an attribute that is missing as false; here such an answer stays open instead.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../src/core/json/parse.ts';
import { compile } from '../../../src/core/policies/evaluate/compile.ts';
import { parseText } from '../../../src/core/policies/language/text.ts';
import { parseCondition } from '../../../src/core/policies/language/parse.ts';
import { canonicalCondition } from '../../../src/core/policies/language/canonical.ts';
import { hasVectors, vectors } from '../../paths.ts';

const folder = vectors('policy/cerbos-cel/internal/test/testdata/cel_eval');
const files = hasVectors ? readdirSync(folder).filter((name) => /^(?:missing|null)_attr_/.test(name)) : [];

/** The few lines of YAML that these files consist of. */
function read(name: string): { condition: Json; context: JsonObject; want: string } {
  const text = readFileSync(`${folder}/${name}`, 'utf8');
  const part = (pattern: RegExp): string => pattern.exec(text)?.[1] ?? expect.fail(`${name}: ${pattern}`);
  const kind = part(/^condition:\n {2}(\w+):/m);
  const clauses = [...text.matchAll(/- expr: (.*)$/gm)].map(([, source]) =>
    canonicalCondition(parseText(source!.replace(/\bP\./, 'principal.').replace(/\bR\./, 'resource.'))),
  );
  const context = JSON.parse(part(/^request: (\{[^]*?^\})/m)) as JsonObject;
  return { condition: { [kind]: clauses }, context, want: part(/^want: (\w+)/m) };
}

describe.skipIf(!hasVectors)('a missing attribute', () => {
  it.each(files)('a missing attribute never reverses the answer of Cerbos: %s', (name) => {
    const { condition, context, want } = read(name);
    expect([want, 'indeterminate']).toContain(compile(parseCondition(condition)).evaluate({ context }));
  });

  it('a missing attribute makes the answer indeterminate unless another clause decides', () => {
    const answers = files.map((name) => {
      const { condition, context } = read(name);
      return [name.replace('.yaml', ''), compile(parseCondition(condition)).evaluate({ context })];
    });
    expect(Object.fromEntries(answers)).toEqual({
      missing_attr_allof: 'indeterminate',
      missing_attr_anyof: 'true',
      missing_attr_noneof: 'false',
      null_attr_allof: 'indeterminate',
      null_attr_anyof: 'true',
      null_attr_noneof: 'indeterminate',
    });
  });
});
