import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bare, fold } from '../../../../src/core/policies/tool-text/fold.ts';

describe('bare texts', () => {
  it.each([
    ['capitals', 'WIRE'],
    ['a zero-width space', 'wi\u200bre'],
    ['full-width letters', '\uff57ire'],
    ['a blank after it', 'wire '],
    ['blanks around it', '\u3000 wire\u00a0\n'],
    ['a selector', 'wire\u{e0120}'],
    ['an empty Braille pattern', 'wire\u2800'],
    ['a tag', 'wire\u{e0041}'],
    ['a dotted capital I', 'W\u0130RE'],
    ['a dotless i', 'w\u0131re'],
    ['a combining mark', 'wi\u0301re'],
    ['a control character', 'wire\u0000'],
    ['a direction override', '\u202ewire'],
    ['circled letters', '\u24e6ire'],
  ])('a text with %s is the plain text', (_, text) => {
    expect(bare(text)).toBe('wire');
  });

  it('a blank inside, and a letter of another script, stay', () => {
    expect(bare('wi re')).toBe('wi re');
    expect(bare('wi\u00a0re')).toBe('wi re');
    expect(bare('w\u0456re')).not.toBe('wire');
  });

  it('a bare text is bare', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii' }), (text) => {
        expect(bare(bare(text))).toBe(bare(text));
      }),
    );
  });
});

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

  it('keep what recorded decisions were made with: blanks at the ends, marks, Braille', () => {
    expect([' wire', 'wire ', 'wire\u2800', 'W\u0130RE', 'wi\u0301re'].map(fold)).toEqual([
      ' wire',
      'wire ',
      'wire\u2800',
      'wi\u0307re',
      'w\u00edre',
    ]);
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
