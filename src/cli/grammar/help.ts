/**
 * `--help` of the tool, of a noun and of a command, and the help topics. They derive from the parser's own data.
 * Tested by `test/cli/main.test.ts` against `test/golden/help`.
 */
import { version } from '../../client/version.ts';
import { otherVerbs, type CommandSpec, type FlagSpec } from '../program/spec.ts';
import { exitCodesOf, exitMeanings } from '../program/exit.ts';
import { kebab } from '../program/flags.ts';
import { environment, formats, globalFlags } from '../program/globals.ts';
import { Safe, safe } from '../terminal/safe.ts';
import type { Styles } from '../terminal/safe.ts';
import { nouns } from '../specs/nouns.ts';
import { wrapped } from '../terminal/width.ts';

export interface HelpLayout {
  readonly styles: Styles;
  readonly columns: number;
}

type Pair = readonly [left: string, right: string];

/** A narrower terminal has the description below its name. */
const twoColumns = 64;

/** Two columns. The right one wraps and keeps its indent. */
function pairs(entries: readonly Pair[], { styles, columns }: HelpLayout): Safe[] {
  if (columns < twoColumns) {
    return entries.flatMap(([name, description]) => [
      safe`  ${styles.cyan(name)}`,
      ...wrapped(description, columns - 6).map((line) => safe`      ${line}`),
    ]);
  }
  const left = Math.min(34, Math.max(...entries.map(([name]) => name.length)));
  const room = Math.max(24, Math.min(columns, 110) - left - 4);
  return entries.flatMap(([name, description]) => {
    const [first = '', ...rest] = wrapped(description, room);
    const lines = rest.map((line) => safe`${' '.repeat(left + 4)}${line}`);
    if (name.length > left)
      return [safe`  ${styles.cyan(name)}`, safe`${' '.repeat(left + 4)}${first}`, ...lines];
    return [safe`  ${styles.cyan(name)}${' '.repeat(left - name.length + 2)}${first}`, ...lines];
  });
}

const paragraph = (text: string, { columns }: HelpLayout): Safe[] =>
  wrapped(text, Math.min(columns, 100)).map((line) => Safe.cell(line));

/** A bold label and its text, on as many lines as they need. */
function labelled(label: string, text: string, layout: HelpLayout): Safe[] {
  const [first = '', ...rest] = wrapped(`${label} ${text}`, layout.columns);
  const bold = layout.styles.bold(label);
  return [safe`${bold}${first.slice(label.length)}`, ...rest.map((line) => safe`  ${line}`)];
}

const page = (sections: readonly (readonly Safe[])[]): Safe =>
  Safe.join(
    sections.filter((lines) => lines.length > 0).map((lines) => Safe.join(lines, '\n')),
    '\n\n',
  );

function flagPairs(flags: Readonly<Record<string, FlagSpec>>, anyShort: boolean): Pair[] {
  return Object.entries(flags)
    .filter(([, spec]) => !spec.hidden)
    .map(([name, spec]) => {
      const short = spec.short === undefined ? (anyShort ? '    ' : '') : `-${spec.short}, `;
      const value = valueText(spec);
      const choices = spec.choices === undefined ? '' : ` (${spec.choices.join(', ')})`;
      const needed = spec.required ? ' (required)' : '';
      return [`${short}--${kebab(name)}${value}`, `${spec.description}${choices}${needed}`.trim()];
    });
}

export function valueText({ type, value = 'VALUE', optionalValue }: FlagSpec): string {
  if (type === 'boolean') return '';
  return optionalValue ? `[=${value}]` : ` ${value}`;
}

const globalPairs = (): Pair[] => [
  ...flagPairs(globalFlags, true),
  ['-h, --help', 'This help'],
  ['-V, --version', 'The version'],
];

/** `gov --help`. */
export function helpOfTool(specs: readonly CommandSpec[], layout: HelpLayout): Safe {
  const { styles } = layout;
  const headings = [...new Set(nouns.map(([heading]) => heading))];
  const groups = headings.flatMap((heading) => {
    const entries = nouns.flatMap(([under, noun, summary]): Pair[] => {
      const own = specs.find((spec) => spec.name === noun || spec.name.startsWith(`${noun} `));
      return under === heading && own !== undefined ? [[noun, summary === '' ? own.summary : summary]] : [];
    });
    return entries.length === 0 ? [] : [[styles.bold(heading), ...pairs(entries, layout)]];
  });
  return page([
    paragraph(`gov ${version}: record what AI agents do, prove it, decide and replay it`, layout),
    labelled('Usage:', 'gov NOUN VERB [ARGUMENT…] [--FLAG…]', layout),
    ...groups,
    [styles.bold('Flags of every command'), ...pairs(globalPairs(), layout)],
    [
      ...paragraph('More: gov NOUN --help, gov NOUN VERB --help', layout),
      ...paragraph(`Topics: gov help ${Object.keys(topics).join(' | ')}`, layout),
    ],
  ]);
}

/** `gov events --help`. */
export function helpOfNoun(noun: string, specs: readonly CommandSpec[], layout: HelpLayout): Safe {
  const { styles } = layout;
  // a group, such as risk config, has the summary of its noun
  const summary = nouns.find(([, each]) => each === noun.split(' ')[0])?.[2] ?? '';
  const entries = specs.map((spec): Pair => [`${spec.name}${argText(spec)}`, spec.summary]);
  return page([
    labelled(`${noun}:`, summary, layout),
    [styles.bold('Commands'), ...pairs(entries, layout)],
    [safe`More: gov ${noun} VERB --help`],
  ]);
}

