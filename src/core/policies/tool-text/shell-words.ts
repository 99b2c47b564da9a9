/**
 * Reads a command line as a POSIX shell and bash do, into simple commands of words (POSIX.1-2024, Shell Command Language
 * §2.2-2.10; Bash Reference Manual §3). It expands nothing: a word whose text only the running shell knows is unknown.
 * What it does not read (functions, `case`, arrays, extended patterns) makes the whole line unreadable. Proven by
 * `test/core/policies/tool-text/shell.test.ts`.
 */
import { closing, leading, notRead, operators, redirections } from './shell-signs.ts';
import { computesVariable, decisive, parameter, testComputes } from './shell-variables.ts';

/**
 * Part of a word that only the running shell knows, such as a variable: NUL, which no line contains. Words are texts after
 * their quotes are removed.
 */
export const unknown = '\0';

/** The line cannot be read, so what it runs is unknown. */
export class UnreadableLineError extends Error {}

/** Nested substitutions that are read. */
const deepest = 16;

/** Returns the simple commands of a line, also those in substitutions, each as its words. @throws Unreadable */
export function simpleCommands(line: string): readonly (readonly string[])[] {
  if (line.includes(unknown)) throw new UnreadableLineError();
  const commands: string[][] = [];
  const reader = new Reader(line, commands, 0);
  reader.list(null);
  return commands;
}

class Reader {
  readonly #line: string;
  readonly #commands: string[][];
  readonly #depth: number;
  #at = 0;
  /** Open substitutions and subshells. */
  #levels = 0;
  /** Documents that begin after the next line end. */
  #documents: { readonly end: string; readonly isPlain: boolean; readonly isIndented: boolean }[] = [];

  constructor(line: string, commands: string[][], depth: number) {
    if (depth > deepest) throw new UnreadableLineError();
    this.#line = line;
    this.#commands = commands;
    this.#depth = depth;
  }

