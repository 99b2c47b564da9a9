/**
 * Words and commands as the reader of shell lines gives them. A word is a text after its quotes are removed, in which marks
 * stand for what the text does not say. No line contains a mark: NUL, and surrogates without their other half.
 * Proven by `test/core/action/shell.test.ts`.
 */

/** What only the running shell knows, such as a variable. */
export const unknown = '\0';
/** A pattern of file names: `*`, `?` or `[…]`. */
export const pattern = '\udc00';
/** `~` or `$HOME`. */
export const homeFolder = '\udc01';
/** `$PWD`. */
export const currentFolder = '\udc02';

const marks = /[\0\udc00-\udc02]/u;
const marksFirst = /^[\0\udc00-\udc02]/u;

/** Whether the text of a word is known in full. */
export const isKnown = (word: string): boolean => !marks.test(word);
/** Whether the first part of a word is not known. */
export const startsUnknown = (word: string): boolean => marksFirst.test(word);

/** The line cannot be read, so what it runs is unknown. */
export class UnreadableLineError extends Error {}

export function unreadable(): never {
  throw new UnreadableLineError();
}

/** A shell with its own current folder: of the line, or of a subshell in it. */
export interface ShellScope {
  readonly parent: ShellScope | null;
  /** It starts in a folder that the line does not say. */
  readonly isElsewhere?: true;
}

export interface Redirection {
  readonly sign: string;
  /** The file, the number of another one, or the end of a document. */
  readonly target: string;
}

export interface SimpleCommand {
  readonly words: readonly string[];
  readonly redirections: readonly Redirection[];
  readonly scope: ShellScope;
  /** The same object for commands that `&&` and `|` join. */
  readonly chain: object;
  /** The operator that follows; `!` for a command whose success ends the chain. */
  readonly followedBy: string;
  /** It reads the output of another command. */
  readonly isPiped: boolean;
}
