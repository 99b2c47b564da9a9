/**
 * Variables that change what a shell runs, and places where bash computes the text of a variable: it runs the substitutions
 * in this text (`x='a[$(rm y)]'; echo $((x))` runs `rm`). Proven by `test/core/action/shell.test.ts`.
 */

/** Variables by which a shell or the loader finds what it runs, or whose text a shell runs. */
export const decisive =
  /^(?:PATH|IFS|ENV|BASH_ENV|BASH_CMDS|BASH_ALIASES|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS[0-4]|LD_\w+|DYLD_\w+)$/;
/** `${…}` up to what follows the name: other forms compute a number or a name, for which bash may run a text. */
export const parameter =
  /^(?:#?(?:[A-Za-z_]\w*(?:\[(?:[@*]|\d+)\])?|\d+|[@*#?$!-])(?=\})|([A-Za-z_]\w*(?:\[(?:[@*]|\d+)\])?|\d+|[@*])(?:@[QEAaUuLKk](?=\})|:\d+(?::\d+)?(?=\})|:?[-+?=]|[#%/^,]))/;

/** Returns whether `((…))` or `$((…))` names a variable, other than one that it sets to a number first. */
export function computesVariable(arithmetic: string): boolean {
  const set = new Set(
    [...arithmetic.matchAll(/(?<![\w$])([A-Za-z_]\w*)=\d+(?![\w[])/g)].map(([, name]) => name),
  );
  const text = arithmetic.replace(/\$\([^()]*\)|\b0[xX][\da-fA-F]+\b/g, '0');
  return [...text.matchAll(/[A-Za-z_]\w*/g)].some(([name]) => !set.has(name));
}

/** Returns whether `[[ … ]]` computes an operand that is no number. */
export function testComputes(words: readonly string[]): boolean {
  return words.some((word, at) => {
    if (word === '-v' || word === '-R') return true;
    const operands = [words[at - 1] ?? '', words[at + 1] ?? ''];
    return /^-(?:eq|ne|lt|le|gt|ge)$/.test(word) && !operands.every((each) => /^-?\d+$/.test(each));
  });
}
