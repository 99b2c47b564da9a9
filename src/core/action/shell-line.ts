/**
 * The commands of a shell line as policies see them, each with arguments, redirections and the folder that it runs in. A line that the
 * strict reader cannot read has no commands. Proven by `test/core/action/canonical.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { ActionCommand, ActionFacts } from './shape.ts';
import { hiddenCode, scriptName } from './hidden-code.ts';
import { narrowsEnvironment, readsEnvironment } from './own-files.ts';
import { joined } from './places.ts';
import { currentFolder, homeFolder, isKnown, pattern, unknown, UnreadableLineError } from './shell-marks.ts';
import type { ShellScope } from './shell-marks.ts';
import { walkLine, type CommandListener, type CommandPlace } from './shell-commands.ts';
import { looseWrappers } from './shell-wrappers.ts';
import { splitArguments, verbOf } from './verbs.ts';

export interface LineReading {
  readonly commands: readonly ActionCommand[];
  readonly code: readonly string[];
  /** A command prints the variables of its environment. */
  readonly readsEnvironment: boolean;
}

/**
 * Returns what a line runs; null if it cannot be read, or if it has more than `limits.actionCommands` commands or
 * `limits.actionArgumentChars` characters of arguments. Cost: linear in the line and in the folders that it may run in, at most
 * `limits.actionFolders`.
 */
export function readLine(line: string, facts: ActionFacts): LineReading | null {
  const reading = new Reading(line, facts);
  try {
    walkLine(line, reading);
  } catch (error) {
    if (error instanceof UnreadableLineError) return null;
    throw error;
  }
  const { commands, code, readsEnvironment } = reading;
  return { commands, code: [...code], readsEnvironment };
}

/** The folders that a shell may be in; null for one that nobody knows. */
interface Folders {
  current: readonly (string | null)[];
  chain: object | null;
  /** Where the shell is if a command of the chain fails. */
  before: readonly (string | null)[];
}

/** Variables that change what a program does. */
const telling =
  /^(?:HOME|PWD|XDG_\w+|GIT_\w+|CLAUDE_\w+|CODEX_\w+|GEMINI_\w+|GOV_\w+|NODE_OPTIONS|PYTHON\w+|PERL5\w+|RUBYOPT|EDITOR|VISUAL|PAGER|MANPAGER|BROWSER|LESS(?:OPEN|CLOSE)|MAKEFLAGS|JAVA_TOOL_OPTIONS|RUSTC_WRAPPER|(?:https?|ftp|all)_proxy|(?:HTTPS?|FTP|ALL)_PROXY)$/;

class Reading implements CommandListener {
  readonly commands: ActionCommand[] = [];
  readonly code = new Set<string>();
  readonly moreWrappers = looseWrappers;
  readonly isStrict = false;
  readsEnvironment = false;
  /** The command before prints the environment for the next one. */
  #pipesEnvironment = false;
  readonly #facts: ActionFacts;
  readonly #folders = new Map<ShellScope, Folders>();
  /** The line may set HOME, PWD or CDPATH. */
  readonly #setsFolders: boolean;
  /** A command may run again, in another folder. */
  readonly #repeats: boolean;
  #chars = 0;

  constructor(line: string, facts: ActionFacts) {
    this.#facts = facts;
    this.#setsFolders = /(?<![$\w]|\$\{)(?:HOME|PWD|OLDPWD|CDPATH)\b/.test(line);
    this.#repeats = /\b(?:while|until|for)\b/.test(line);
  }

