/**
 * Walks through the commands that a shell line may start: of each part of a pipeline, in substitutions, and behind programs
 * that run others (`sudo`, `xargs`, `sh -c`). A listener says what a reading keeps, and what ends it: `programs()` of
 * conditions and the canonical action are two listeners of this one walk. Proven by `test/core/action/shell.test.ts`.
 */
import { decisive } from './shell-variables.ts';
import {
  currentFolder,
  homeFolder,
  isKnown,
  startsUnknown,
  unknown,
  UnreadableLineError,
} from './shell-marks.ts';
import type { Redirection, ShellScope, SimpleCommand } from './shell-marks.ts';
import { simpleCommands } from './shell-words.ts';
import { printedNames } from './printed-names.ts';
import { verbOf } from './verbs.ts';
import { commandOf, known, opaque, shells, wrappers, xargs } from './shell-wrappers.ts';
import type { Wrapper } from './shell-wrappers.ts';

/** Where a command stands in its line. */
export interface CommandPlace {
  readonly scope: ShellScope;
  readonly chain: object;
  readonly followedBy: string;
  /** Of the command itself; empty behind a program that runs it. */
  readonly redirections: readonly Redirection[];
  /** Its standard input is the output of another command, a file or a document. */
  readonly hasInput: boolean;
  /** The names that the command before it in the pipeline prints; null if nobody knows them. */
  readonly printed: readonly string[] | null;
  /** The shell itself runs it, so `cd` moves the shell. */
  readonly isOfShell: boolean;
}

/** What a reading keeps of a line. Each method may throw `UnreadableLineError`, which ends the reading. */
export interface CommandListener {
  /** Programs that run others, besides those that every reading knows. */
  readonly moreWrappers: ReadonlyMap<string, Wrapper>;
  /** For recorded decisions, which must not change: it reads no more lines, and knows no more words. */
  readonly isStrict: boolean;
  /** A program that may start, by its name without folder. `first`: the word that names it. */
  command(name: string, words: readonly string[], place: CommandPlace, first: string): void;
  /** Redirections without a program. */
  redirected(place: CommandPlace): void;
  /** A variable that the line sets for what it runs. */
  assigned(name: string): void;
  /** A program that runs another in a way that nobody reads here. */
  opaque(name: string): void;
  /** A script: a file, or standard input if there is no word. */
  script(word: string | undefined, place: CommandPlace): void;
  /** A word of a program that may be an option, such as `-exec`. */
  unclear(program: string, word: string): void;
}

/** `sh -c`, `eval` and the like inside each other. */
const deepest = 8;

/** Reads a line, and reports what it starts. @throws UnreadableLineError. Cost: linear in the text. */
export function walkLine(line: string, listener: CommandListener): void {
  new Walk(listener).line(line, { parent: null }, 0);
}

