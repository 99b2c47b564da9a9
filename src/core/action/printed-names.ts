/**
 * The file names that a command prints for the next one of its pipeline, such as those of `find . | xargs wc -l`: patterns below the
 * folders that it looks through. A name with a blank can be two words of `xargs`, which nobody reads here.
 * Proven by `test/core/action/canonical.test.ts`.
 */
import { isKnown, pattern } from './shell-marks.ts';

/** Programs that pass on lines of their input, with the options that keep them whole. */
const filters: ReadonlyMap<string, RegExp> = new Map([
  ['grep', /^-[EFGPivwxae]+$/],
  ['egrep', /^-[ivwxae]+$/],
  ['fgrep', /^-[ivwxae]+$/],
  ['sort', /^-[bdfgiMhnRrVuz]+$/],
  ['uniq', /^-[iuz]+$/],
  ['head', /^-(?:n?\d*|z)$/],
  ['tail', /^-(?:n?\+?\d*|z)$/],
  ['tac', /^$/],
]);

const below = (folder: string): string => `${folder.replace(/\/$/, '')}/${pattern}${pattern}`;

/** Returns null for a command that prints anything else. `input`: the names that it reads. */
export function printedNames(
  words: readonly string[],
  input: readonly string[] | null,
): readonly string[] | null {
  const [program = '', ...args] = words;
  const operands = args.filter((arg) => !arg.startsWith('-'));
  const options = args.filter((arg) => arg.startsWith('-'));
  const keeps = filters.get(program);
  if (keeps !== undefined && input !== null) {
    const most = program.endsWith('grep') ? 1 : options.includes('-n') ? 1 : 0;
    return operands.length <= most && options.every((option) => keeps.test(option)) ? input : null;
  }
  switch (program) {
    case 'find':
      return found(args);
    case 'ls':
      return operands.length === 0 && options.every((option) => /^-[1rtSU]+$/.test(option))
        ? [pattern]
        : null;
    case 'rg':
    case 'grep': {
      const given = options.some((option) => /^-[a-zA-Z]*[ef]|^--(?:regexp|file)/.test(option)) ? 0 : 1;
      return listed(options) ? ['.', ...operands.slice(given)].flatMap(inside) : null;
    }
    case 'git':
      return gitNames(args);
    default:
      return null;
  }
}

/** A file, or those in a folder. */
const inside = (operand: string): string[] => [operand, below(operand)];

const listed = (options: readonly string[]): boolean =>
  options.some((option) => /^(?:-[a-zA-Z]*l[a-zA-Z]*|--files-with-matches)$/.test(option));

/** The names below the folders of `find`; with one test of the name, those that pass it. */
function found(args: readonly string[]): string[] | null {
  if (args.some((arg) => /^-(?:D|printf|fprint|files0|exec|ok|ls)/.test(arg))) return null;
  const start = args.findIndex((arg) => /^[-(!]/.test(arg) && !/^-(?:[HLP]+|O\d)$/.test(arg));
  const folders = args.slice(0, start < 0 ? args.length : start).filter((arg) => !arg.startsWith('-'));
  const test = args.findIndex((arg) => /^-i?name$/.test(arg));
  const name = args[test + 1] ?? '';
  const isOne =
    test >= 0 &&
    isKnown(name) &&
    /[^*\s]/.test(name) &&
    !args.some((arg) => /^-(?:or?|not)$|^!$|[,[?\s]/.test(arg));
  return (folders.length === 0 ? ['.'] : folders).flatMap((folder) =>
    isOne ? named(folder, name) : [below(folder)],
  );
}

/** Files of a kind, such as `*.o`, in a folder and below it. Unlike in a shell, `*` also matches a dot at the start. */
function named(folder: string, kind: string): string[] {
  const name = kind.replaceAll('*', pattern);
  const start = folder.replace(/\/$/, '');
  const hidden = kind.startsWith('*') ? [`${start}/.${name}`] : [];
  return [`${below(folder)}/${name}`, `${start}/${name}`, ...hidden];
}

/** `git ls-files`, `git diff --name-only` and `git grep -l` name files below the current folder. */
function gitNames([verb = '', ...args]: readonly string[]): string[] | null {
  const option = new Map([
    ['ls-files', /^/],
    ['diff', /^--name-only$/],
    ['grep', /^-l$/],
  ]).get(verb);
  const isList = option !== undefined && (verb === 'ls-files' || args.some((arg) => option.test(arg)));
  const leaves = args.some((arg) => /^[:/]|(?:^|\/)\.\.(?:\/|$)|^--no-index/.test(arg) || !isKnown(arg));
  if (!isList || leaves) return null;
  const kinds = args.filter((arg) => !arg.startsWith('-'));
  const areKinds = verb === 'ls-files' && kinds.length > 0 && kinds.every((kind) => /^\*[\w.]+$/.test(kind));
  return areKinds ? kinds.flatMap((kind) => named('.', kind)) : [below('.')];
}