  command(program: string, words: readonly string[], place: CommandPlace, first: string): void {
    const folders = this.#foldersOf(place.scope);
    if (folders.chain !== place.chain) {
      folders.current = this.#bounded([...folders.current, ...folders.before]);
      folders.chain = place.chain;
      folders.before = [];
    }
    const cwd = only(folders.current);
    const runPlace = { cwd, workspace: this.#facts.workspace ?? null };
    if (first.includes('/') && !/^\/(?:usr\/(?:local\/)?)?s?bin\//.test(first))
      this.code.add(scriptName(first, runPlace));
    for (const each of folders.current) this.#add(program, words, { place, cwd: each });
    const shown = words.map((word) => this.#shown(word, cwd));
    this.#environment(program, shown, place);
    const run = { ...runPlace, program, words: shown, hasInput: place.hasInput };
    for (const each of hiddenCode(run)) this.code.add(each);
    if (place.isOfShell && /^(?:cd|chdir|pushd|popd)$/.test(program))
      this.#move(program, words, { folders, place });
  }

  redirected(place: CommandPlace): void {
    for (const cwd of this.#foldersOf(place.scope).current) this.#add('', [], { place, cwd });
  }

  assigned(name: string): void {
    if (telling.test(name)) this.code.add(`variable ${name}`);
  }

  opaque(name: string): void {
    this.code.add(`runs programs ${name}`);
  }

  script(word: string | undefined, place: CommandPlace): void {
    if (word === undefined || /^\/(?:dev\/(?:stdin|fd)|proc)\b/.test(word))
      this.code.add('shell reads standard input');
    else {
      const cwd = only(this.#foldersOf(place.scope).current);
      this.code.add(scriptName(this.#shown(word, cwd), { cwd, workspace: this.#facts.workspace ?? null }));
    }
  }

  unclear(program: string, word: string): void {
    // a word whose unknown part may be the whole option
    const rest = word.replace(/^[\0\udc00-\udc02]+/u, '');
    if (
      rest !== word &&
      isKnown(rest) &&
      '-exec -execdir -ok -okdir -delete'.split(' ').some((each) => each.endsWith(rest))
    )
      this.code.add(`inline ${program}`);
  }

  /** `env` prints all; `env | grep NODE` prints what a plain name finds. */
  #environment(program: string, args: readonly (string | null)[], place: CommandPlace): void {
    if (this.#pipesEnvironment && !narrowsEnvironment(program, args)) this.readsEnvironment = true;
    const prints = readsEnvironment(program, args);
    this.#pipesEnvironment = prints && place.followedBy === '|';
    if (prints && !this.#pipesEnvironment) this.readsEnvironment = true;
  }

  #add(
    program: string,
    words: readonly string[],
    at: { readonly place: CommandPlace; readonly cwd: string | null },
  ): void {
    const args = words.map((word) => this.#shown(word, at.cwd));
    const redirects = at.place.redirections
      .filter(
        ({ sign, target }) =>
          !/^<<[-<]?$/.test(sign) && !/^(?:\d+-?|-)$/.test(target) && target !== '/dev/null',
      )
      .map(({ sign, target }) => ({ sign, target: this.#shown(target, at.cwd) }));
    this.#chars += args.reduce((sum, arg) => sum + (arg?.length ?? 1), 1);
    if (this.#chars > limits.actionArgumentChars || this.commands.length >= limits.actionCommands)
      throw new UnreadableLineError();
    const { flags, operands } = splitArguments(args);
    const cwd = program === 'git' ? gitFolder(args, at.cwd) : at.cwd;
    this.commands.push({ program, verb: verbOf(program, args), args, flags, operands, redirects, cwd });
  }

  #foldersOf(scope: ShellScope): Folders {
    const found = this.#folders.get(scope);
    if (found !== undefined) return found;
    const { parent, isElsewhere } = scope;
    const current =
      isElsewhere === true
        ? [null]
        : parent === null
          ? [this.#facts.cwd ?? null]
          : this.#foldersOf(parent).current;
    const made: Folders = { current, chain: null, before: [] };
    this.#folders.set(scope, made);
    return made;
  }

  #move(
    program: string,
    words: readonly string[],
    { folders, place }: { readonly folders: Folders; readonly place: CommandPlace },
  ): void {
    const target = words.find((word) => !/^-[LPe@]+$/.test(word) && word !== '--');
    const next = folders.current.map((cwd) => this.#target(program, target, cwd));
    if (place.followedBy === '&&') {
      folders.before = [...folders.before, ...folders.current];
      folders.current = this.#bounded(next);
    } else folders.current = this.#bounded([...folders.current, ...next]);
  }

  #target(program: string, word: string | undefined, cwd: string | null): string | null {
    if (program === 'popd' || word === '-' || this.#setsFolders) return null;
    if (word === undefined) return this.#facts.home ?? null;
    const to = this.#shown(word, cwd);
    if (to === null || to.includes('*') || to.startsWith('~')) return null;
    if (to.startsWith('/')) return joined('/', to);
    return cwd === null || this.#repeats ? null : joined(cwd, to);
  }

  #bounded(folders: readonly (string | null)[]): readonly (string | null)[] {
    const distinct = [...new Set(folders)];
    return distinct.length > limits.actionFolders ? [null] : distinct;
  }

  /** A word as a policy sees it: null if only the running shell knows it. A pattern keeps `*`. */
  #shown(word: string, cwd: string | null): string | null {
    if (isKnown(word)) return word;
    const { home } = this.#facts;
    if (word.includes(unknown)) return null;
    const asks = word.includes(homeFolder) || word.includes(currentFolder);
    if (asks && this.#setsFolders) return null;
    if (word.includes(homeFolder) && typeof home !== 'string') return null;
    if (word.includes(currentFolder) && cwd === null) return null;
    return word
      .replaceAll(homeFolder, () => home ?? '')
      .replaceAll(currentFolder, () => cwd ?? '')
      .replaceAll(pattern, '*');
  }
}

const only = (folders: readonly (string | null)[]): string | null =>
  folders.length === 1 ? (folders[0] ?? null) : null;

/** The folder of `git -C FOLDER`; each further one is relative to the one before. */
function gitFolder(args: readonly (string | null)[], cwd: string | null): string | null {
  let folder = cwd;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at];
    if (arg === '-c') at += 1;
    else if (arg !== '-C') {
      if (arg === null || !arg?.startsWith('-')) return folder;
    } else {
      const to = args[(at += 1)];
      if (typeof to !== 'string' || (!to.startsWith('/') && folder === null)) return null;
      folder = joined(folder ?? '/', to);
    }
  }
  return folder;
}
