/**
 * Colours of a report, from its branding. Text keeps a contrast of 4.5 to 1 on white (WCAG 2.2, 1.4.3), whatever colour
 * the organization chose. Proven by `test/core/reports/pdf/colors.test.ts`.
 */
export interface Colors {
  readonly text: string;
  readonly muted: string;
  readonly rule: string;
  readonly panel: string;
  /** Headings: the primary colour, dark enough to read. */
  readonly heading: string;
  readonly accent: string;
  readonly pass: string;
  readonly fail: string;
  readonly unknown: string;
  /** One a series of a chart; neighbours differ in brightness too. */
  readonly series: readonly string[];
}

type Rgb = readonly [number, number, number];

const rgbOf = (hex: string): Rgb => [
  Number.parseInt(hex.slice(1, 3), 16),
  Number.parseInt(hex.slice(3, 5), 16),
  Number.parseInt(hex.slice(5, 7), 16),
];

const hexOf = (rgb: Rgb): string =>
  `#${rgb.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;

const mix = (one: Rgb, other: Rgb, share: number): Rgb => [
  one[0] + (other[0] - one[0]) * share,
  one[1] + (other[1] - one[1]) * share,
  one[2] + (other[2] - one[2]) * share,
];

/** WCAG 2.2 relative luminance. */
function luminance(rgb: Rgb): number {
  const [red, green, blue] = rgb.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}

/** Returns the contrast of a colour with white, 1 to 21. */
export const contrastOnWhite = (hex: string): number => 1.05 / (luminance(rgbOf(hex)) + 0.05);

/** Returns the colour, darkened until text in it can be read on white. */
export function readable(hex: string): string {
  for (let share = 0; share < 1; share += 0.05) {
    const darker = hexOf(mix(rgbOf(hex), [0, 0, 0], share));
    if (contrastOnWhite(darker) >= 4.5) return darker;
  }
  return '#000000';
}

const isColor = (text: string): boolean => /^#[0-9a-f]{6}$/i.test(text);

export function colorsOf(brand: { readonly primaryColor: string; readonly accentColor: string }): Colors {
  const primary = isColor(brand.primaryColor) ? brand.primaryColor : '#1f3a5f';
  const accent = isColor(brand.accentColor) ? brand.accentColor : primary;
  const heading = readable(primary);
  const dark = rgbOf(heading);
  return {
    text: '#1c1f24',
    muted: '#5b636e',
    rule: '#c9ced6',
    panel: '#f4f6f8',
    heading,
    accent,
    pass: '#1b6e3c',
    fail: '#b3261e',
    unknown: '#7a5200',
    series: [
      heading,
      hexOf(mix(dark, [255, 255, 255], 0.45)),
      readable(accent),
      hexOf(mix(dark, [255, 255, 255], 0.75)),
    ],
  };
}
