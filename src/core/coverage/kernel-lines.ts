/**
 * The line that a client gives its shell, in the arguments of a program that the kernel saw. Clients wrap it: the forms are those of
 * Claude Code 2.1.332 and Codex 0.171.0. Tested by `test/core/coverage/kernel.test.ts` with recordings of both.
 */

const shell = /(?:^|\/)(?:ba|z|da|k|fi)?sh$/;

/** Claude Code evaluates the line after it has read a snapshot of the shell. */
const evaluated =
  /^source \S+\/shell-snapshots\/[\s\S]*? && eval ('(?:[^']|'"'"')*'|[^\s'"]+)(?: \\?< ?\/dev\/null)? && pwd -P >\|/;

/** Returns the line; null for a program that is no shell, or has no line. */
export function shellLineOf(argv: readonly string[]): string | null {
  const [program = '', ...rest] = argv;
  if (!shell.test(program)) return null;
  const at = rest.findIndex((word) => /^-[a-z]*c$/.test(word));
  const line = at === -1 ? undefined : rest.slice(at + 1).find((word) => !/^-[a-z]$/.test(word));
  if (line === undefined) return null;
  const [, word] = evaluated.exec(line) ?? [];
  return word === undefined ? line : unquoted(word);
}

const unquoted = (word: string): string =>
  word.startsWith("'") ? word.slice(1, -1).replaceAll(`'"'"'`, "'") : word.replaceAll(/\\(.)/gs, '$1');
