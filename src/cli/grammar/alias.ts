/**
 * Aliases of a user: a word that stands for the words of a command. gov splits the text into words itself and never gives
 * it to a shell, so that a quote, a semicolon or a dollar sign in it runs nothing. A command wins over an alias of its name.
 * Tested by `test/cli/grammar/alias.test.ts`.
 */
import { shellWord } from '../../core/shell-word.ts';
import { nouns, otherNumber } from '../specs/nouns.ts';
import { readAliases } from '../context/config.ts';
import type { Aliases } from '../context/config.ts';
import type { Io } from '../terminal/io.ts';
import { CliError, usage } from '../program/exit.ts';
import { kebab } from '../program/flags.ts';
import { globalFlags } from '../program/globals.ts';
import type { FlagSpec } from '../program/spec.ts';

const namePattern = /^[a-z][a-z0-9-]{0,31}$/;

/** Errors: exit 2 for a name that a person could not type in peace, or that is a command. */
export function checkAliasName(name: string): void {
  if (!namePattern.test(name))
    throw usage(
      `expected a name of at most 32 small letters, digits and dashes, got ${JSON.stringify(name.slice(0, 64))}`,
    );
  if (isCommand(name))
    throw usage(`${JSON.stringify(name)} is a command, which an alias cannot replace`, `gov ${name} --help`);
}

export const isCommand = (word: string): boolean =>
  nouns.some(([, noun]) => noun === word || otherNumber(noun) === word);

/** Errors: exit 2 for a text that leads to no command, or back to itself. */
export function checkAliases(name: string, aliases: Aliases): void {
  const words = wordsOf(aliases[name] ?? '', name);
  const first = words[commandAt(words)];
  const isKnown = first !== undefined && (isCommand(first) || Object.hasOwn(aliases, first));
  if (!isKnown)
    throw usage(
      `alias ${name}: expected the words of a command after gov, got ${JSON.stringify((aliases[name] ?? '').slice(0, 64))}`,
      first?.startsWith('!') ? 'gov runs no shell' : "gov alias set denied 'events list --decision deny'",
    );
  followed(name, aliases);
}

/** Errors: exit 2 for a loop. */
function followed(name: string, aliases: Aliases, seen: readonly string[] = []): void {
  if (seen.includes(name))
    throw usage(
      `alias ${[...seen, name].join(' → ')}: this leads back to itself`,
      `gov alias delete ${shellWord(name)}`,
    );
  const words = wordsOf(aliases[name] ?? '', name);
  const next = words[commandAt(words)] ?? '';
  if (!isCommand(next) && Object.hasOwn(aliases, next)) followed(next, aliases, [...seen, name]);
}

/**
 * Returns the words with their alias replaced, if their first word is one; $1 to $9 are further words, $$ is a dollar sign,
 * and words without a place follow at the end. Reads the configuration only for a word that is no command. With
 * `incomplete`, missing words are empty. Errors: exit 2 for a missing word and for a loop.
 */
export function withoutAlias(
  argv: readonly string[],
  { env }: Pick<Io, 'env'>,
  form: 'complete' | 'incomplete' = 'complete',
): readonly string[] {
  const at = commandAt(argv);
  const name = argv[at];
  if (name === undefined || isCommand(name)) return argv;
  const aliases = aliasesOf(env);
  if (!Object.hasOwn(aliases, name)) return argv;
  followed(name, aliases);
  const words = filled(wordsOf(aliases[name] ?? '', name), argv.slice(at + 1), { name, form });
  return withoutAlias([...argv.slice(0, at), ...words], { env }, form);
}

/** The aliases that gov would use; none from a file that cannot be read, which other commands report. */
export function aliasesOf(env: Io['env']): Aliases {
  try {
    const usable = Object.entries(readAliases(env)).filter(
      ([name]) => namePattern.test(name) && !isCommand(name),
    );
    return Object.fromEntries(usable);
  } catch (cause) {
    if (cause instanceof CliError) return {};
    throw cause;
  }
}

const place = /\$(\$|[1-9])/g;

function filled(
  words: readonly string[],
  given: readonly string[],
  { name, form }: { readonly name: string; readonly form: 'complete' | 'incomplete' },
): string[] {
  const used = new Set<number>();
  const whole = words.map((word) =>
    word.replace(place, (_, digit: string) => {
      if (digit === '$') return '$';
      used.add(Number(digit) - 1);
      const value = given[Number(digit) - 1];
      if (value === undefined && form === 'complete')
        throw usage(
          `alias ${name}: expected a word for $${digit} of ${JSON.stringify(words.join(' '))}`,
          `gov ${name} WORD`,
        );
      return value ?? '';
    }),
  );
  return [...whole, ...given.filter((_, at) => !used.has(at))];
}

/** Splits at blanks. Quotes keep blanks; outside of single quotes, a backslash keeps the next character. */
export function wordsOf(text: string, name: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '\\' && quote !== "'" && at + 1 < text.length)
      word = `${word ?? ''}${text.charAt(++at)}`;
    else if (character === quote) quote = '';
    else if (quote === '' && (character === '"' || character === "'")) {
      quote = character;
      word ??= '';
    } else if (quote === '' && /\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = `${word ?? ''}${character}`;
  }
  if (quote !== '') throw usage(`alias ${name}: expected a second ${quote}, found the end of the text`);
  return word === undefined ? words : [...words, word];
}

/** Returns where the first word is that is not a global flag or its value. */
export function commandAt(argv: readonly string[]): number {
  let at = 0;
  for (; at < argv.length; at++) {
    const word = argv[at] ?? '';
    if (!word.startsWith('-') || word === '-' || word === '--') break;
    if (takesNext(word)) at++;
  }
  return at;
}

function takesNext(word: string): boolean {
  const found = Object.entries<FlagSpec>(globalFlags).find(
    ([name, { short }]) => word === `--${kebab(name)}` || word === `-${short ?? ''}`,
  );
  return found !== undefined && found[1].type !== 'boolean' && found[1].optionalValue !== true;
}
