/**
 * What the eye does not see in a call: characters that show nothing, the text that they spell, and words whose letters
 * come from several scripts, such as a Cyrillic `а` in `pаypal`, or numbers with digits of several. People who approve a call read it above its arguments.
 * Attacker controlled. Proven by `test/core/hidden-text.test.ts`.
 */
import { hiddenCharacters, isPlain, visibleLine } from './visible.ts';

/** The members of a call that a person approves. */
interface Call {
  readonly tool: unknown;
  readonly arguments?: unknown;
  readonly actor?: unknown;
  readonly context?: unknown;
}

export interface HiddenText {
  /** Where it is: `note`, `to.name`, `items[2]` of the arguments; `tool.name`, `actor.id`, `context.cwd`. */
  readonly path: string;
  readonly count: number;
  /** What selectors and tags spell; null where they spell nothing. */
  readonly spells: string | null;
  /** Words with letters of several scripts; of a tool also words without Latin letters, such as a Cyrillic `рау`. */
  readonly mixed: readonly string[];
  /** Numbers with digits of several scripts, such as a Devanagari zero in `10०` (UTS 39, mixed numbers). */
  readonly numbers: readonly string[];
}

/** What is hidden in names and values of a call, in their order. Cost: linear; next to nothing for ASCII. */
export function hiddenIn({ tool, arguments: given, actor, context }: Call): HiddenText[] {
  return [
    ...walk(tool, 'tool', true),
    ...walk(given, ''),
    ...walk(actor, 'actor'),
    ...walk(context, 'context'),
  ];
}

/** The number of hidden characters in a call. */
export const hiddenCount = (call: Call): number => hiddenIn(call).reduce((sum, { count }) => sum + count, 0);

/** What a line of a list says of a call: `2 hidden characters, letters of several scripts`. Null where nothing is hidden. */
export function hiddenSummary(call: Call): string | null {
  const all = hiddenIn(call);
  const count = all.reduce((sum, each) => sum + each.count, 0);
  const parts = [
    ...(count === 0 ? [] : [`${count} hidden character${count === 1 ? '' : 's'}`]),
    ...(all.some(({ mixed }) => mixed.length > 0) ? ['letters of several scripts'] : []),
    ...(all.some(({ numbers }) => numbers.length > 0) ? ['digits of several scripts'] : []),
  ];
  return parts.length === 0 ? null : parts.join(', ');
}

/** `pay on bank`; a name that could be read as more of the sentence in quotes: `"pay on bank" on evil`. */
export const toolText = ({
  name,
  server,
}: {
  readonly name: string;
  readonly server?: string | undefined;
}): string =>
  [name, ...(server === undefined ? [] : [server])]
    .map((text) => (text === '' || /[\s"]/.test(text) ? JSON.stringify(text) : text))
    .join(' on ');

/** Places with something hidden that are named one by one. */
const mostPlaces = 20;

/**
 * One sentence a place: ``13 hidden characters in `note`, spells: --to attacker``. Safe to show. Empty where nothing is hidden.
 * The names of the tool and places whose characters spell something come first: no crowd pushes them out of the list.
 */
export function hiddenNotices(call: Call): string[] {
  const all = hiddenIn(call).toSorted((a, b) => rankOf(a) - rankOf(b));
  const rest = all.slice(mostPlaces);
  const hidden = rest.filter(({ count }) => count > 0).length;
  const letters = rest.filter(({ count, mixed }) => count === 0 && mixed.length > 0).length;
  return [
    ...all.slice(0, mostPlaces).flatMap(noticesOf),
    ...moreOf('hidden characters', hidden),
    ...moreOf('letters of several scripts', letters),
    ...moreOf('digits of several scripts', rest.length - hidden - letters),
  ];
}

const rankOf = ({ path, spells, count }: HiddenText): number =>
  spells !== null || path === 'tool.name' || path === 'tool.server' ? 0 : count > 0 ? 1 : 2;

const moreOf = (what: string, places: number): string[] =>
  places === 0 ? [] : [`${what} in ${places} more place${places === 1 ? '' : 's'}`];

function noticesOf({ path, count, spells, mixed, numbers }: HiddenText): string[] {
  const where = `\`${clip(visibleLine(path))}\``;
  const spelled = spells === null ? '' : `, spells: ${clip(visibleLine(spells))}`;
  return [
    ...(count === 0 ? [] : [`${count} hidden character${count === 1 ? '' : 's'} in ${where}${spelled}`]),
    ...(mixed.length === 0
      ? []
      : [
          `letters ${mixed.some(isMixed) ? 'of several scripts' : 'that are not Latin'} in ${where}: ${clip(mixed.map(marked).join(', '))}`,
        ]),
    ...(numbers.length === 0
      ? []
      : [`digits of several scripts in ${where}: ${clip(numbers.map(marked).join(', '))}`]),
  ];
}

const mostChars = 200;
const clip = (text: string): string =>
  text.length <= mostChars ? text : `${text.slice(0, mostChars)}… (${text.length} characters)`;

/** `isName`: in names of tools a word of one other script counts, too. */
function* walk(value: unknown, path: string, isName = false): Generator<HiddenText> {
  if (typeof value === 'string') yield* found(value, path, isName);
  else if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) yield* walk(item, `${path}[${at}]`, isName);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      const at = memberPath(path, name);
      yield* found(name, at, false);
      yield* walk(item, at, isName);
    }
  }
}