  /** Reads commands up to the sign, which it takes; null: up to the end of the line. */
  list(until: ')' | null): void {
    this.#levels += 1;
    if (this.#levels > deepest) throw new UnreadableLineError();
    this.#commandsUpTo(until);
    this.#levels -= 1;
  }

  #commandsUpTo(until: ')' | null): void {
    let words: string[] = [];
    const end = (): void => {
      if (words.length > 0) this.#commands.push(words);
      words = [];
    };
    for (;;) {
      this.#skipBlanks();
      if (this.#at >= this.#line.length) {
        if (until !== null || this.#documents.length > 0) throw new UnreadableLineError();
        return end();
      }
      const operator = this.#operator();
      if (operator === undefined) {
        if (this.#isReserved(words)) continue;
        words.push(this.#word());
        continue;
      }
      if (redirections.has(operator)) {
        this.#redirection(operator);
        continue;
      }
      if (operator === '(') {
        if (words.length > 0) throw new UnreadableLineError(); // a function or an array
        if (this.#take('(')) this.#arithmetic();
        else this.list(')');
        continue;
      }
      end();
      if (operator === '\n') this.#skipDocuments();
      if (operator !== ')') continue;
      if (until === null) throw new UnreadableLineError();
      return;
    }
  }

  /** Takes a reserved word that stands where a command begins. Returns false if there is none. */
  #isReserved(words: readonly string[]): boolean {
    if (words.length > 0) return false;
    const [text = ''] = /^[^\s;&|<>()'"\\$`]+/.exec(this.#line.slice(this.#at)) ?? [];
    const next = this.#line[this.#at + text.length];
    if (next !== undefined && /['"\\$`]/.test(next)) return false;
    if (notRead.has(text)) throw new UnreadableLineError();
    if (text === 'time') return this.#time();
    if (text === 'for') {
      this.#at += text.length;
      this.#loopHead();
      return true;
    }
    if (text === '[[') {
      this.#at += text.length;
      this.#test();
      return true;
    }
    if (!leading.has(text) && !closing.has(text)) return false;
    this.#at += text.length;
    return true;
  }

  /** `time` and `time -p` before a command of any kind. With other options it is a program. */
  #time(): boolean {
    const [taken] =
      /^time(?:[ \t]+(?:-p|--)(?=\s|$))*(?![ \t]+-)(?=[\s;&|]|$)/.exec(this.#line.slice(this.#at)) ?? [];
    if (taken === undefined) return false;
    this.#at += taken.length;
    this.#commands.push(['time']);
    return true;
  }

  /** `for name in words;` or `for ((…))`: reads the words for the commands in them. */
  #loopHead(): void {
    this.#skipBlanks();
    if (this.#line.startsWith('((', this.#at)) {
      this.#at += 2;
      return this.#arithmetic();
    }
    if (decisive.test(this.#word())) throw new UnreadableLineError();
    for (let at = 0; ; at += 1) {
      this.#skipBlanks();
      const operator = this.#operator();
      if (operator === ';' || operator === '\n') return;
      if (operator !== undefined || this.#at >= this.#line.length) throw new UnreadableLineError();
      if (this.#word() !== 'in' && at === 0) throw new UnreadableLineError(); // `for name do`
    }
  }

  /** `[[ … ]]`: no command, but words may contain some, and bash computes those of `-eq`. */
  #test(): void {
    const words: string[] = [];
    for (;;) {
      this.#skipBlanks();
      if (this.#at >= this.#line.length) throw new UnreadableLineError();
      if (/^\]\](?:[\s;&|)]|$)/.test(this.#line.slice(this.#at))) {
        this.#at += 2;
        break;
      }
      if (this.#operator() === undefined) words.push(this.#word());
    }
    if (testComputes(words)) throw new UnreadableLineError();
  }

  #redirection(operator: string): void {
    this.#skipBlanks();
    const from = this.#at;
    const word = this.#word();
    if (operator !== '<<' && operator !== '<<-') return;
    if (word.includes(unknown)) throw new UnreadableLineError();
    const isPlain = /['"\\]/.test(this.#line.slice(from, this.#at));
    this.#documents.push({ end: word, isPlain, isIndented: operator === '<<-' });
  }

  /** Skips the documents that begin here (`<<END`). One without quotes around its end has substitutions. */
  #skipDocuments(): void {
    for (const { end, isPlain, isIndented } of this.#documents.splice(0)) {
      const body: string[] = [];
      for (;;) {
        if (this.#at >= this.#line.length) throw new UnreadableLineError();
        const text = this.#documentLine(isPlain);
        if ((isIndented ? text.replace(/^\t+/, '') : text) === end) break;
        body.push(text);
      }
      if (!isPlain) this.#nested(body.join('\n')).#quoted(null);
    }
  }

  /** Takes a line of a document. In one with substitutions, a backslash at its end joins the next line. */
  #documentLine(isPlain: boolean): string {
    const [text = ''] = (isPlain ? /^[^\n]*/ : /^(?:\\[^]|[^\\\n])*/).exec(this.#line.slice(this.#at)) ?? [];
    this.#at = Math.min(this.#at + text.length + 1, this.#line.length);
    return isPlain
      ? text
      : text.replace(/(\\*)\\\n/g, (all, before: string) => (before.length % 2 === 0 ? before : all));
  }

  #skipBlanks(): void {
    for (;;) {
      const rest = this.#line.slice(this.#at, this.#at + 2);
      if (rest === '\\\n') {
        // elsewhere it joins the halves of an operator or a word
        if (!/[\s;|&]/.test(this.#line[this.#at - 1] ?? ' ')) throw new UnreadableLineError();
        this.#at += 2;
      } else if (rest[0] === ' ' || rest[0] === '\t') this.#at += 1;
      else if (rest[0] === '#') {
        const stop = this.#line.indexOf('\n', this.#at);
        this.#at = stop === -1 ? this.#line.length : stop;
      } else return;
    }
  }

  /** Takes an operator, with the digits before a redirection. */
  #operator(): string | undefined {
    const [digits = ''] = /^\d+(?=[<>])/.exec(this.#line.slice(this.#at, this.#at + 8)) ?? [];
    const from = this.#at + digits.length;
    if (/^[<>]\(/.test(this.#line.slice(from, from + 2))) return undefined; // a substitution of a process
    const found = operators.find((each) => this.#line.startsWith(each, from));
    if (found !== undefined) this.#at = from + found.length;
    return found;
  }

  #take(sign: string): boolean {
    if (!this.#line.startsWith(sign, this.#at)) return false;
    this.#at += sign.length;
    return true;
  }

  /** Reads one word up to a blank or an operator. */
  #word(): string {
    let text = '';
    const from = this.#at;
    for (;;) {
      const sign = this.#line[this.#at];
      if (sign === undefined || /[\s;&|<>()]/.test(sign)) {
        if ((sign === '<' || sign === '>') && this.#line[this.#at + 1] === '(') {
          this.#at += 2;
          this.list(')');
          text += unknown;
          continue;
        }
        if (sign === '(' && this.#at > from) throw new UnreadableLineError(); // a function, an array or an extended pattern
        if (this.#at === from) throw new UnreadableLineError();
        return text;
      }
      text += this.#part(sign, from);
    }
  }

  /** Reads a quoted part, an expansion or a character. */
  #part(sign: string, from: number): string {
    const at = this.#at;
    this.#at += 1;
    switch (sign) {
      case '\\':
        this.#at += 1;
        return this.#line[at + 1] === '\n' ? unreadable() : (this.#line[at + 1] ?? unreadable());
      case "'":
        return this.#upTo("'");
      case '"':
        return this.#quoted('"');
      case '`':
        this.#backticks();
        return unknown;
      case '$':
        return this.#dollar(false);
      case '~':
        return at === from ? unknown : sign;
      case '*':
      case '?':
        return unknown; // a pattern
      case '[': // alone it is a program
        return at === from && /^[\s;&|]/.test(this.#line[at + 1] ?? ' ') ? sign : unknown;
      case '{': // an enumeration, but not `{}`
        return this.#take('}') ? '{}' : unknown;
      default:
        return /\p{Cc}/u.test(sign) ? unreadable() : sign;
    }
  }

  #upTo(sign: string): string {
    const stop = this.#line.indexOf(sign, this.#at);
    if (stop === -1) throw new UnreadableLineError();
    const text = this.#line.slice(this.#at, stop);
    this.#at = stop + 1;
    return text;
  }

  /** Reads a text in double quotes, or to the end of a document (null). */
  #quoted(until: '"' | null): string {
    let text = '';
    for (;;) {
      const sign = this.#line[this.#at];
      if (sign === undefined) return until === null ? text : unreadable();
      this.#at += 1;
      if (sign === until) return text;
      let part = sign;
      if (sign === '\\') {
        const next = this.#line[this.#at] ?? '';
        this.#at += 1;
        part = next === '\n' ? '' : '$`"\\'.includes(next) ? next : sign + next;
      } else if (sign === '`') {
        this.#backticks();
        part = unknown;
      } else if (sign === '$') part = this.#dollar(true);
      text += part;
    }
  }

  /** Reads what follows `$`. */
  #dollar(isQuoted: boolean): string {
    if (this.#take('((')) {
      this.#arithmetic();
      return unknown;
    }
    if (this.#take('(')) {
      this.list(')');
      return unknown;
    }
    if (this.#line.startsWith('[', this.#at) || this.#line.startsWith('\\\n', this.#at))
      throw new UnreadableLineError();
    if (this.#take('{')) {
      this.#braces(isQuoted);
      return unknown;
    }
    if (!isQuoted && this.#take("'")) {
      this.#escaped();
      return unknown;
    }
    if (!isQuoted && this.#take('"')) return this.#quoted('"');
    const [name] = /^(?:[A-Za-z_]\w*|[\d@*#?$!-])/.exec(this.#line.slice(this.#at)) ?? [];
    this.#at += name?.length ?? 0;
    return name === undefined ? '$' : unknown;
  }

  /** `$'…'` with escapes of C; its text is not decoded. */
  #escaped(): void {
    for (;;) {
      const sign = this.#line[this.#at];
      if (sign === undefined) throw new UnreadableLineError();
      this.#at += sign === '\\' ? 2 : 1;
      if (sign === "'") return;
    }
  }

  /** `${…}`: a default may contain substitutions and quotes. */
  #braces(isQuoted: boolean): void {
    const [taken, name = ''] = parameter.exec(this.#line.slice(this.#at)) ?? unreadable();
    this.#at += taken.length;
    if (taken.endsWith('=') && decisive.test(name)) throw new UnreadableLineError();
    this.#levels += 1;
    if (this.#levels > deepest) throw new UnreadableLineError();
    for (;;) {
      const sign = this.#line[this.#at];
      if (sign === undefined) throw new UnreadableLineError();
      if (sign === '}') {
        this.#at += 1;
        this.#levels -= 1;
        return;
      }
      if (isQuoted && sign === "'") throw new UnreadableLineError(); // quotes in some forms only
      this.#part(sign, -1);
    }
  }

  /** `((…))` and `$((…))`: may contain substitutions. bash also computes the text of a variable, unless it is set here. */
  #arithmetic(): void {
    const from = this.#at;
    for (let open = 0; ;) {
      if (open === 0 && this.#take('))')) {
        if (computesVariable(this.#line.slice(from, this.#at))) throw new UnreadableLineError();
        return;
      }
      const sign = this.#line[this.#at];
      if (sign === undefined || sign === "'") throw new UnreadableLineError();
      if (sign === '(' || sign === ')') {
        open += sign === '(' ? 1 : -1;
        if (open < 0) throw new UnreadableLineError(); // `$( (a) )`, not arithmetic
        this.#at += 1;
      } else if (sign === '\n') this.#at += 1;
      else this.#part(sign, -1);
    }
  }

  #backticks(): void {
    let inner = '';
    for (;;) {
      const sign = this.#line[this.#at];
      if (sign === undefined) throw new UnreadableLineError();
      this.#at += 1;
      if (sign === '`') break;
      if (sign !== '\\') inner += sign;
      else {
        const next = this.#line[this.#at] ?? '';
        this.#at += 1;
        inner += '`\\$'.includes(next) ? next : sign + next;
      }
    }
    this.#nested(inner).list(null);
  }

  #nested = (text: string): Reader => new Reader(text, this.#commands, this.#depth + 1);
}

function unreadable(): never {
  throw new UnreadableLineError();
}
