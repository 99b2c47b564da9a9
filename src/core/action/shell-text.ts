/**
 * The text of a shell line and the place up to which it is read. Its methods take what needs no look at commands: signs, blanks,
 * operators and plain texts. Proven by `test/core/action/shell.test.ts`.
 */
import { UnreadableLineError } from './shell-marks.ts';

/** Operators of a shell, longer ones first. */
const operators = [
  '&&',
  '||',
  ';;',
  '|&',
  '&>>',
  '&>',
  '<<-',
  '<<<',
  '<<',
  '>>',
  '<&',
  '>&',
  '<>',
  '>|',
  ...';&|<>()\n',
];
export const redirections = new Set([
  '<',
  '>',
  '>>',
  '<<',
  '<<-',
  '<<<',
  '<&',
  '>&',
  '<>',
  '>|',
  '&>',
  '&>>',
]);
/** Before a command; the next word is a command again. */
export const leading = new Set(['!', 'if', 'then', 'elif', 'else', 'while', 'until', 'do', '{']);
export const closing = new Set(['fi', 'done', '}', 'esac']);
export const notRead = new Set(['case', 'function', 'select', 'coproc']);
/** Whether the command after the operator belongs to the same chain. */
export const isJoining = (operator: string): boolean =>
  operator === '&&' || operator === '|' || operator === '|&';

export class ShellText {
  readonly line: string;
  at = 0;

  constructor(line: string) {
    this.line = line;
  }

  take(sign: string): boolean {
    if (!this.line.startsWith(sign, this.at)) return false;
    this.at += sign.length;
    return true;
  }

  skipBlanks(): void {
    for (;;) {
      const rest = this.line.slice(this.at, this.at + 2);
      if (rest === '\\\n') {
        // elsewhere it joins the halves of an operator or a word
        if (!/[\s;|&]/.test(this.line[this.at - 1] ?? ' ')) throw new UnreadableLineError();
        this.at += 2;
      } else if (rest[0] === ' ' || rest[0] === '\t') this.at += 1;
      else if (rest[0] === '#') {
        const stop = this.line.indexOf('\n', this.at);
        this.at = stop === -1 ? this.line.length : stop;
      } else return;
    }
  }

  /** Takes an operator, with the digits before a redirection. */
  operator(): string | undefined {
    const [digits = ''] = /^\d+(?=[<>])/.exec(this.line.slice(this.at, this.at + 8)) ?? [];
    const from = this.at + digits.length;
    if (/^[<>]\(/.test(this.line.slice(from, from + 2))) return undefined; // a substitution of a process
    const found = operators.find((each) => this.line.startsWith(each, from));
    if (found !== undefined) this.at = from + found.length;
    return found;
  }

  upTo(sign: string): string {
    const stop = this.line.indexOf(sign, this.at);
    if (stop === -1) throw new UnreadableLineError();
    const text = this.line.slice(this.at, stop);
    this.at = stop + 1;
    return text;
  }

  /** Takes a line of a document. In one with substitutions, a backslash at its end joins the next line. */
  documentLine(isPlain: boolean): string {
    const [text = ''] = (isPlain ? /^[^\n]*/ : /^(?:\\[^]|[^\\\n])*/).exec(this.line.slice(this.at)) ?? [];
    this.at = Math.min(this.at + text.length + 1, this.line.length);
    return isPlain
      ? text
      : text.replace(/(\\*)\\\n/g, (all, before: string) => (before.length % 2 === 0 ? before : all));
  }

  /** `$'…'` with escapes of C; its text is not decoded. */
  escaped(): void {
    for (;;) {
      const sign = this.line[this.at];
      if (sign === undefined) throw new UnreadableLineError();
      this.at += sign === '\\' ? 2 : 1;
      if (sign === "'") return;
    }
  }

  /** Takes a text up to the closing backtick, without the backslashes that hide signs from it. */
  backticks(): string {
    let inner = '';
    for (;;) {
      const sign = this.line[this.at];
      if (sign === undefined) throw new UnreadableLineError();
      this.at += 1;
      if (sign === '`') return inner;
      if (sign !== '\\') inner += sign;
      else {
        const next = this.line[this.at] ?? '';
        this.at += 1;
        inner += '`\\$'.includes(next) ? next : sign + next;
      }
    }
  }
}
