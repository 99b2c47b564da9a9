/**
 * Reads a command line as a POSIX shell and bash do, into simple commands of words (POSIX.1-2024, Shell Command Language
 * §2.2-2.10; Bash Reference Manual §3). It expands nothing: a word whose text only the running shell knows is unknown.
 * What it does not read (functions, `case`, arrays, extended patterns) makes the whole line unreadable. Proven by
 * `test/core/action/shell.test.ts`.
 */
import {
  currentFolder,
  homeFolder,
  isKnown,
  pattern,
  unknown,
  unreadable,
  UnreadableLineError,
} from './shell-marks.ts';
import type { Redirection, ShellScope, SimpleCommand } from './shell-marks.ts';
import { closing, isJoining, leading, notRead, redirections, ShellText } from './shell-text.ts';
import { computesVariable, decisive, LoopVariables, parameter, testComputes } from './shell-variables.ts';

/** Nested substitutions that are read. */
const deepest = 16;

/** `isStrict`: refuses what shells take with a warning, and knows no variable of a loop. */
interface ReaderPlace {
  readonly scope: ShellScope;
  readonly isStrict: boolean;
}

/**
 * Returns the simple commands of a line, also those in substitutions, in the order in which a shell may start them. `scope`:
 * the shell that runs the line. @throws UnreadableLineError
 */
export function simpleCommands(line: string, place: ReaderPlace): readonly SimpleCommand[] {
  if (line.includes(unknown) || !line.isWellFormed()) throw new UnreadableLineError();
  const commands: SimpleCommand[] = [];
  const reader = new Reader(line, commands, { ...place, depth: 0 });
  reader.list(null);
  return commands;
}

class Reader {
  readonly #text: ShellText;
  readonly #commands: SimpleCommand[];
  readonly #depth: number;
  readonly #isStrict: boolean;
  #scope: ShellScope;
  /** Commands of one chain run only if those before succeeded. */
  #chain: object = {};
  #isPiped = false;
  /** Redirections of the command that is being read. */
  #redirected: Redirection[] = [];
  /** Open substitutions and subshells. */
  #levels = 0;
  readonly #loops: LoopVariables;
  /** Documents that begin after the next line end. */
  #documents: { readonly end: string; readonly isPlain: boolean; readonly isIndented: boolean }[] = [];

  constructor(
    line: string,
    commands: SimpleCommand[],
    { scope, depth, isStrict }: ReaderPlace & { readonly depth: number },
  ) {
    if (depth > deepest) throw new UnreadableLineError();
    this.#text = new ShellText(line);
    this.#commands = commands;
    this.#depth = depth;
    this.#isStrict = isStrict;
    this.#loops = new LoopVariables(isStrict ? null : line);
    this.#scope = scope;
  }

