import { assert, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { colorsOf, contrastOnWhite, readable } from '../../../../src/core/reports/pdf/colors.ts';

describe('colours of a report', () => {
  it('white and black have the contrasts that WCAG states', () => {
    expect(contrastOnWhite('#ffffff')).toBeCloseTo(1);
    expect(contrastOnWhite('#000000')).toBeCloseTo(21);
  });

  it('text in any brand colour has a contrast of at least 4.5 on white', () => {
    assert(
      property(integer({ min: 0, max: 0xffffff }), (color) => {
        const hex = `#${color.toString(16).padStart(6, '0')}`;
        expect(contrastOnWhite(readable(hex))).toBeGreaterThanOrEqual(4.5);
      }),
    );
  });

  it('a brand colour that can be read stays, and text that is no colour is replaced', () => {
    expect(colorsOf({ primaryColor: '#1f3a5f', accentColor: '#ffcc00' }).heading).toBe('#1f3a5f');
    expect(colorsOf({ primaryColor: 'red', accentColor: ') Tj' }).heading).toBe('#1f3a5f');
  });
});
