/**
 * Text that may go to a terminal. Events carry text written by agents and by whoever talks to them; an
 * escape sequence in it could rewrite the screen, and a bidi control could reorder what a reviewer reads.
 * So `Out` takes only `Safe`, and a `Safe` is made only here: literal parts of a template are ours, every
 * value put into one is cleaned. JSON is the one exception, where the same characters are escaped.
 * `test/cli/terminal/safe.test.ts` holds the corpus.
 */

/**
 * C0 but newline and tab, DEL and C1; bidi controls and marks; zero-width characters; line and paragraph
 * separators; interlinear annotations; tag characters, which spell hidden text.
 */
const unsafeRanges =
  '\\u007f-\\u009f\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}';
const unsafe = new RegExp(`[\\u0000-\\u0008\\u000b-\\u001f${unsafeRanges}]`, 'gu');
const unsafeInCell = new RegExp(`[\\u0000-\\u001f${unsafeRanges}]`, 'gu');
const unsafeInJson = new RegExp(`[${unsafeRanges}]`, 'gu');

/** `::set-output …` at the start of a line, as GitHub's runner reads it. */
const runnerCommand = /^([ \t]*)::/gm;

const named: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\r': '\\r' };
const hex = (code: number): string => code.toString(16).padStart(4, '0');

/** `\u202e` for U+202E, `\u{e0041}` beyond the basic plane. */
function shown(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return named[character] ?? (code > 0xffff ? `\\u{${hex(code)}}` : `\\u${hex(code)}`);
}

/** Inside JSON a character beyond the basic plane is two escapes. */
const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at))}`).join('');

/** Text fit for a terminal, with styles where they were added. */
export class Safe {
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }

  /** Remote or user text of several lines. A line that a CI runner would take as its command shows a colon. */
  static clean(text: string): Safe {
    return new Safe(text.toWellFormed().replace(unsafe, shown).replace(runnerCommand, '$1\\u003a:'));
  }

  /** The same on one line: newlines and tabs show as `\n` and `\t`. */
  static cell(text: string): Safe {
    return new Safe(text.toWellFormed().replace(unsafeInCell, shown));
  }

  /** Exactly one JSON value that reads back unchanged. `indent` 0: on one line. */
  static json(value: unknown, indent = 0): Safe {
    return new Safe((JSON.stringify(value, null, indent) ?? 'null').replace(unsafeInJson, escaped));
  }

  /** The template tag: strings among the values are cleaned to one line each. */
  static template(parts: TemplateStringsArray, ...values: readonly (Safe | string | number)[]): Safe {
    const text = parts.reduce((before, part, at) => {
      const value = values[at - 1];
      return before + (value instanceof Safe ? value.#text : Safe.cell(String(value)).#text) + part;
    });
    return new Safe(text);
  }

  static join(texts: readonly Safe[], separator: string): Safe {
    return new Safe(texts.map((text) => text.#text).join(separator));
  }

  /** Wraps in SGR codes, which are numbers and therefore ours. */
  static styled(text: Safe, open: number, close: number): Safe {
    return new Safe(`\u001b[${open}m${text.#text}\u001b[${close}m`);
  }
}

/** safe`proof ${id}`: the only way to mix our words with anything else. */
export const safe = Safe.template;

export type Paint = (text: Safe | string) => Safe;
export interface Styles {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly green: Paint;
  readonly yellow: Paint;
  readonly cyan: Paint;
}

/** Colour is never the only signal, so `enabled: false` loses nothing. */
export function stylesFor(enabled: boolean): Styles {
  const paint =
    (open: number, close: number): Paint =>
    (text) => {
      const clean = text instanceof Safe ? text : Safe.cell(text);
      return enabled && String(clean) !== '' ? Safe.styled(clean, open, close) : clean;
    };
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
  };
}
