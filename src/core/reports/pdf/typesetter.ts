/**
 * Text in several fonts: which font draws a character, how wide a text is, where its lines break. What no font can draw is
 * said in words, never drawn as an empty box (contract P14). Invisible and direction-changing characters are said too, so
 * that nothing on paper reads otherwise than in the data. Proven by `test/core/reports/pdf/typesetter.test.ts`.
 */
import { hiddenCharacters } from '../../visible.ts';
import type { Pdf } from './library.ts';

export type Face = 'regular' | 'bold' | 'mono';

export interface Style {
  readonly face: Face;
  readonly size: number;
  readonly color: string;
}

/** A piece of a line in one font and one direction. */
interface Run {
  readonly text: string;
  readonly font: string;
  readonly isRightToLeft: boolean;
}

/** Every font of the package has these. */
const plain = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u00ff]*$/;
const rightToLeft =
  /\p{Script=Arabic}|\p{Script=Hebrew}|\p{Script=Syriac}|\p{Script=Thaana}|\p{Script=Nko}|\p{Script=Adlam}/u;
/** Between two words of a right-to-left name. */
const neutral = /^[\s.,'’-]$/u;

const scripts =
  'Arabic Hebrew Han Hiragana Katakana Hangul Devanagari Bengali Tamil Telugu Thai Georgian Armenian Ethiopic Khmer Myanmar Sinhala'.split(
    ' ',
  );
const scriptTests = scripts.map((name) => [name, new RegExp(`\\p{Script=${name}}`, 'u')] as const);

export class Typesetter {
  readonly #pdf: Pdf;
  /** Names of registered fonts, in the order in which they are tried after the face's own. */
  readonly #others: readonly string[];
  readonly #covers = new Map<string, Map<number, boolean>>();
  /** Scripts of which some character could not be drawn so far. */
  readonly missing = new Set<string>();

  /** `others`: registered beside `regular`, `bold` and `mono`. */
  constructor(pdf: Pdf, others: readonly string[]) {
    this.#pdf = pdf;
    this.#others = ['regular', ...others];
  }

  /** Returns the text as it can be drawn: line breaks kept, tabs as spaces, missing characters said between ‹ and ›. */
  printable(text: string, face: Face): string {
    if (plain.test(text)) return text;
    let out = '';
    let lacking: number[] = [];
    let marks = 0;
    const say = (): void => {
      if (lacking.length > 0) out += this.#said(lacking);
      lacking = [];
    };
    for (const character of text.replace(/\r\n?/g, '\n').replaceAll('\t', ' ')) {
      const codePoint = character.codePointAt(0) ?? 0;
      marks = /\p{M}/u.test(character) ? marks + 1 : 0;
      const isDrawn =
        marks <= mostMarks && this.#fontOf(codePoint, face) !== undefined && !isHidden(codePoint);
      if (character === '\n' || isDrawn) {
        if (character === ' ' && lacking.length > 0) {
          lacking.push(codePoint);
          continue;
        }
        const spaces = trailingSpaces(lacking);
        lacking.length -= spaces;
        say();
        out += ' '.repeat(spaces) + character;
      } else lacking.push(codePoint);
    }
    const spaces = trailingSpaces(lacking);
    lacking.length -= spaces;
    say();
    return out;
  }

  /** Whether the fonts have all of a text, and it runs from left to right. */
  canSet(text: string): boolean {
    const isDrawn = (each: string): boolean =>
      each === ' ' ||
      (this.#fontOf(each.codePointAt(0) ?? 0, 'regular') !== undefined &&
        !isHidden(each.codePointAt(0) ?? 0));
    return !rightToLeft.test(text) && [...text.replace(/[\u00a0\u2009\u202f]/g, ' ')].every(isDrawn);
  }

  #said(codePoints: readonly number[]): string {
    const visible = codePoints.filter((each) => each !== 0x20);
    const script = scriptOf(String.fromCodePoint(visible[0] ?? 0));
    this.missing.add(script);
    if (script === 'other')
      return `‹${visible.map(codePointText).slice(0, 4).join(' ')}${visible.length > 4 ? ' …' : ''}›`;
    return `‹${visible.length} ${script} character${visible.length === 1 ? '' : 's'}›`;
  }

  /** The first font that has the character. */
  #fontOf(codePoint: number, face: Face): string | undefined {
    if (this.#has(face, codePoint)) return face;
    return this.#others.find((name) => this.#has(name, codePoint));
  }

  #has(font: string, codePoint: number): boolean {
    const known = this.#covers.get(font) ?? new Map<number, boolean>();
    this.#covers.set(font, known);
    let has = known.get(codePoint);
    if (has === undefined) {
      has = this.#pdf.font(font)._font.font.hasGlyphForCodePoint(codePoint);
      known.set(codePoint, has);
    }
    return has;
  }

  /** Splits a printable line. */
  #runs(line: string, face: Face): readonly Run[] {
    if (plain.test(line)) return [{ text: line, font: face, isRightToLeft: false }];
    const runs: Run[] = [];
    const characters = [...line];
    characters.forEach((text, at) => {
      const last = runs.at(-1);
      const joins = last?.isRightToLeft === true && neutral.test(text) && leadsRight(characters, at + 1);
      const isRightToLeft = joins || rightToLeft.test(text);
      const own = this.#fontOf(text.codePointAt(0) ?? 0, face) ?? face;
      // a combining mark stays in the font of its letter
      const font =
        last !== undefined &&
        (joins || /^\p{M}$/u.test(text)) &&
        this.#has(last.font, text.codePointAt(0) ?? 0)
          ? last.font
          : own;
      if (last !== undefined && last.font === font && last.isRightToLeft === isRightToLeft) {
        runs[runs.length - 1] = { ...last, text: last.text + text };
      } else runs.push({ text, font, isRightToLeft });
    });
    return runs;
  }

  #runWidth({ text, font, isRightToLeft }: Run, size: number): number {
    return this.#pdf.font(font).fontSize(size).widthOfString(text, shaping(isRightToLeft));
  }

  /** Width in points of a printable line. */
  width(line: string, { face, size }: Pick<Style, 'face' | 'size'>): number {
    return this.#runs(line, face).reduce((sum, run) => sum + this.#runWidth(run, size), 0);
  }

  /** Draws a printable line; `y` is its baseline. */
  draw(line: string, at: { readonly x: number; readonly y: number }, style: Style): void {
    const runs = this.#runs(line, style.face);
    let { x } = at;
    for (const run of runs) {
      if (run.text === '') continue;
      this.#pdf
        .font(run.font)
        .fontSize(style.size)
        .fillColor(style.color)
        .text(run.text, x, at.y, { lineBreak: false, baseline: 'alphabetic', ...shaping(run.isRightToLeft) });
      if (runs.length > 1) x += this.#runWidth(run, style.size);
    }
  }

  /** Breaks a printable text into lines of at most `width` points; a longer word is broken within. */
  wrap(text: string, style: Pick<Style, 'face' | 'size'>, width: number): string[] {
    return text.split('\n').flatMap((paragraph) => this.#wrapParagraph(paragraph, style, width));
  }

  #wrapParagraph(paragraph: string, style: Pick<Style, 'face' | 'size'>, width: number): string[] {
    if (this.width(paragraph, style) <= width) return [paragraph];
    const space = this.width(' ', style);
    const lines: string[] = [];
    let line = '';
    let used = 0;
    for (const word of paragraph.split(' ')) {
      const size = this.width(word, style);
      if (line !== '' && used + space + size <= width) {
        line += ` ${word}`;
        used += space + size;
        continue;
      }
      if (line !== '') lines.push(line);
      const pieces = size <= width ? [word] : this.#breakWord(word, style, width);
      lines.push(...pieces.slice(0, -1));
      line = pieces.at(-1) ?? '';
      used = pieces.length === 1 ? size : this.width(line, style);
    }
    lines.push(line);
    return lines;
  }

  /** Breaks after a separator where one is in the last third of a line, else after any character. */
  #breakWord(word: string, style: Pick<Style, 'face' | 'size'>, width: number): string[] {
    const pieces: string[] = [];
    let rest = [...word];
    // no more characters than this fit, so a long text is not measured again and again
    const most = Math.ceil(width / (style.size * 0.15)) + 1;
    const fits = (count: number): boolean => this.width(rest.slice(0, count).join(''), style) <= width;
    while (rest.length > 1 && (rest.length > most || !fits(rest.length))) {
      let low = 1;
      let high = Math.min(rest.length - 1, most);
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (fits(middle)) low = middle;
        else high = middle - 1;
      }
      const end = style.face === 'mono' ? evenly(rest.length, low) : afterSeparator(rest, low);
      pieces.push(rest.slice(0, end).join(''));
      rest = rest.slice(end);
    }
    return [...pieces, rest.join('')];
  }
}

