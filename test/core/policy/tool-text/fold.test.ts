import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fold } from '../../../../src/core/policy/tool-text/fold.ts';

describe('folded texts', () => {
  it.each([
    ['capitals', 'RM'],
    ['full-width letters', 'ｒｍ'],
    ['a zero-width space', 'r\u200bm'],
    ['a soft hyphen', 'r\u00adm'],
    ['a variation selector', 'rm\ufe0f'],
    ['mathematical letters', '𝐫𝐦'],
  ])('a text with %s folds to the plain text', (_, text) => {
    expect(fold(text)).toBe('rm');
  });

  it('texts that Unicode case folding makes equal fold to one text', () => {
    expect(fold('STRASSE')).toBe(fold('straße'));
    expect(fold('é')).toBe(fold('E\u0301'));
  });

  it('letters of another script stay different', () => {
    expect(fold('рм')).not.toBe('pm');
  });

  it('folding ASCII is lower case, and folding twice changes no ASCII text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii' }), (text) => {
        expect(fold(text)).toBe(text.toLowerCase());
      }),
    );
  });
});
