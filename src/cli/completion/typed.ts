/**
 * The words before Tab, read by the specs: the command, its values so far, and what the last word may be. It forgives what
 * the parser refuses, because a line that is being typed is never complete.
 * Tested by `test/cli/completion/complete.test.ts`.
 */
import { nouns, otherNumber } from '../specs/nouns.ts';
import { allSpecs } from '../specs/all.ts';
import type { GivenFlags } from '../context/settings.ts';
import { kebab } from '../program/flags.ts';
import { globalFlags } from '../program/globals.ts';
import { otherVerbs, type ArgSpec, type CommandSpec, type FlagSpec } from '../program/spec.ts';

/** A word to offer. */
export interface Word {
  readonly word: string;
  readonly description?: string;
}

/** What the last word may be. `before` is the part of the word that stays, such as `--output=`. */
type Expectation =
  | { readonly kind: 'flag' }
  | { readonly kind: 'word'; readonly arg: ArgSpec | undefined }
  | { readonly kind: 'value'; readonly name: string; readonly flag: FlagSpec; readonly before: string };

export interface CommandLine {
  /** The command or group, such as `risk config`. */
  readonly path: string;
  readonly spec: CommandSpec | undefined;
  /** The last word, up to the cursor. */
  readonly current: string;
  readonly expected: Expectation;
  readonly args: readonly string[];
  /** The command's own flags. */
  readonly flags: GivenFlags;
  readonly globals: GivenFlags;
}

export interface NamedFlag {
  readonly name: string;
  readonly flag: FlagSpec;
  readonly isGlobal: boolean;
}

/** The flags that a command accepts, its own first. */
export const flagsAt = (spec: CommandSpec | undefined): NamedFlag[] => [
  ...Object.entries(spec?.flags ?? {}).map(([name, flag]) => ({ name, flag, isGlobal: false })),
  ...Object.entries<FlagSpec>(globalFlags).map(([name, flag]) => ({ name, flag, isGlobal: true })),
];

const specAt = (path: string): CommandSpec | undefined => allSpecs().find(({ name }) => name === path);
const isPath = (path: string): boolean =>
  allSpecs().some(({ name }) => name === path || name.startsWith(`${path} `));

/** Returns the command or group that the words begin with, and how many words it takes. */
function pathOf(words: readonly string[]): { path: string; count: number } {
  const [first, ...rest] = words;
  const noun = nouns.find(([, each]) => [each, otherNumber(each) ?? each].includes(first ?? ''))?.[1];
  if (noun === undefined) return { path: '', count: 0 };
  let path = noun;
  let count = 1;
  for (const word of rest) {
    const known = [word, ...otherVerbs(word)].find((each) => isPath(`${path} ${each}`));
    if (known === undefined) break;
    path = `${path} ${known}`;
    count += 1;
  }
  return { path, count };
}

/** Reads the words after `gov`; the last one is being typed, and may be empty. */
export function readTyped(words: readonly string[]): CommandLine {
  const current = words.at(-1) ?? '';
  const plain: string[] = [];
  const flags: Record<string, string | boolean> = {};
  const globals: Record<string, string | boolean> = {};
  const set = ({ name, isGlobal }: NamedFlag, value: string | boolean): void => {
    (isGlobal ? globals : flags)[name] = value;
  };
  let pending: NamedFlag | undefined;
  let isRaw = false;
  for (const word of words.slice(0, -1)) {
    if (pending !== undefined) {
      set(pending, word);
      pending = undefined;
    } else if (isRaw || !word.startsWith('-') || word === '-') plain.push(word);
    else if (word === '--') isRaw = true;
    else {
      const { path } = pathOf(plain);
      const found = flagIn(word, specAt(path));
      if (found === undefined) continue;
      if (found.text !== undefined || found.flag.type === 'boolean' || found.flag.optionalValue)
        set(found, found.text ?? true);
      else pending = found;
    }
  }
  const { path, count } = pathOf(plain);
  const spec = specAt(path);
  const args = plain.slice(count);
  const expected = expectedAt({ spec, args, current, pending, isRaw });
  return { path, spec, current, expected, args, flags, globals };
}

/** Returns the flag of `--name`, `--name=text`, `-n` or `-ntext`. */
function flagIn(word: string, spec: CommandSpec | undefined): (NamedFlag & { text?: string }) | undefined {
  const [, long, , text] = /^(--[^=]+)(=(.*))?$/s.exec(word) ?? [];
  const found = flagsAt(spec).find(({ name, flag }) =>
    long === undefined
      ? flag.short !== undefined && word.startsWith(`-${flag.short}`)
      : `--${kebab(name)}` === long,
  );
  const value = long === undefined && word.length > 2 ? word.slice(2) : text;
  return found && { ...found, ...(value === undefined ? {} : { text: value }) };
}

interface CursorContext {
  readonly spec: CommandSpec | undefined;
  readonly args: readonly string[];
  readonly current: string;
  readonly pending: NamedFlag | undefined;
  readonly isRaw: boolean;
}

function expectedAt({ spec, args, current, pending, isRaw }: CursorContext): Expectation {
  if (pending !== undefined) return { kind: 'value', name: pending.name, flag: pending.flag, before: '' };
  if (!isRaw && current.startsWith('-')) {
    const found = current.includes('=') ? flagIn(current, spec) : undefined;
    if (found === undefined) return { kind: 'flag' };
    const before = current.slice(0, current.indexOf('=') + 1);
    return { kind: 'value', name: found.name, flag: found.flag, before };
  }
  const known = spec?.args ?? [];
  const last = known.at(-1);
  return { kind: 'word', arg: known[args.length] ?? (last?.variadic ? last : undefined) };
}