const assignment = /^([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=/;

/** A command, where it stands, and in how many others. */
interface Started {
  readonly words: readonly string[];
  readonly place: CommandPlace;
  readonly depth: number;
}

class Walk {
  readonly #listener: CommandListener;

  constructor(listener: CommandListener) {
    this.#listener = listener;
  }

  line(line: string, scope: ShellScope, depth: number): void {
    if (depth > deepest) throw new UnreadableLineError();
    const { isStrict } = this.#listener;
    let before: SimpleCommand | null = null;
    let printed: readonly string[] | null = null;
    for (const command of simpleCommands(line, { scope, isStrict })) {
      const isNext = command.isPiped && before?.chain === command.chain && /^\|&?$/.test(before.followedBy);
      const input: readonly string[] | null = isNext && !isStrict ? printed : null;
      this.#command({ words: command.words, place: placeOf(command, input), depth });
      printed = printedNames(command.words, input);
      before = command;
    }
  }

  #command({ words: all, place, depth }: Started): void {
    let words = all;
    for (;;) {
      const [, name] = assignment.exec(words[0] ?? '') ?? [];
      if (name === undefined) break;
      if (decisive.test(name)) throw new UnreadableLineError();
      this.#listener.assigned(name);
      words = words.slice(1);
    }
    if (words.length === 0) {
      if (place.redirections.length > 0) this.#listener.redirected(place);
      return;
    }
    const [first, ...rest] = words;
    const name = programName(first);
    const loose = this.#listener.moreWrappers.get(name);
    if (/^ld[-.].*so/.test(name)) throw new UnreadableLineError();
    if (opaque.has(name) && loose === undefined) this.#listener.opaque(name);
    this.#listener.command(name, rest, place, known(first));
    if (assigning.has(name)) {
      requirePlainNames(name, rest);
      for (const variable of namesSetBy(name, rest)) this.#listener.assigned(variable);
    }
    const started = { words: rest, place, depth };
    const wrapper = wrappers.get(name);
    if (shells.has(name)) this.#script(started);
    else if (wrapper !== undefined) this.#wrapped(wrapper, { ...started, name });
    else if (loose !== undefined) this.#loose(loose, { ...started, name });
    else this.#runner(name, started);
  }

  /** Follows a program whose arguments are commands in a form of its own. */
  #runner(name: string, started: Started): void {
    const { words, place, depth } = started;
    const { scope } = place;
    const child: ShellScope = { parent: scope };
    switch (name) {
      case 'eval':
        return this.line((words[0] === '--' ? words.slice(1) : words).map(known).join(' '), scope, depth + 1);
      case 'watch': {
        const command = commandOf({ flags: 'bcegtwx', valued: 'n' }, words).map(known);
        return this.line(command.join(' '), child, depth + 1);
      }
      case 'xargs':
        return this.#xargs(started);
      case 'source':
        return this.#listener.script(words[0], place);
      case 'trap': {
        const [action, ...signals] = words[0] === '--' ? words.slice(1) : words;
        if (signals.length > 0 && action !== '-' && action !== '')
          this.line(known(action), { parent: scope, isElsewhere: true }, depth + 1);
        return;
      }
      case 'find':
        return this.#found(started);
      case 'su':
      case 'runuser':
        return this.line(loginLine(words), { parent: scope, isElsewhere: true }, depth + 1);
      case 'alias':
      case 'hash':
      case 'enable':
        if (words.length > 0) throw new UnreadableLineError(); // names may mean other programs from here on
        return;
      default:
    }
  }

  /** `sh -c LINE`. A script in a file is not read. */
  #script({ words, place, depth }: Started): void {
    let takesLine = false;
    let at = 0;
    for (; at < words.length; at += 1) {
      const option = words[at] ?? '';
      if (startsUnknown(option) && !isBelowFolder(option)) throw new UnreadableLineError(); // may be an option
      if (!/^[-+]/.test(option)) break;
      known(option);
      if (option === '--' || option === '-') {
        at += 1;
        break;
      }
      if (/^--(?:login|noprofile|norc|posix|restricted|verbose)$/.test(option)) continue;
      if (!/^[-+][abcefhiklmnprtuvxBCDEHPT]+$/.test(option)) throw new UnreadableLineError();
      takesLine ||= option.startsWith('-') && option.includes('c');
    }
    if (takesLine) this.line(known(words[at]), { parent: place.scope }, depth + 1);
    else this.#listener.script(words[at], place);
  }

  #wrapped(wrapper: Wrapper, { name, words, place, depth }: Started & { readonly name: string }): void {
    let rest = commandOf(wrapper, words);
    const options = words.slice(0, words.length - rest.length);
    if (wrapper.assigns === true) {
      if (rest[0] === '-') throw new UnreadableLineError(); // `env -`
      while (rest[0]?.includes('=') === true) {
        const [, variable] = assignment.exec(rest[0]) ?? [];
        if (variable === undefined || decisive.test(rest[0].split('=', 1)[0] ?? ''))
          throw new UnreadableLineError();
        this.#listener.assigned(variable);
        rest = rest.slice(1);
      }
    } else if (assignment.test(rest[0] ?? '')) throw new UnreadableLineError();
    if (rest.length === 0) return;
    if (depth > deepest) throw new UnreadableLineError();
    const moves = wrapper.folders !== undefined && options.some((each) => wrapper.folders?.test(each));
    const isOfShell = place.isOfShell && /^(?:builtin|command)$/.test(name);
    this.#command({ words: rest, place: behind(place, { isOfShell, moves }), depth: depth + 1 });
  }

  /** A program with options that are not all known: what it runs is unclear after another one. */
  #loose(wrapper: Wrapper, started: Started & { readonly name: string }): void {
    const { name, words } = started;
    const { verbs } = wrapper;
    const verb = verbOf(name, words) ?? '';
    if (verbs !== undefined && !verbs.includes(verb)) return;
    const rest = verbs === undefined ? words : words.slice(words.indexOf(verb) + 1);
    let command: readonly string[];
    try {
      command = commandOf(wrapper, rest);
    } catch (error) {
      if (!(error instanceof UnreadableLineError)) throw error;
      return this.#listener.opaque(name);
    }
    const [first] = command;
    if (first === undefined) return;
    if (!isKnown(first)) return this.#listener.opaque(name);
    // an npm package such as `cowsay@1` or `@org/cowsay`
    const named = [first.replace(/(?<=.)@[^/]*$/, '').replace(/^@[^/]*\//, ''), ...command.slice(1)];
    this.#wrapped({}, { ...started, words: named });
  }

  /** The program that `xargs` runs. Words of its input follow the command, or take the place of `{}` in it. */
  #xargs({ words, place, depth }: Started): void {
    const command = commandOf(xargs, words);
    if (command.length === 0) return;
    const options = words.slice(0, words.length - command.length);
    let replaced: string | undefined;
    for (const [at, option] of options.entries()) {
      const [, isValue, short, long] = /^(?:-[0ortx]*(I)(.*)|-[0ortx]*i(.*)|--replace(?:=.*)?)$/s.exec(
        option,
      ) ?? [option];
      if (isValue !== undefined) replaced = short === '' ? options[at + 1] : short;
      else if (/^(?:-[0ortx]*i|--replace)/.test(option)) replaced = long ?? (option.split('=', 2)[1] || '{}');
    }
    // `-a FILE` takes the words of a file
    const takesFile = options.some((option) => /^(?:-[0ortx]*a|--arg-file)/.test(option));
    const names = (takesFile ? null : place.printed) ?? [unknown];
    const shown = command.flatMap((word) =>
      word === replaced ? names : [replaced ? word.replaceAll(replaced, unknown) : word],
    );
    const input = replaced === undefined ? names : this.#listener.isStrict ? [unknown] : [];
    const inner = behind(place, { isOfShell: false, moves: false });
    this.#command({ words: [...shown, ...input], place: inner, depth: depth + 1 });
  }

  /** `find … -exec PROGRAM … ;`. */
  #found({ words, place, depth }: Started): void {
    for (const [at, word] of words.entries()) {
      if (!isKnown(word)) this.#listener.unclear('find', word);
      const option = /^-(?:exec|ok)(dir)?$/.exec(word);
      if (option === null) continue;
      const rest = words.slice(at + 1).map((each) => each.replaceAll('{}', unknown));
      const end = rest.findIndex((each) => each === ';' || each === '+');
      const inner = behind(place, { isOfShell: false, moves: option[1] !== undefined });
      this.#command({ words: end === -1 ? rest : rest.slice(0, end), place: inner, depth: depth + 1 });
    }
  }
}

