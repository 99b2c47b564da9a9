/**
 * From words to a command. commander parses by the specs; the caller runs the command, so that a usage error differs
 * from a failure. Global flags count before and after the verb. Tested by `test/cli/grammar/parse.test.ts`.
 */
import { Command, CommanderError, Option } from 'commander';
import { shellWord } from '../../core/shell-word.ts';
import { version, versionLine } from '../../client/version.ts';
import { commandAt } from './alias.ts';
import { otherVerbs, type CommandSpec, type FlagSpec } from '../program/spec.ts';
import { CliError, usage } from '../program/exit.ts';
import { isGiven, kebab, readFlag } from '../program/flags.ts';
import { globalFlags } from '../program/globals.ts';
import { helpOf, helpOfNoun, helpOfTool } from './help.ts';
import type { HelpLayout } from './help.ts';
import { safe } from '../terminal/safe.ts';
import type { Safe } from '../terminal/safe.ts';
import type { GivenFlags } from '../context/settings.ts';
import { allSpecs, specsOf } from '../specs/all.ts';
import { inOtherNumber, nouns, otherNumber } from '../specs/nouns.ts';

/** A command with its values. */
export interface ParsedCommand {
  readonly kind: 'command';
  readonly spec: CommandSpec;
  readonly args: Readonly<Record<string, unknown>>;
  readonly flags: Readonly<Record<string, unknown>>;
  readonly globals: GivenFlags;
}
/** Help or the version, written for the terminal that the global flags describe. */
interface ParsedText {
  readonly kind: 'text';
  readonly write: (layout: HelpLayout) => Safe;
  readonly globals: GivenFlags;
}
export type ParseResult = ParsedCommand | ParsedText;

interface MatchedCommand {
  readonly spec: CommandSpec;
  readonly words: readonly unknown[];
  readonly command: Command;
}

type TextWriter = ParsedText['write'];

/** The verb's option text: `-o, --output <FORMAT>`. */
function optionOf(name: string, spec: FlagSpec): Option {
  const short = spec.short === undefined ? '' : `-${spec.short}, `;
  const value = spec.type === 'boolean' ? '' : ` <${spec.value ?? 'VALUE'}>`;
  const option = new Option(`${short}--${kebab(name)}${value}`, spec.description);
  if (spec.hidden) option.hideHelp();
  if (spec.type === 'strings') {
    option.argParser((text: string, before: readonly string[] = []) => [...before, text]);
  }
  return option;
}

/** Flags that may have no value. Without this table they would take the next word as their value. */
const alone = new Map([
  ['--debug', '--debug=on'],
  ['--json', '--json='],
  ['--spool', '--spool='],
]);
const prepared = (argv: readonly string[]): string[] => {
  const end = argv.indexOf('--');
  const words = argv.map((word, at) => (end < 0 || at < end ? (alone.get(word) ?? word) : word));
  return withList(withMethod(words));
};

/** `gov api /runs` is `gov api GET /runs`. */
function withMethod(words: readonly string[]): string[] {
  const at = commandAt(words);
  const isShort = words[at] === 'api' && words[at + 1]?.startsWith('/') === true;
  return isShort ? words.toSpliced(at + 1, 0, 'GET') : [...words];
}

/** `gov report templates` is `gov report templates list`. */
function withList(words: readonly string[]): string[] {
  const at = commandAt(words);
  const [noun = '', group, verb = '-'] = words.slice(at);
  const isShort = /^reports?$/.test(noun) && /^templates?$/.test(group ?? '') && verb.startsWith('-');
  const asksHelp = words.includes('-h') || words.includes('--help');
  return isShort && !asksHelp ? words.toSpliced(at + 2, 0, 'list') : [...words];
}

const isMeant = (words: readonly string[], noun: string): boolean =>
  words.includes(noun) || words.includes(otherNumber(noun) ?? noun);

const verbOf = ({ name }: CommandSpec): string => name.split(' ').at(-1) ?? name;

class Tool {
  readonly root: Command;
  readonly #words: readonly string[];
  #writing: TextWriter = () => safe``;
  #found: MatchedCommand | undefined;
  #takesVersion = false;

