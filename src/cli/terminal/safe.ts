/**
 * Text that may go to a terminal. Events contain text from agents and from their users: an escape sequence could rewrite
 * the screen, a bidi control could reorder the text that a reviewer reads. `Out` accepts only `Safe`, and only this file
 * makes it: the literal parts of a template are ours, every value in it is cleaned. JSON escapes the same characters.
 * Tested by `test/cli/terminal/safe.test.ts`.
 */

import { escaped, visibleJson, visibleLine, visibleText } from '../../core/visible.ts';

/** Runners of CI read `::set-output …` at the start of a line, and `##[set-output …]` and `##vso[…]` anywhere, as commands. */
const runnerCommand = /:(?<=^[ \t]*:)(?=:[a-z])|#(?=#[a-z]*\[)/gim;
const withoutCommands = (text: string): string => text.replace(runnerCommand, escaped);

/** Text fit for a terminal, with styles in some places. */
export class Safe {
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }

  /** Cleans text of several lines. What a CI runner would read as a command gets an escape. */
  static clean(text: string): Safe {
    return new Safe(withoutCommands(visibleText(text)));
  }

  /** Cleans text to one line: newlines and tabs become `\n` and `\t`. */
  static cell(text: string): Safe {
    return new Safe(withoutCommands(visibleLine(text)));
  }

  /** Returns one JSON value that parses to the same value. `indent` 0: on one line. */
  static json(value: unknown, indent = 0): Safe {
    return new Safe(withoutCommands(visibleJson(value, indent)));
  }

  /** The template tag. Cleans each string value to one line. */
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

  /** Wraps text in SGR codes. They are numbers from this program. */
  static styled(text: Safe, open: number, close: number): Safe {
    return new Safe(`\u001b[${open}m${text.#text}\u001b[${close}m`);
  }
}

/** safe`proof ${id}`: the only way to combine the tool's own words with other text. */
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

/** With `enabled: false` nothing is lost: colour is never the only signal. */
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
