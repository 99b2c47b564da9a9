/**
 * The manual pages: gov(1), and one page for each noun, such as gov-events(1), from the same data as `--help`. A release
 * has them (`release.ts`). The language is mdoc(7), which mandoc and groff read.
 * Tested by `test/docs/man.test.ts`.
 */
import { manifest } from '../src/cli/commands/commands/run.ts';
import { exitMeanings, type ExitCode } from '../src/cli/program/exit.ts';
import { nouns } from '../src/cli/specs/nouns.ts';
import { valueText } from '../src/cli/grammar/help.ts';

type Manifest = ReturnType<typeof manifest>;
type Command = Manifest['commands'][number];
type Flag = Manifest['globalFlags'][number];

/** Text of each page, by its file name. `atMs`: the date that the pages have. */
export function manPages(atMs: number): ReadonlyMap<string, string> {
  const all = manifest();
  const commands = all.commands.filter(({ name }) => nounOf(name) !== '');
  const pages = new Map([['gov.1', toolPage(all, atMs)]]);
  for (const noun of new Set(commands.map(({ name }) => nounOf(name)))) {
    const own = commands.filter(({ name }) => nounOf(name) === noun);
    pages.set(`gov-${noun}.1`, nounPage(noun, own, { all, atMs }));
  }
  return pages;
}

const nounOf = (name: string): string => name.split(' ')[0] ?? '';

function toolPage(
  { version, commands, globalFlags, exitCodes, environment }: Manifest,
  atMs: number,
): string {
  const headings = [...new Set(nouns.map(([heading]) => heading))];
  const listed = headings.flatMap((heading) => {
    const entries = nouns.filter(([each, noun]) => each === heading && isNoun(noun, commands));
    const items = entries.flatMap(([, noun, summary]) => [
      `.It Xr gov-${noun} 1`,
      text(sentence(summary === '' ? summaryOf(noun, commands) : summary)),
    ]);
    return items.length === 0
      ? []
      : [`.Ss ${words(heading)}`, '.Bl -tag -width Ds -compact', ...items, '.El'];
  });
  return lines([
    ...headOf('gov', 'record what AI agents do, prove it, decide and replay it', atMs),
    '.Sh SYNOPSIS',
    '.Nm',
    '.Ar noun',
    '.Op Ar verb',
    '.Op Ar argument ...',
    '.Op Ar flags',
    '.Sh DESCRIPTION',
    `This is gov ${version}.`,
    'Each noun has a page of its own.',
    'The same text is in',
    '.Nm Ar noun Fl \\-help',
    'and',
    '.Nm Ar noun verb Fl \\-help .',
    ...listed,
    '.Sh FLAGS OF EVERY COMMAND',
    ...flagList(globalFlags),
    '.Sh ENVIRONMENT',
    ...tagged(Object.entries(environment).map(([name, meaning]) => [`.It Ev ${words(name)}`, meaning])),
    '.Sh EXIT STATUS',
    ...exitList(exitCodes),
  ]);
}

const isNoun = (noun: string, commands: readonly Command[]): boolean =>
  commands.some(({ name }) => nounOf(name) === noun);
const summaryOf = (noun: string, commands: readonly Command[]): string =>
  commands.find(({ name }) => name === noun)?.summary ?? '';

function nounPage(
  noun: string,
  commands: readonly Command[],
  { all, atMs }: { readonly all: Manifest; readonly atMs: number },
): string {
  const summary = nouns.find(([, each]) => each === noun)?.[2] ?? '';
  const [first] = commands;
  const about = summary === '' ? (first?.summary ?? '') : summary;
  return lines([
    ...headOf(`gov-${noun}`, about, atMs),
    '.Sh SYNOPSIS',
    ...commands.flatMap((command, at) => [...(at === 0 ? [] : ['.br']), ...usageOf(command)]),
    '.Sh DESCRIPTION',
    ...commands.flatMap(commandSection),
    '.Sh EXIT STATUS',
    ...exitList(codesOf(commands, all)),
    '.Sh SEE ALSO',
    '.Xr gov 1',
  ]);
}

function headOf(name: string, about: string, atMs: number): string[] {
  const day = new Date(atMs).toLocaleDateString('en-US', {
    timeZone: 'UTC',
    year: 'numeric',
    month: 'long',
    day: 'numeric',
  });
  return [
    `.Dd ${day}`,
    `.Dt ${name.toUpperCase()} 1`,
    '.Os',
    '.Sh NAME',
    `.Nm ${name}`,
    `.Nd ${words(about.replace(/[?.!]$/, ''))}`,
  ];
}

function usageOf({ name, args, flags }: Command): string[] {
  return [
    `.Ic gov ${words(name)}`,
    ...args.map(({ name: arg, optional, variadic }) => {
      const many = `Ar ${words(arg)}${variadic ? ' ...' : ''}`;
      return optional ? `.Op ${many}` : `.${many}`;
    }),
    ...(flags.length === 0 ? [] : ['.Op Ar flags']),
  ];
}