/** `to.name`; a name that could be read as another path, or as words of a sentence, in brackets: `to["a.b"]`. */
export function memberPath(path: string, name: string): string {
  if (name === '' || /[\s.[\]"`]/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}

function* found(text: string, path: string, isName: boolean): Generator<HiddenText> {
  if (isPlain(text)) return;
  const characters = hiddenCharacters(text);
  const mixed = wordsOf(text).filter((word) => isMixed(word) || (isName && isForeign(word)));
  const numbers = (text.match(numberPattern) ?? []).filter(hasMixedDigits);
  if (characters.length + mixed.length + numbers.length > 0)
    yield { path, count: characters.length, spells: spelled(characters), mixed, numbers };
}

/**
 * The text in tags (U+E0020 to U+E007E are ASCII) and in variation selectors (the 256 of them are bytes of UTF-8).
 * Null where they spell no letter, digit or sign: a selector after an emoji is byte 15.
 */
function spelled(characters: readonly string[]): string | null {
  const bytes = characters.flatMap((character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code >= 0xe0020 && code <= 0xe007e) return [code - 0xe0000];
    if (code >= 0xfe00 && code <= 0xfe0f) return [code - 0xfe00];
    return code >= 0xe0100 && code <= 0xe01ef ? [code - 0xe0100 + 16] : [];
  });
  const text = new TextDecoder().decode(Uint8Array.from(bytes)).replace(/^\p{Cc}+|\p{Cc}+$/gu, '');
  return /[[\p{L}\p{N}\p{P}\p{S}]--[\ufffd]]/v.test(text) ? text : null;
}

/** Scripts with letters that look like those of another one (UTS 39). Japanese and Korean mix others, and may. */
const scripts = [
  'Latin',
  'Greek',
  'Cyrillic',
  'Armenian',
  'Cherokee',
  'Coptic',
  'Georgian',
  'Hebrew',
  'Lisu',
].map((name) => new RegExp(`\\p{Script=${name}}`, 'u'));

/** With digits and `_`: a Cyrillic `е` in `0x12е4` is no word of its own. */
const wordsOf = (text: string): string[] =>
  (text.match(/[\p{L}\p{M}\p{N}_]+/gu) ?? []).filter((word) => !isPlain(word));

const isMixed = (word: string): boolean => scripts.filter((script) => script.test(word)).length > 1;
/** Without Latin letters, in a script with letters that look like Latin ones. */
const isForeign = (word: string): boolean =>
  !/\p{Script=Latin}/u.test(word) && scripts.some((script) => script.test(word));

/** With the signs that group digits: one number is no several ones. */
const numberPattern = /\p{Nd}(?:[.,'’_\u066b\u066c]?\p{Nd})*/gu;

const hasMixedDigits = (number: string): boolean =>
  new Set((number.match(/\p{Nd}/gu) ?? []).map(digitsOf)).size > 1;

/** The digits 0 to 9 of a script follow each other in a block of 16. The mathematical ones are five tens in a row (UAX 44). */
function digitsOf(digit: string): number {
  const code = digit.codePointAt(0) ?? 0;
  return code >= 0x1d7ce && code <= 0x1d7ff ? Math.floor((code - 0x1d7ce) / 10) : code >> 4;
}

/** `p\u0430ypal`: the letters that are not Latin as escapes; without Latin ones, all beyond ASCII. */
const marked = (word: string): string => {
  const spelledOut = word.replace(/(?![ -~])[^\p{Script=Latin}]/gu, hex);
  return `${visibleLine(word)} (${spelledOut})`;
};

function hex(letter: string): string {
  const digits = (letter.codePointAt(0) ?? 0).toString(16).padStart(4, '0');
  return digits.length > 4 ? `\\u{${digits}}` : `\\u${digits}`;
}