/** Whether right-to-left text goes on at this position, after neutral characters. */
function leadsRight(characters: readonly string[], from: number): boolean {
  let at = from;
  while (neutral.test(characters[at] ?? '')) at += 1;
  return rightToLeft.test(characters[at] ?? '');
}

/** A hash breaks into equal parts. */
const evenly = (length: number, most: number): number => Math.ceil(length / Math.ceil(length / most));

function afterSeparator(characters: readonly string[], most: number): number {
  for (let end = most; end > (most * 2) / 3; end -= 1) {
    if (/[-_/.:@+]/.test(characters[end - 1] ?? '')) return end;
  }
  return most;
}

/** The font's own shaping of the whole run; otherwise pdfkit sets word by word, from left to right. */
const shaping = (isRightToLeft: boolean): { features?: readonly string[] } =>
  isRightToLeft ? { features: [] } : {};

function trailingSpaces(codePoints: readonly number[]): number {
  let count = 0;
  while (count < codePoints.length && codePoints[codePoints.length - 1 - count] === 0x20) count += 1;
  return count;
}

const codePointText = (codePoint: number): string =>
  `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`;

/** Combining marks on one letter; more would cover other lines. */
const mostMarks = 3;

/** What a font may draw as nothing. */
const isHidden = (codePoint: number): boolean => hiddenCharacters(String.fromCodePoint(codePoint)).length > 0;

const scriptOf = (character: string): string =>
  scriptTests.find(([, test]) => test.test(character))?.[0] ?? 'other';
