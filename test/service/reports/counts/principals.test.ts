/** For whom a credential acts, and what two of them show. */
import { describe, expect, it } from 'vitest';
import { Principals } from '../../../../src/service/reports/counts/principals.ts';

const of = (made: Record<string, readonly [by: string, type: string]>) =>
  new Principals(new Map(Object.entries(made).map(([key, [id, type]]) => [key, { id, type }])));

describe('two credentials', () => {
  const principals = of({
    key_ann: ['usr_ann', 'person'],
    key_ann2: ['key_ann', 'api_key'],
    key_bob: ['usr_bob', 'person'],
    key_rotated: ['key_bob', 'api_key'],
    key_operator: ['operator', 'operator'],
    key_operator2: ['operator', 'operator'],
    key_of_operator: ['key_operator', 'api_key'],
  });

  it.each([
    ['key_ann', 'key_ann', 'same'],
    ['usr_ann', 'key_ann', 'same'],
    ['usr_ann', 'key_ann2', 'same'],
    ['key_bob', 'key_rotated', 'same'],
    ['key_operator', 'key_of_operator', 'same'],
    ['key_ann2', 'key_rotated', 'persons'],
    ['usr_ann', 'usr_bob', 'persons'],
    ['key_operator', 'key_operator2', 'unknown'],
    ['key_operator', 'usr_ann', 'unknown'],
    ['key_unknown', 'key_ann', 'unknown'],
  ] as const)('%s and %s are %s', (one, other, expected) => {
    expect(principals.apart(one, other)).toBe(expected);
    expect(principals.apart(other, one)).toBe(expected);
  });

  it('a circle of makers, which no service records, ends', () => {
    const circle = of({ key_a: ['key_b', 'api_key'], key_b: ['key_a', 'api_key'] });
    expect(['same', 'unknown']).toContain(circle.apart('key_a', 'key_b'));
  });
});
