/**
 * Words of a command that is printed to be copied: names of tools, files and ids come from others, and a shell must not
 * read them as code. Tested by `test/core/shell-word.test.ts` in a real shell.
 */
import { shownAs, visibleLine } from './visible.ts';

/** The text as one word for bash and zsh, in printable characters: `'$(id)'`, `$'pay\u200b'`. Never empty. */
export function shellWord(text: string): string {
  // a dash alone is standard input or output
  if (text === '-' || /^[\w%+,./:@][\w%+,./:@=-]*$/.test(text)) return text;
  if (visibleLine(text) === text) return quotedWord(text);
  const inQuotes = text.toWellFormed().replace(/[\\']/g, '\\$&');
  return `$'${shownAs(inQuotes, codeOf)}'`;
}

/** The same text for every POSIX shell, characters as they are: for files that a shell reads and no person. */
export const quotedWord = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Always all digits, so that no next letter is read as one more. */
function codeOf(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  return hex.length > 4 ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`;
}
