/**
 * The programs that a shell command line runs, as `programs()` of conditions returns them. It is strict: a line with a
 * program that runs others in a way that is not read has no answer. Proven by `test/core/action/shell.test.ts`.
 */
import { isKnown, UnreadableLineError } from './shell-marks.ts';
import { walkLine } from './shell-commands.ts';

/**
 * Returns the names of all programs that the line may start, each once, without folder: `/bin/rm` is `rm`. Null if the
 * line does not say it: a variable or a pattern names a program, a variable changes how programs are found, or the line is
 * not valid. What a program does with its input stays its own: `python -c`, `make` and `ssh` are only these names.
 * Cost: linear in the text.
 */
export function programsOf(line: string): readonly string[] | null {
  const found = new Set<string>();
  const end = (): never => {
    throw new UnreadableLineError();
  };
  try {
    walkLine(line, {
      moreWrappers: new Map(),
      isStrict: true,
      command: (name) => found.add(name),
      redirected: () => {},
      assigned: () => {},
      opaque: end,
      script: (word) =>
        word === undefined || !isKnown(word) || /^\/(?:dev|proc)\//.test(word) ? end() : undefined,
      unclear: end,
    });
  } catch (error) {
    if (error instanceof UnreadableLineError) return null;
    throw error;
  }
  return [...found];
}
