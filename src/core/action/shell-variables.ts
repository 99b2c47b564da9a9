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

/**
 * The variables of the loops that are open where a line is read: `$f` of `for f in src/*.ts` is `src/*.ts`. Only a loop with one
 * word, whose variable the line sets nowhere else, has a known one. `line`: null knows none.
 */
export class LoopVariables {
  readonly #line: string | null;
  readonly #open: { readonly name: string; word: string | null }[] = [];
  #others: ReadonlySet<string> | null = null;

  constructor(line: string | null) {
    this.#line = line;
  }

  /** `name`: null for a loop without a variable. */
  open(name: string | null, words: readonly string[]): void {
    const [word] = words;
    // a loop in another one leaves its value in the same variable
    for (const each of this.#open) if (each.name === name) each.word = null;
    // a shell splits an unquoted variable at blanks
    const isOne = words.length === 1 && word !== undefined && !/\s/.test(word);
    const isKnown = name !== null && isOne && !this.#isNamedElsewhere(name);
    this.#open.push({ name: name ?? '', word: isKnown ? word : null });
  }

  close(): void {
    this.#open.pop();
  }

  /** Null for one that only the running shell knows. */
  wordOf(name: string): string | null {
    return this.#open.findLast((each) => each.name === name)?.word ?? null;
  }

  /** Whether the line has the name without `$`, other than after `for`. */
  #isNamedElsewhere(name: string): boolean {
    if (this.#line === null || !/^\w+$/.test(name)) return true;
    this.#others ??= new Set(
      [...this.#line.matchAll(/(?<![\w$]|\$\{|\bfor[ \t]+)\w+/g)].map(([each]) => each),
    );
    return this.#others.has(name);
  }
}