const argText = (spec: CommandSpec): string =>
  (spec.args ?? [])
    .map(({ name, optional, variadic }) => {
      const many = variadic ? `${name}…` : name;
      return optional ? ` [${many}]` : ` <${many}>`;
    })
    .join('');

/** `runs get` for `runs show`, and the reverse. */
function otherName(name: string): string | undefined {
  const words = name.split(' ');
  const [verb] = otherVerbs(words.at(-1) ?? '');
  return verb === undefined || words.length < 2 ? undefined : [...words.slice(0, -1), verb].join(' ');
}

/** `gov events list --help`. */
export function helpOf(spec: CommandSpec, layout: HelpLayout): Safe {
  const { styles } = layout;
  const flags = flagPairs(spec.flags ?? {}, false);
  const args = (spec.args ?? []).map(({ name, description }): Pair => [name, description]);
  const codes = Object.entries(exitCodesOf(spec)).map((each): Pair => each);
  const other = otherName(spec.name);
  const section = (title: string, entries: readonly Pair[]): Safe[] =>
    entries.length === 0 ? [] : [styles.bold(title), ...pairs(entries, layout)];
  const more = [...formats, ...(spec.formats ?? [])].join(', ');
  return page([
    paragraph(spec.summary, layout),
    ...(spec.details ?? []).map((text) => paragraph(text, layout)),
    ...(other === undefined ? [] : [paragraph(`gov ${other} is the same command.`, layout)]),
    labelled('Usage:', `gov ${spec.name}${argText(spec)}${flags.length > 0 ? ' [--FLAG…]' : ''}`, layout),
    section('Arguments', args),
    section('Flags', flags),
    section('Output', [['-o, --output FORMAT', more]]),
    section('Exit codes', codes),
    [styles.bold('Examples'), ...spec.examples.map((example) => safe`  ${example}`)],
    paragraph('More: gov --help (flags of every command), gov help exit-codes', layout),
  ]);
}

const formatting: readonly Pair[] = [
  ['table', 'Default on a terminal: fits its width, with times like “2 min ago”'],
  ['wide', 'Every column, full values'],
  ['json', 'Exactly one JSON value, with the names of the API; also for empty results'],
  ['ndjson', 'One JSON value per line, each as soon as it arrives'],
  ['yaml', 'The same as json, for people'],
  ['csv', 'Every column, with a header; a quote precedes cells that a spreadsheet would run'],
  ['id', 'Only identifiers, one per line'],
  [
    '(a pipe)',
    'Without -o: tab-separated, no header, full values; lines of several kinds begin with their kind',
  ],
];

const inPipelines: readonly Pair[] = [
  ['policy lint, policy test', 'Need no service and no credential'],
  ['policy impact', 'Compares a proposed policy with recorded decisions; --fail-on loosened'],
  ['proofs verify', 'Verifies a bundle with --trust FILE, without the service'],
  ['replay run', 'Repeats decisions; --fail-on drift'],
  ['--report FILE', 'Also writes *.xml (JUnit) or *.sarif (SARIF 2.1.0)'],
  ['--annotate', 'Also annotates the job of GitHub Actions, and writes its step summary'],
  ['GOV_API_KEY, GOV_BASE_URL', 'Credential and service, where a command needs them; gov auth login --ci'],
];

const inScripts: readonly Pair[] = [
  ['--json=FIELDS', 'Keeps these members of each result'],
  ['--jq EXPRESSION', 'Filters the JSON output; text comes without quotes'],
  ['-o id', 'Identifiers only, for xargs'],
  ['-o ndjson', 'One value a line, as soon as it arrives; with --all every page'],
  ['-q, --no-input, --yes', 'No remarks, no question, yes to every question'],
  ['--idempotency-key KEY', 'A write that is repeated counts once'],
  ['gov api METHOD PATH', 'Any operation of the interface; --paginate, --curl'],
  ['gov commands -o json', 'Every command with flags, exit codes and the schema of its output'],
];

export const topics: Readonly<Record<string, (layout: HelpLayout) => Safe>> = {
  'exit-codes': (layout) =>
    page([[layout.styles.bold('Exit codes'), ...pairs(Object.entries(exitMeanings), layout)]]),
  environment: (layout) =>
    page([
      [layout.styles.bold('Environment'), ...pairs(environment, layout)],
      paragraph(
        'Order: flag, GOV_* variable, .gov.json of the project (output, project and env only), context, default.',
        layout,
      ),
    ]),
  ci: (layout) =>
    page([
      [layout.styles.bold('In a pipeline'), ...pairs(inPipelines, layout)],
      paragraph(
        'Exit code 3 means that the answer is no, and 10 that the service could not be reached: fail the job for the first, retry for the second. Without a terminal, and where CI is set, gov asks no question. How-to: docs/how-to/gate-ci-on-a-policy.md.',
        layout,
      ),
    ]),
  scripting: (layout) =>
    page([
      [layout.styles.bold('In a script'), ...pairs(inScripts, layout)],
      paragraph(
        'Standard output carries data only. An error with a JSON format is one JSON object on standard error: code, message, retryable, hint. Commands that wait end with exit code 8 after --timeout, and the work continues.',
        layout,
      ),
    ]),
  formatting: (layout) =>
    page([
      [layout.styles.bold('Output formats (-o)'), ...pairs(formatting, layout)],
      paragraph(
        'Standard output carries data only; all other text goes to standard error. With json and ndjson an error is one JSON object on standard error. In text from other sources, control, bidi and invisible characters appear as \\u202e; JSON escapes them.',
        layout,
      ),
    ]),
};