  /** Reads commands up to the sign, which it takes; null: up to the end of the line. */
  list(until: ')' | null): void {
    this.#levels += 1;
    if (this.#levels > deepest) throw new UnreadableLineError();
    const outer = [this.#scope, this.#chain, this.#isPiped, this.#redirected] as const;
    if (until !== null) this.#scope = { parent: this.#scope };
    this.#redirected = [];
    this.#commandsUpTo(until);
    [this.#scope, this.#chain, this.#isPiped, this.#redirected] = outer;
    this.#levels -= 1;
  }

  #commandsUpTo(until: ')' | null): void {
    let words: string[] = [];
    let [isJoined, isNegated] = [false, false];
    const end = (operator = ''): void => {
      const isEmpty = words.length === 0 && this.#redirected.length === 0;
      if (!isEmpty) this.#push(words, isNegated ? '!' : operator);
      // a line end after `&&` or `|` ends nothing
      if (operator === '\n' && isEmpty && isJoined) return;
      isJoined = isJoining(operator);
      this.#isPiped = isJoined && operator !== '&&';
      if (!isJoined) this.#chain = {};
      isNegated = false;
      words = [];
    };
    for (;;) {
      this.#text.skipBlanks();
      if (this.#text.at >= this.#text.line.length) {
        if (until !== null || (this.#documents.length > 0 && this.#isStrict)) throw new UnreadableLineError();
        return end();
      }
      const operator = this.#text.operator();
      if (operator === undefined) {
        const isNot =
          words.length === 0 && /^!(?=\s)/.test(this.#text.line.slice(this.#text.at, this.#text.at + 2));
        if (this.#isReserved(words)) {
          isNegated = isNot;
          isJoined = false;
          continue;
        }
        words.push(this.#word());
        continue;
      }
      if (redirections.has(operator)) {
        this.#redirection(operator);
        continue;
      }
      if (operator === '(') {
        if (words.length > 0) throw new UnreadableLineError(); // a function or an array
        if (this.#text.take('(')) this.#arithmetic();
        else this.list(')');
        isJoined = false;
        continue;
      }
      end(operator);
      if (operator === '\n') this.#skipDocuments();
      if (operator !== ')') continue;
      if (until === null) throw new UnreadableLineError();
      return;
    }
  }

  /** Takes a reserved word that stands where a command begins. Returns false if there is none. */
  #isReserved(words: readonly string[]): boolean {
    if (words.length > 0) return false;
    const [text = ''] = /^[^\s;&|<>()'"\\$`]+/.exec(this.#text.line.slice(this.#text.at)) ?? [];
    const next = this.#text.line[this.#text.at + text.length];
    if (next !== undefined && /['"\\$`]/.test(next)) return false;
    if (notRead.has(text)) throw new UnreadableLineError();
    if (text === 'time') return this.#time();
    if (text === 'for') {
      this.#text.at += text.length;
      this.#loopHead();
      return true;
    }
    if (text === '[[') {
      this.#text.at += text.length;
      this.#test();
      return true;
    }
    if (!leading.has(text) && !closing.has(text)) return false;
    if (text === 'while' || text === 'until') this.#loops.open(null, []);
    if (text === 'done') this.#loops.close();
    this.#text.at += text.length;
    return true;
  }

  /** `time` and `time -p` before a command of any kind. With other options it is a program. */
  #time(): boolean {
    const [taken] =
      /^time(?:[ \t]+(?:-p|--)(?=\s|$))*(?![ \t]+-)(?=[\s;&|]|$)/.exec(
        this.#text.line.slice(this.#text.at),
      ) ?? [];
    if (taken === undefined) return false;
    this.#text.at += taken.length;
    this.#push(['time'], '');
    return true;
  }

  #push(words: readonly string[], followedBy: string): void {
    const [scope, chain, isPiped, redirected] = [this.#scope, this.#chain, this.#isPiped, this.#redirected];
    this.#commands.push({ words, redirections: redirected, scope, chain, followedBy, isPiped });
    this.#redirected = [];
  }

  /** `for name in words;` or `for ((…))`: reads the words for the commands in them. */
  #loopHead(): void {
    this.#text.skipBlanks();
    if (this.#text.line.startsWith('((', this.#text.at)) {
      this.#text.at += 2;
      this.#loops.open(null, []);
      return this.#arithmetic();
    }
    const name = this.#word();
    if (decisive.test(name)) throw new UnreadableLineError();
    const words: string[] = [];
    for (let at = 0; ; at += 1) {
      this.#text.skipBlanks();
      const operator = this.#text.operator();
      if (operator === ';' || operator === '\n') break;
      if (operator !== undefined || this.#text.at >= this.#text.line.length) throw new UnreadableLineError();
      const word = this.#word();
      if (at > 0) words.push(word);
      else if (word !== 'in') throw new UnreadableLineError(); // `for name do`
    }
    this.#loops.open(name, words);
  }

  /** `[[ … ]]`: no command, but words may contain some, and bash computes those of `-eq`. */
  #test(): void {
    const words: string[] = [];
    for (;;) {
      this.#text.skipBlanks();
      if (this.#text.at >= this.#text.line.length) throw new UnreadableLineError();
      if (/^\]\](?:[\s;&|)]|$)/.test(this.#text.line.slice(this.#text.at))) {
        this.#text.at += 2;
        break;
      }
      if (this.#text.operator() === undefined) words.push(this.#word());
    }
    if (testComputes(words)) throw new UnreadableLineError();
  }

  #redirection(operator: string): void {
    this.#text.skipBlanks();
    const from = this.#text.at;
    const word = this.#word();
    this.#redirected.push({ sign: operator, target: word });
    if (operator !== '<<' && operator !== '<<-') return;
    if (!isKnown(word)) throw new UnreadableLineError();
    const isPlain = /['"\\]/.test(this.#text.line.slice(from, this.#text.at));
    this.#documents.push({ end: word, isPlain, isIndented: operator === '<<-' });
  }

  /** Skips the documents that begin here (`<<END`). One without quotes around its end has substitutions. */
  #skipDocuments(): void {
    for (const { end, isPlain, isIndented } of this.#documents.splice(0)) {
      const body: string[] = [];
      for (;;) {
        if (this.#text.at >= this.#text.line.length) {
          if (this.#isStrict) throw new UnreadableLineError();
          break; // shells warn, and take the document up to the end of the line
        }
        const text = this.#text.documentLine(isPlain);
        if ((isIndented ? text.replace(/^\t+/, '') : text) === end) break;
        body.push(text);
      }
      if (!isPlain) this.#nested(body.join('\n')).#quoted(null);
    }
  }

  /** Reads one word up to a blank or an operator. */
  #word(): string {
    let text = '';
    const from = this.#text.at;
    for (;;) {
      const sign = this.#text.line[this.#text.at];
      if (sign === undefined || /[\s;&|<>()]/.test(sign)) {
        if ((sign === '<' || sign === '>') && this.#text.line[this.#text.at + 1] === '(') {
          this.#text.at += 2;
          this.list(')');
          text += unknown;
          continue;
        }
        if (sign === '(' && this.#text.at > from) throw new UnreadableLineError(); // a function, an array or an extended pattern
        if (this.#text.at === from) throw new UnreadableLineError();
        return text;
      }
      text += this.#part(sign, from);
    }
  }

  /** Reads a quoted part, an expansion or a character. */
  #part(sign: string, from: number): string {
    const at = this.#text.at;
    this.#text.at += 1;
    switch (sign) {
      case '\\':
        this.#text.at += 1;
        return this.#text.line[at + 1] === '\n' ? unreadable() : (this.#text.line[at + 1] ?? unreadable());
      case "'":
        return this.#text.upTo("'");
      case '"':
        return this.#quoted('"');
      case '`':
        this.#nested(this.#text.backticks()).list(null);
        return unknown;
      case '$':
        return this.#dollar(false);
      case '~':
        if (at !== from) return sign;
        return /^(?:[/\s;&|<>()]|$)/.test(this.#text.line.slice(at + 1, at + 2)) ? homeFolder : unknown; // `~user`
      case '*':
      case '?':
        return pattern;
      case '[': // alone it is a program
        return at === from && /^[\s;&|]/.test(this.#text.line[at + 1] ?? ' ') ? sign : pattern;
      case '{': // an enumeration, but not `{}`
        return this.#text.take('}') ? '{}' : unknown;
      default:
        return /\p{Cc}/u.test(sign) ? unreadable() : sign;
    }
  }

  /** Reads a text in double quotes, or to the end of a document (null). */
  #quoted(until: '"' | null): string {
    let text = '';
    for (;;) {
      const sign = this.#text.line[this.#text.at];
      if (sign === undefined) return until === null ? text : unreadable();
      this.#text.at += 1;
      if (sign === until) return text;
      let part = sign;
      if (sign === '\\') {
        const next = this.#text.line[this.#text.at] ?? '';
        this.#text.at += 1;
        part = next === '\n' ? '' : '$`"\\'.includes(next) ? next : sign + next;
      } else if (sign === '`') {
        this.#nested(this.#text.backticks()).list(null);
        part = unknown;
      } else if (sign === '$') part = this.#dollar(true);
      text += part;
    }
  }

  /** Reads what follows `$`. */
  #dollar(isQuoted: boolean): string {
    if (this.#text.take('((')) {
      this.#arithmetic();
      return unknown;
    }
    if (this.#text.take('(')) {
      this.list(')');
      return unknown;
    }
    if (this.#text.line.startsWith('[', this.#text.at) || this.#text.line.startsWith('\\\n', this.#text.at))
      throw new UnreadableLineError();
    if (this.#text.take('{')) {
      if (this.#text.take('HOME}')) return homeFolder;
      if (this.#text.take('PWD}')) return currentFolder;
      const [, whole] = /^(\w+)\}/.exec(this.#text.line.slice(this.#text.at)) ?? [];
      const word = whole === undefined ? null : this.#loops.wordOf(whole);
      if (word !== null && this.#text.take(`${whole}}`)) return word;
      this.#braces(isQuoted);
      return unknown;
    }
    if (!isQuoted && this.#text.take("'")) {
      this.#text.escaped();
      return unknown;
    }
    if (!isQuoted && this.#text.take('"')) return this.#quoted('"');
    const [name] = /^(?:[A-Za-z_]\w*|[\d@*#?$!-])/.exec(this.#text.line.slice(this.#text.at)) ?? [];
    this.#text.at += name?.length ?? 0;
    if (name === 'HOME') return homeFolder;
    if (name === 'PWD') return currentFolder;
    return name === undefined ? '$' : (this.#loops.wordOf(name) ?? unknown);
  }

  /** `${…}`: a default may contain substitutions and quotes. */
  #braces(isQuoted: boolean): void {
    const [taken, name = ''] = parameter.exec(this.#text.line.slice(this.#text.at)) ?? unreadable();
    this.#text.at += taken.length;
    if (taken.endsWith('=') && decisive.test(name)) throw new UnreadableLineError();
    this.#levels += 1;
    if (this.#levels > deepest) throw new UnreadableLineError();
    for (;;) {
      const sign = this.#text.line[this.#text.at];
      if (sign === undefined) throw new UnreadableLineError();
      if (sign === '}') {
        this.#text.at += 1;
        this.#levels -= 1;
        return;
      }
      if (isQuoted && sign === "'") throw new UnreadableLineError(); // quotes in some forms only
      this.#part(sign, -1);
    }
  }

  /** `((…))` and `$((…))`: may contain substitutions. bash also computes the text of a variable, unless it is set here. */
  #arithmetic(): void {
    const from = this.#text.at;
    for (let open = 0; ;) {
      if (open === 0 && this.#text.take('))')) {
        if (computesVariable(this.#text.line.slice(from, this.#text.at))) throw new UnreadableLineError();
        return;
      }
      const sign = this.#text.line[this.#text.at];
      if (sign === undefined || sign === "'") throw new UnreadableLineError();
      if (sign === '(' || sign === ')') {
        open += sign === '(' ? 1 : -1;
        if (open < 0) throw new UnreadableLineError(); // `$( (a) )`, not arithmetic
        this.#text.at += 1;
      } else if (sign === '\n') this.#text.at += 1;
      else this.#part(sign, -1);
    }
  }

  #nested = (text: string): Reader =>
    new Reader(text, this.#commands, {
      scope: { parent: this.#scope },
      depth: this.#depth + 1,
      isStrict: this.#isStrict,
    });
}