function placeOf(
  { redirections, scope, chain, followedBy, isPiped }: SimpleCommand,
  names: readonly string[] | null,
): CommandPlace {
  const hasInput = isPiped || redirections.some(({ sign }) => sign.startsWith('<'));
  const printed = redirections.length > 0 ? null : names;
  return { scope, chain, followedBy, redirections, hasInput, printed, isOfShell: true };
}

/** The place of a command that another program runs. `moves`: in a folder that the line does not say. */
const behind = (
  place: CommandPlace,
  { isOfShell, moves }: { readonly isOfShell: boolean; readonly moves: boolean | undefined },
): CommandPlace => ({
  ...place,
  redirections: [],
  isOfShell,
  ...(moves === true ? { scope: { parent: place.scope, isElsewhere: true as const } } : {}),
});

/** Whether a word begins with the home or the current folder. */
const isBelowFolder = (word: string): boolean =>
  word.startsWith(homeFolder) || word.startsWith(currentFolder);

function programName(word: string | undefined): string {
  const text = known(word);
  const name = text === '.' ? 'source' : text.slice(text.lastIndexOf('/') + 1);
  if (name === '') throw new UnreadableLineError();
  return name;
}

/** The line of `su … -c LINE`. Without one, a shell reads standard input. */
function loginLine(words: readonly string[]): string {
  let line: string | undefined;
  for (let at = 0; at < words.length; at += 1) {
    const word = known(words[at]);
    const [, value] = /^--command=(.*)$/s.exec(word) ?? [];
    if (value !== undefined) line = value;
    else if (/^-(?:[lmp]*c|-command)$/.test(word)) line = words[(at += 1)];
    else if (!/^(?:[\w.][\w.-]*|-[lmp]*|--login)$/.test(word)) throw new UnreadableLineError();
  }
  return known(line);
}

/** Commands of a shell that set variables, or compute the index of one. */
const assigning = new Set([
  'declare',
  'typeset',
  'local',
  'export',
  'readonly',
  'read',
  'mapfile',
  'readarray',
  'getopts',
  'unset',
  'printf',
  'wait',
  'test',
  '[',
]);

/** The variables that such a command sets or exports. */
function namesSetBy(program: string, words: readonly string[]): string[] {
  if (/^(?:unset|wait|test|\[)$/.test(program)) return [];
  const given = program !== 'printf' ? words : words[0]?.startsWith('-v') === true ? words.slice(0, 2) : [];
  return given.flatMap((word) => /^(?:-v)?([A-Za-z_]\w*)(?:\+?=|$)/.exec(word)?.[1] ?? []);
}

function requirePlainNames(program: string, words: readonly string[]): void {
  const [first = ''] = words;
  if (program === 'printf' && !first.startsWith('-v') && !startsUnknown(first)) return;
  if (program === 'test' || program === '[') {
    const operands = words.filter((word) => word !== ']');
    const isUnknown = operands.length === 2 && startsUnknown(first);
    if (isUnknown || operands.some((word) => word === '-v' || word === '-R')) throw new UnreadableLineError();
    return;
  }
  const isDeclaration = /^(?:declare|typeset|local|export|readonly)$/.test(program);
  for (const word of words) {
    const name = word.replace(/^-v/, '').split(/\+?=/, 1)[0] ?? '';
    if (decisive.test(name) || /^\w+\[/.test(name)) throw new UnreadableLineError();
    if (program !== 'printf' && startsUnknown(word)) throw new UnreadableLineError();
    if (isDeclaration && /^[-+]\w*[in]/.test(word)) throw new UnreadableLineError();
    if (/^(?:mapfile|readarray)$/.test(program) && word.startsWith('-C')) throw new UnreadableLineError();
  }
}
