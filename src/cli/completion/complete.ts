/**
 * `gov __complete WORD…`: prints what may replace the last word, one a line, with a description after a tab. A line
 * `:files` or `:folders` lets the shell add the names of its own. Prints no error, asks nothing, and ends with exit 0: a
 * message at Tab would spoil the line that a person types.
 * Tested by `test/cli/completion/complete.test.ts`, and in the shells by `test/cli/completion/scripts.long.test.ts`.
 */
import { nouns } from '../specs/nouns.ts';
import { allSpecs } from '../specs/all.ts';
import { aliasesOf, withoutAlias } from '../grammar/alias.ts';
import { kebab } from '../program/flags.ts';
import type { Io } from '../terminal/io.ts';
import { Safe } from '../terminal/safe.ts';
import { flagsAt, readTyped } from './typed.ts';
import type { CommandLine, Word } from './typed.ts';
import { valuesOf } from './values.ts';
import type { Offer } from './values.ts';

/** Windows PowerShell drops empty arguments, so the script of PowerShell sends two quotes for an empty word. */
const emptyWord = "''";

/** Prints the words. Cost: at most one list call of a second, where an id is meant. Never throws. */
export async function complete(argv: readonly string[], io: Io): Promise<void> {
  try {
    const given = argv.map((word) => (word === emptyWord ? '' : word));
    const typed = readTyped([...withoutAlias(given.slice(0, -1), io, 'incomplete'), given.at(-1) ?? '']);
    const { words, paths } = await offerAt(typed, io);
    const lines = words
      .filter(({ word }) => word.startsWith(typed.current))
      .map(({ word, description = '' }) => `${word}${description && `\t${String(Safe.cell(description))}`}`);
    if (paths !== undefined) lines.push(`:${paths}`);
    io.stdout.write(lines.map((line) => `${line}\n`).join(''));
  } catch {
    // there is nothing to offer
  }
}

async function offerAt(typed: CommandLine, io: Io): Promise<Offer> {
  const { expected, current, args, path } = typed;
  switch (expected.kind) {
    case 'flag':
      return { words: flagWords(typed) };
    case 'value': {
      const { name, flag, before } = expected;
      const offer = await valuesOf({ name, ...flag }, typed, io);
      // --layers a,b and --json=a,b: the next word of a list
      const separator = name === 'json' ? ',' : flag.separator;
      const listed = separator === undefined ? -1 : current.lastIndexOf(separator);
      const kept = listed < 0 ? before : current.slice(0, listed + 1);
      return { ...offer, words: offer.words.map((each) => ({ ...each, word: `${kept}${each.word}` })) };
    }
    case 'word': {
      const below = args.length === 0 ? [...wordsBelow(path), ...(path === '' ? aliasWords(io) : [])] : [];
      const offer: Offer =
        expected.arg === undefined ? { words: [] } : await valuesOf(expected.arg, typed, io);
      return { ...offer, words: [...below, ...offer.words] };
    }
  }
}

function flagWords({ spec, flags, globals }: CommandLine): Word[] {
  const open = flagsAt(spec).filter(({ name, flag, isGlobal }) => {
    const isGiven = (isGlobal ? globals : flags)[name] !== undefined;
    return flag.hidden !== true && (!isGiven || flag.type === 'strings');
  });
  const words = open.map(({ name, flag }) => ({ word: `--${kebab(name)}`, description: flag.description }));
  return [...words, { word: '--help', description: 'Help' }];
}

const aliasWords = ({ env }: Io): Word[] =>
  Object.entries(aliasesOf(env)).map(([word, text]) => ({ word, description: `alias: ${text}` }));

/** Nouns, verbs of a noun, or verbs of a group such as `risk config`. */
function wordsBelow(path: string): Word[] {
  const words = new Map<string, string>();
  if (path === '') {
    for (const [, noun, summary] of nouns)
      words.set(noun, summary || (allSpecs().find(({ name }) => name === noun)?.summary ?? ''));
  } else {
    for (const { name, summary, hidden } of allSpecs()) {
      if (hidden || !name.startsWith(`${path} `)) continue;
      const [word = '', ...more] = name.slice(path.length + 1).split(' ');
      if (!words.has(word)) words.set(word, more.length === 0 ? summary : '');
    }
  }
  return [...words].map(([word, description]) => ({ word, description }));
}
