import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { mergePatch } from '../../../src/client/namespaces/merge-patch.ts';

// RFC 7396, appendix A
it.each([
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])('a merge patch of %j with %j gives %j', (target, patch, result) => {
  expect(mergePatch(target, patch)).toEqual(result);
});

it('a merge patch leaves both sides as they are, also with a member named __proto__', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (target, patch) => {
      const [before, with_] = [JSON.stringify(target), JSON.stringify(patch)];
      mergePatch(target, patch);
      expect([JSON.stringify(target), JSON.stringify(patch)]).toEqual([before, with_]);
    }),
  );
  const patch: unknown = JSON.parse('{"__proto__":{"polluted":true}}');
  expect(JSON.stringify(mergePatch({}, patch))).toBe('{"__proto__":{"polluted":true}}');
  expect('polluted' in {}).toBe(false);
});