function commandSection(command: Command): string[] {
  const { name, summary, details, args, flags, formats, exitCodes, examples } = command;
  return [
    `.Ss gov ${words(name)}`,
    ...usageOf(command),
    ...[sentence(summary), ...details].flatMap((each) => ['.Pp', text(each)]),
    ...(args.length === 0
      ? []
      : [
          '.Pp',
          'Arguments:',
          ...tagged(args.map((each) => [`.It Ar ${words(each.name)}`, each.description])),
        ]),
    ...(flags.length === 0 ? [] : ['.Pp', 'Flags:', ...flagList(flags)]),
    '.Pp',
    text(`Output formats (-o): ${formats.join(', ')}.`),
    text(`Exit codes: ${Object.entries(exitCodes).map(codeText).join(', ')}.`),
    ...(examples.length === 0
      ? []
      : ['.Pp', 'Examples:', '.Bd -literal', ...examples.flatMap(example), '.Ed']),
  ];
}

/** A code, with what it means for this command alone. */
const codeText = ([code, meaning]: readonly [string, string]): string =>
  meaning === exitMeanings[Number(code) as ExitCode] ? code : `${code} (${meaning})`;

/** The exit codes that one of the commands has. */
const codesOf = (commands: readonly Command[], { exitCodes }: Manifest) =>
  Object.fromEntries(
    Object.entries(exitCodes).filter(([code]) =>
      commands.some((each) => Object.hasOwn(each.exitCodes, code)),
    ),
  );

const flagList = (flags: readonly Flag[]): string[] =>
  tagged(
    flags.map((flag) => {
      const { name, short, choices, required, description } = flag;
      const value = valueText(flag).trim();
      const shortened = short === undefined ? '' : `Fl ${words(short)} , `;
      const long = `Fl ${words(name.slice(1))}`;
      const given =
        value === ''
          ? ''
          : value.startsWith('[=')
            ? ` Ns Op = Ns Ar ${words(value.slice(2, -1))}`
            : ` Ar ${words(value)}`;
      const listed =
        choices === undefined
          ? ''
          : description === ''
            ? `One of ${choices.join(', ')}`
            : ` (${choices.join(', ')})`;
      return [`.It ${shortened}${long}${given}`, `${description}${listed}${required ? ' (required)' : ''}`];
    }),
  );

const exitList = (codes: Readonly<Record<number, string>>): string[] =>
  tagged(Object.entries(codes).map(([code, meaning]) => [`.It ${code}`, meaning]));

/** A list of terms with their meaning; a term is a line of mdoc. */
const tagged = (entries: readonly (readonly [term: string, meaning: string])[]): string[] => [
  '.Bl -tag -width Ds',
  ...entries.flatMap(([term, meaning]) => [
    term,
    meaning === '' ? 'No more is said of it.' : text(sentence(meaning)),
  ]),
  '.El',
];

const sentence = (given: string): string => (/[.!?:]$/.test(given) ? given : `${given}.`);

const lines = (all: readonly string[]): string => `${all.join('\n')}\n`;

/** Text that has no meaning in mdoc. Characters beyond ASCII by their number: troff reads them in any locale. */
const escaped = (given: string): string =>
  given
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(
      /[^ -~\n]/gu,
      (each) => `\\[u${(each.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`,
    );

/** A line of text: a control character at its start is text too. */
const literal = (given: string): string => escaped(given).replace(/^(?=[.'])/, '\\&');

/** A long command continues on further lines, each of which starts with a flag or an operator of the shell. */
function example(given: string): string[] {
  const all: string[] = [];
  let last = '';
  for (const part of given.split(/ (?=(?:-|[|<>] )(?:[^"']|"[^"]*"|'[^']*')*$)/)) {
    if (last !== '' && last.length + part.length > 68) {
      all.push(`${last} \\`);
      last = `    ${part}`;
    } else last = last === '' ? part : `${last} ${part}`;
  }
  return [...all, last].map(literal);
}

/** Text to be filled. The source has a new line for each sentence, and lines of at most 80 bytes. */
const text = (given: string): string =>
  given
    .split(/(?<=[.!?][)”"]?) +/)
    .flatMap((each) => folded(escaped(each)))
    .map((line) => line.replace(/^(?=[.'])/, '\\&'))
    .join('\n');

function folded(line: string): string[] {
  const all: string[] = [];
  let last = '';
  for (const word of line.split(' ')) {
    if (last !== '' && last.length + word.length > 77) {
      all.push(last);
      last = word;
    } else last = last === '' ? word : `${last} ${word}`;
  }
  return [...all, last];
}

/** Arguments of a macro: none is read as a macro itself, and quotes stay. */
const words = (given: string): string =>
  escaped(given)
    .replaceAll('"', '\\(dq')
    .split(' ')
    .map((word) =>
      /^([A-Z][a-z]|[A-Z][a-z]?)$/.test(word) || /^[.,:;()[\]?!|]+$/.test(word) ? `\\&${word}` : word,
    )
    .join(' ');