  /** With `whole`, also adds the nouns and verbs that the words do not name, so that commander can suggest them. */
  constructor(words: readonly string[], whole: boolean) {
    this.#words = words;
    // every command below inherits the settings of the root
    this.root = new Command('gov')
      .exitOverride()
      .helpCommand(false)
      .helpOption('-h, --help', 'Help')
      .configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} })
      .configureHelp({ formatHelp: () => this.#tell((layout) => helpOfTool(allSpecs(), layout)) });
    for (const [name, spec] of Object.entries<FlagSpec>(globalFlags)) {
      this.root.addOption(optionOf(name, spec));
    }
    for (const [, noun] of nouns) {
      if (isMeant(words, noun)) this.#addNoun(noun, specsOf(noun), whole);
      else if (whole) this.#addNoun(noun, [], whole);
    }
    // a verb's own --version is a number; without one, --version prints the tool's version
    if (!this.#takesVersion) this.root.version(version, '-V, --version', 'Version');
  }

  #addNoun(noun: string, mine: readonly CommandSpec[], whole: boolean): void {
    const alias = otherNumber(noun);
    if (mine[0]?.name === noun) return this.#add(this.root, mine[0]);
    const group = this.root.command(noun);
    if (alias !== undefined) group.alias(alias);
    group.configureHelp({ formatHelp: () => this.#tell((layout) => helpOfNoun(noun, mine, layout)) });
    for (const spec of mine) {
      const verbs = [verbOf(spec), ...otherVerbs(verbOf(spec))];
      const isAsked = whole || verbs.some((verb) => this.#words.includes(verb));
      if (isAsked) this.#add(this.#groupOf(group, spec, mine), spec);
    }
  }

  /** Returns the group of a command's middle words, such as `config` of `risk config get`. */
  #groupOf(noun: Command, spec: CommandSpec, siblings: readonly CommandSpec[]): Command {
    const [, ...rest] = spec.name.split(' ');
    return rest.slice(0, -1).reduce((parent, word) => {
      const known = parent.commands.find((each) => each.name() === word);
      if (known !== undefined) return known;
      const path = `${noun.name()} ${word}`;
      const mine = siblings.filter(({ name }) => name.startsWith(`${path} `));
      return parent
        .command(word)
        .aliases(otherGroup(word, noun.name()))
        .configureHelp({ formatHelp: () => this.#tell((layout) => helpOfNoun(path, mine, layout)) });
    }, noun);
  }

  #add(parent: Command, spec: CommandSpec): void {
    const verb = verbOf(spec);
    if (spec.flags?.['version'] !== undefined && this.#words.includes(verb)) this.#takesVersion = true;
    const command = parent.command(verb).aliases(otherVerbs(verb)).allowExcessArguments(false);
    for (const { name, description, optional, variadic } of spec.args ?? []) {
      const shown = variadic ? `${name}...` : name;
      command.argument(optional ? `[${shown}]` : `<${shown}>`, description);
    }
    for (const [name, flag] of Object.entries(spec.flags ?? {})) command.addOption(optionOf(name, flag));
    command
      .helpOption('-h, --help')
      .configureHelp({ formatHelp: () => this.#tell((layout) => helpOf(spec, layout)) });
    command.action((...words: unknown[]) => {
      this.#found = { spec, command, words };
    });
  }

  /** Keeps the writer for later: whether to use colour is known only after all flags are read. */
  #tell(writing: TextWriter): string {
    this.#writing = writing;
    return '';
  }

  /** Returns the command that the words name, or the text that they ask for. Errors: `CliError` with exit 2. */
  parse(): MatchedCommand | TextWriter {
    try {
      this.root.parse([...this.#words], { from: 'user' });
    } catch (cause) {
      if (!(cause instanceof CommanderError)) throw cause;
      if (cause.code === 'commander.version') return () => safe`${versionLine}`;
      if (cause.code === 'commander.helpDisplayed') return this.#writing;
      if (cause.code === 'commander.help' && this.root.args.length === 0) return this.#writing;
      throw this.#refusal(cause);
    }
    return this.#found ?? this.#writing;
  }

  #refusal(cause: CommanderError): CliError {
    const words = this.#words.filter((word) => !word.startsWith('-'));
    const group = groupOf(words);
    // the words have no verb, and commander wrote the noun's help
    if (cause.code === 'commander.help' && group !== undefined) {
      return usage(
        `expected a verb after ${JSON.stringify(group.path)}: ${group.verbs}`,
        `gov ${group.path} --help`,
      );
    }
    const other = cause.code === 'commander.unknownCommand' ? otherNouns(words) : [];
    if (other.length > 0) {
      return usage(`unknown command ${JSON.stringify(words[0])}`, `did you mean ${other.join(', ')}?`);
    }
    const message = cause.message.replace(/^error: /, '');
    const [sentence = message, suggestion] = message.split('\n');
    const twin = group === undefined ? undefined : twinOf(words, group);
    if (cause.code === 'commander.unknownCommand' && group !== undefined && twin !== undefined)
      return usage(
        `${cause.message.replace(/^error: /, '').split('\n')[0]} after ${JSON.stringify(group.path)}, which has: ${group.verbs}`,
        `did you mean ${twin}?`,
      );
    const meant = /Did you mean (.*)\?\)$/.exec(suggestion ?? '')?.[1];
    if (meant !== undefined && !(meant === 'set' && words.includes('get'))) {
      const before =
        cause.code === 'commander.unknownCommand' && group !== undefined ? `gov ${group.path} ` : '';
      const each = meant.replace('one of ', '').split(', ');
      return usage(sentence, `did you mean ${each.map((one) => before + one).join(', ')}?`);
    }
    if (cause.code === 'commander.unknownCommand' && group !== undefined) {
      return usage(
        `${sentence} after ${JSON.stringify(group.path)}, which has: ${group.verbs}`,
        words.at(-1) === 'doctor' ? 'gov doctor' : `gov ${group.path} --help`,
      );
    }
    const called = allSpecs().find(({ name }) =>
      [3, 2, 1].some((count) => words.slice(0, count).join(' ') === name),
    );
    if (called === undefined) return usage(sentence, 'gov --help');
    const flag = cause.code === 'commander.excessArguments' ? this.#flagFor(called) : undefined;
    return usage(sentence, flag === undefined ? `gov ${called.name} --help` : `did you mean ${flag}?`);
  }

  /** What a word too many was meant for: `--run ID`, `--json=FIELDS`, or a command that lists without the word list. */
  #flagFor(spec: CommandSpec): string | undefined {
    const fields = this.#words.find((_, at) => this.#words[at - 1] === '--json=');
    if (fields?.startsWith('-') === false) return `--json=${shellWord(fields)}`;
    const last = this.#words.at(-1) ?? '';
    if (last === 'list' && (spec.args ?? []).length === 0) return `gov ${spec.name}`;
    const isNamed = spec.flags?.['run'] === undefined || this.#words.some((word) => word.startsWith('--run'));
    return isNamed || last.startsWith('-') ? undefined : `--run ${shellWord(last)}`;
  }
}

/** What other tools call a verb. */
const twins: Readonly<Record<string, readonly string[]>> = {
  get: ['show', 'list'],
  show: ['get', 'list'],
  view: ['show', 'get'],
  describe: ['show', 'get'],
  ls: ['list'],
  new: ['create', 'add'],
  add: ['create'],
  create: ['add'],
  rm: ['delete', 'remove'],
  delete: ['remove', 'revoke'],
  remove: ['delete', 'revoke'],
  revoke: ['remove', 'delete'],
  list: ['show', 'status'],
  edit: ['update', 'set'],
  enrol: ['enroll', 'add'],
  enroll: ['add'],
  register: ['add', 'create'],
  check: ['test', 'verify', 'doctor'],
  verify: ['fsck'],
  status: ['show', 'doctor'],
  start: ['serve'],
};

/** The command with the verb that this tool has for the last known word: `gov runs show` for `gov runs get`. */
function twinOf(
  words: readonly string[],
  { path, verbs }: { path: string; verbs: string },
): string | undefined {
  const verb = words[path.split(' ').length] ?? '';
  const known = new Set(verbs.split(', '));
  const found = known.has(verb) ? undefined : twins[verb]?.find((each) => known.has(each));
  return found === undefined ? undefined : `gov ${path} ${found}`;
}

/** The commands with this verb, if the words begin with a verb instead of a noun: `gov auth login` for `gov login`. */
function otherNouns([first = '', second = '']: readonly string[]): string[] {
  if (groupOf([first]) !== undefined) return [];
  if (everyVerb.has(first)) {
    // `run` is a command of one word, and `runs` has the verbs
    const group = [second, `${second}s`]
      .map((noun) => groupOf([noun]))
      .find((each) => (each?.verbs ?? '') !== '');
    if (group === undefined) return [];
    const verbs = group.verbs.split(', ');
    const verb = verbs.includes(first) ? first : twins[first]?.find((each) => verbs.includes(each));
    return verb === undefined ? [] : [`gov ${group.path} ${verb}`];
  }
  const shown = allSpecs().filter(({ hidden }) => hidden !== true);
  const verbs = shown.filter((spec) => spec.name.includes(' ') && verbOf(spec) === first);
  // `deliveries` is a verb of webhooks, and a group of verbs of report
  const groups = shown.flatMap(({ name }) => {
    const [noun = '', group = '', verb] = name.split(' ');
    const isNamed = verb !== undefined && [group, ...otherGroup(group, noun)].includes(first);
    return isNamed ? [`${noun} ${group}`] : [];
  });
  return [...new Set([...verbs.map(({ name }) => name), ...groups])].map((name) => `gov ${name}`);
}

/** The hidden singular or plural of a group such as `report templates`; empty where the noun has such a verb or group. */
function otherGroup(group: string, noun: string): string[] {
  const other = inOtherNumber(group);
  return specsOf(noun).some(({ name }) => `${name} `.startsWith(`${noun} ${other} `)) ? [] : [other];
}

/** Verbs of so many nouns that a list of them does not help. */
const everyVerb = new Set(['list', 'get', 'create', 'update', 'delete', 'show', 'set', 'add', 'remove']);

/** Returns the noun that the words begin with, with its group such as `risk config` if they name one, and its verbs. */
function groupOf(words: readonly string[]): { path: string; verbs: string } | undefined {
  const [noun = '', second] = words;
  const named = nouns.map(([, each]) => each).find((each) => each === noun || otherNumber(each) === noun);
  if (named === undefined) return undefined;
  const specs = specsOf(named);
  const group = specs
    .map(({ name }) => name.split(' '))
    .find(
      ([, each = '', verb]) =>
        verb !== undefined && [each, ...otherGroup(each, named)].includes(second ?? ''),
    );
  const path = group === undefined ? named : `${named} ${group[1]}`;
  const verbs = specs
    .filter(({ name }) => name.startsWith(`${path} `))
    .map(({ name }) => name.slice(path.length + 1).split(' ', 1)[0]);
  return { path, verbs: [...new Set(verbs)].join(', ') };
}

/**
 * commander takes up to a millisecond to add a command. Therefore the first attempt adds only commands that the words
 * name. If that finds no command, the second adds all, for help and suggestions.
 */
function readWords(words: readonly string[]): { tool: Tool; found: MatchedCommand | TextWriter } {
  const tool = new Tool(words, false);
  const found = commandIn(tool);
  if (found !== undefined) return { tool, found };
  const whole = new Tool(words, true);
  return { tool: whole, found: whole.parse() };
}

function commandIn(tool: Tool): MatchedCommand | undefined {
  try {
    const found = tool.parse();
    return typeof found === 'function' ? undefined : found;
  } catch (error) {
    if (error instanceof CliError) return undefined;
    throw error;
  }
}

/**
 * Reads the words. `now` is the base of relative times, `cwd` of relative paths. Errors: `CliError` with exit 2. Cost: some
 * milliseconds.
 */
export function parse(argv: readonly string[], now: number, cwd = '.'): ParseResult {
  const { tool, found } = readWords(prepared(argv));
  const given = tool.root.opts<Record<string, string | boolean | undefined>>();
  const globals = { ...given, noInput: isGiven('noInput', given) };
  if (typeof found === 'function') return { kind: 'text', write: found, globals };
  const { spec, words, command } = found;
  return {
    kind: 'command',
    spec,
    args: argsOf(spec, words),
    flags: flagsOf(spec, command, { now, cwd }),
    globals,
  };
}

function argsOf(spec: CommandSpec, words: readonly unknown[]): Record<string, unknown> {
  const args = Object.fromEntries((spec.args ?? []).map((arg, at) => [arg.name, words[at]]));
  for (const [name, value] of Object.entries(args)) {
    const words = Array.isArray(value) ? value : [value];
    if (words.length > 0 && words.every((word) => word === ''))
      throw usage(`${name}: expected a value, got an empty one`);
  }
  return args;
}

function flagsOf(
  spec: CommandSpec,
  command: Command,
  base: { readonly now: number; readonly cwd: string },
): Record<string, unknown> {
  const given = command.opts<Record<string, string | boolean | readonly string[] | undefined>>();
  const flags: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(spec.flags ?? {})) {
    const value = given[name];
    const read = (text: string): unknown => readFlag({ flag: `--${kebab(name)}`, spec: flag, text, ...base });
    if (flag.type === 'boolean') flags[name] = isGiven(name, given);
    else if (flag.type === 'strings') {
      const texts = Array.isArray(value) ? (value as readonly string[]) : [];
      const parts = flag.separator === undefined ? texts : texts.flatMap((text) => text.split(/,\s*/));
      flags[name] = parts.map(read);
    } else flags[name] = typeof value === 'string' ? read(value) : undefined;
    // not by commander, which names a missing flag before an unknown one
    if (flag.required && (given[name] === undefined || String(given[name]) === ''))
      throw usage(
        `required option '--${kebab(name)} <${flag.value ?? 'VALUE'}>' not specified`,
        `gov ${spec.name} --help`,
      );
  }
  return flags;
}
