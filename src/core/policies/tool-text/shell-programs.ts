/**
 * The programs that a shell command line runs: of each part of a pipeline, in substitutions, and behind programs that run
 * others (`sudo`, `xargs`, `sh -c`). Proven by `test/core/policies/tool-text/shell.test.ts`.
 */
import { decisive } from './shell-variables.ts';
import { simpleCommands, unknown, UnreadableLineError } from './shell-words.ts';

/** `sh -c`, `eval` and the like inside each other. */
const deepest = 8;

/**
 * Returns the names of all programs that the line may start, each once, without folder: `/bin/rm` is `rm`. Null if the
 * line does not say it: a variable or a pattern names a program, a variable changes how programs are found, or the line is
 * not valid. What a program does with its input stays its own: `python -c`, `make` and `ssh` are only these names.
 * Cost: linear in the text.
 */
export function programsOf(line: string): readonly string[] | null {
  const found = new Set<string>();
  try {
    addLine(line, found, 0);
  } catch (error) {
    if (error instanceof UnreadableLineError) return null;
    throw error;
  }
  return [...found];
}

function addLine(line: string, found: Set<string>, depth: number): void {
  if (depth > deepest) throw new UnreadableLineError();
  for (const words of simpleCommands(line)) addCommand(words, found, depth);
}

const assignment = /^([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=/;

function addCommand(all: readonly string[], found: Set<string>, depth: number): void {
  let words = all;
  for (;;) {
    const [, name] = assignment.exec(words[0] ?? '') ?? [];
    if (name === undefined) break;
    if (decisive.test(name)) throw new UnreadableLineError();
    words = words.slice(1);
  }
  if (words.length === 0) return;
  const [first, ...rest] = words;
  const name = programName(first);
  if (opaque.has(name) || /^ld[-.].*so/.test(name)) throw new UnreadableLineError();
  found.add(name);
  if (assigning.has(name)) requirePlainNames(name, rest);
  if (shells.has(name)) return addScript(rest, found, depth);
  const wrapper = wrappers[name];
  if (wrapper !== undefined) return addWrapped(wrapper, rest, { found, depth });
  switch (name) {
    case 'eval':
      return addLine((rest[0] === '--' ? rest.slice(1) : rest).map(known).join(' '), found, depth + 1);
    case 'watch':
      return addLine(
        commandOf({ flags: 'bcegtwx', valued: 'n' }, rest).map(known).join(' '),
        found,
        depth + 1,
      );
    case 'xargs':
      return addXargs(rest, found, depth);
    case 'source':
      requireFile(rest[0]);
      return;
    case 'trap': {
      const [action, ...signals] = rest[0] === '--' ? rest.slice(1) : rest;
      if (signals.length > 0 && action !== '-' && action !== '') addLine(known(action), found, depth + 1);
      return;
    }
    case 'find':
      return addFound(rest, found, depth);
    case 'su':
    case 'runuser':
      return addLogin(rest, found, depth);
    case 'alias':
    case 'hash':
    case 'enable':
      if (rest.length > 0) throw new UnreadableLineError(); // names may mean other programs from here on
      return;
    default:
  }
}

function known(word: string | undefined): string {
  if (word === undefined || word.includes(unknown)) throw new UnreadableLineError();
  return word;
}

function programName(word: string | undefined): string {
  const text = known(word);
  const name = text === '.' ? 'source' : text.slice(text.lastIndexOf('/') + 1);
  if (name === '') throw new UnreadableLineError();
  return name;
}

/** Programs that run other programs in ways that are not read here. */
const opaque = new Set([
  'parallel',
  'entr',
  'script',
  'expect',
  'unshare',
  'nsenter',
  'flock',
  'systemd-run',
  'setpriv',
  'capsh',
  'pkexec',
  'gosu',
  'su-exec',
  'runcon',
  'numactl',
  'fakeroot',
  'proot',
  'firejail',
  'bwrap',
  'ltrace',
  'gdb',
  'perf',
  'valgrind',
  'rlwrap',
  'unbuffer',
  'at',
  'batch',
  'tmux',
  'screen',
  'osascript',
  'start-stop-daemon',
  'chrt',
  'prlimit',
  'choom',
  'setarch',
  'linux32',
  'linux64',
  'i386',
  'i686',
  'x86_64',
  'uname26',
  'sg',
  'newgrp',
  'ssh-agent',
  'dbus-run-session',
  'xvfb-run',
  'run-parts',
  'chpst',
  'setuidgid',
  'cgexec',
  'faketime',
  'eatmydata',
  'torsocks',
  'proxychains',
  'proxychains4',
  'bind',
  'compgen',
  'complete',
  'fc',
  'let',
  'fish',
  'csh',
  'tcsh',
  'pwsh',
  'powershell',
  'cmd',
  'nu',
  'elvish',
  'xonsh',
]);

const shells = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash', 'mksh', 'rbash']);

/** Adds the programs of `sh -c LINE`. A script in a file is not read; one on standard input makes the line unknown. */
function addScript(words: readonly string[], found: Set<string>, depth: number): void {
  let takesLine = false;
  let at = 0;
  for (; at < words.length; at += 1) {
    const option = known(words[at]);
    if (!/^[-+]/.test(option)) break;
    if (option === '--' || option === '-') {
      at += 1;
      break;
    }
    if (/^--(?:login|noprofile|norc|posix|restricted|verbose)$/.test(option)) continue;
    if (!/^[-+][abcefhiklmnprtuvxBCDEHPT]+$/.test(option)) throw new UnreadableLineError();
    takesLine ||= option.startsWith('-') && option.includes('c');
  }
  if (takesLine) addLine(known(words[at]), found, depth + 1);
  else requireFile(words[at]);
}

function requireFile(word: string | undefined): void {
  if (/^\/(?:dev|proc)\//.test(known(word))) throw new UnreadableLineError();
}

/** Adds the programs of `su … -c LINE`. */
function addLogin(words: readonly string[], found: Set<string>, depth: number): void {
  let line: string | undefined;
  for (let at = 0; at < words.length; at += 1) {
    const word = known(words[at]);
    const [, value] = /^--command=(.*)$/s.exec(word) ?? [];
    if (value !== undefined) line = value;
    else if (/^-(?:[lmp]*c|-command)$/.test(word)) line = words[(at += 1)];
    else if (!/^(?:[\w.][\w.-]*|-[lmp]*|--login)$/.test(word)) throw new UnreadableLineError();
  }
  addLine(known(line), found, depth + 1); // without a line: a shell that reads standard input
}

/** Commands of a shell that set variables, or compute the index of one. */
const assigning = new Set([
  'declare',
  'typeset',
  'local',
  'export',
  'readonly',
  'read',
  'mapfile',
  'readarray',
  'getopts',
  'unset',
  'printf',
  'wait',
  'test',
  '[',
]);

function requirePlainNames(program: string, words: readonly string[]): void {
  const [first = ''] = words;
  if (program === 'printf' && !first.startsWith('-v') && !first.startsWith(unknown)) return;
  if (program === 'test' || program === '[') {
    const operands = words.filter((word) => word !== ']');
    const isUnknown = operands.length === 2 && first.startsWith(unknown);
    if (isUnknown || operands.some((word) => word === '-v' || word === '-R')) throw new UnreadableLineError();
    return;
  }
  const isDeclaration = /^(?:declare|typeset|local|export|readonly)$/.test(program);
  for (const word of words) {
    const name = word.replace(/^-v/, '').split(/\+?=/, 1)[0] ?? '';
    if (decisive.test(name) || /^\w+\[/.test(name)) throw new UnreadableLineError();
    if (program !== 'printf' && word.startsWith(unknown)) throw new UnreadableLineError();
    if (isDeclaration && /^[-+]\w*[in]/.test(word)) throw new UnreadableLineError();
    if (/^(?:mapfile|readarray)$/.test(program) && word.startsWith('-C')) throw new UnreadableLineError();
  }
}

/** How the options of a program that runs another are read: one that is not listed makes the line unknown. */
interface Wrapper {
  /** Letters of options without a value. */
  readonly flags?: string;
  /** Letters of options with a value in the same word or without one. */
  readonly attached?: string;
  /** Letters of options with a value, in the same word or the next. */
  readonly valued?: string;
  /** Long options with a value in the next word; others of `long` have none. */
  readonly longValued?: readonly string[];
  readonly long?: readonly string[];
  /** Operands before the command. */
  readonly operands?: number;
  /** Assignments may precede the command. */
  readonly assigns?: boolean;
}

const wrappers: Readonly<Record<string, Wrapper | undefined>> = Object.assign(Object.create(null), {
  sudo: {
    flags: 'AbBEHnPSsiVv',
    valued: 'CDghpRrTtUu',
    longValued: ['user', 'group', 'host', 'prompt', 'chdir', 'chroot', 'close-from'],
    long: ['non-interactive', 'stdin', 'set-home', 'login', 'shell', 'background', 'preserve-env'],
    assigns: true,
  },
  doas: { flags: 'Lns', valued: 'Cu' },
  env: {
    flags: 'i0v',
    valued: 'uC',
    long: ['ignore-environment', 'null', 'debug'],
    longValued: ['unset', 'chdir'],
    assigns: true,
  },
  nohup: {},
  setsid: { flags: 'cfw', long: ['ctty', 'fork', 'wait'] },
  nice: { valued: 'n', longValued: ['adjustment'] },
  ionice: { flags: 't', valued: 'cnpPu', longValued: ['class', 'classdata'] },
  taskset: { flags: 'ac', operands: 1 },
  timeout: {
    flags: 'v',
    valued: 'ks',
    longValued: ['kill-after', 'signal'],
    long: ['foreground', 'preserve-status', 'verbose'],
    operands: 1,
  },
  stdbuf: { valued: 'ioe', longValued: ['input', 'output', 'error'] },
  time: {
    flags: 'apqvV',
    valued: 'fo',
    longValued: ['format', 'output'],
    long: ['portability', 'verbose', 'append'],
  },
  exec: { flags: 'cl', valued: 'a' },
  command: { flags: 'pvV' },
  builtin: {},
  strace: { flags: 'cCdDfFhiqrtTvVwxyz', valued: 'abeIoOpPsSuUX' },
  chroot: { longValued: ['userspec', 'groups'], operands: 1 },
  busybox: {},
  toybox: {},
} satisfies Record<string, Wrapper>);

function addWrapped(
  wrapper: Wrapper,
  words: readonly string[],
  { found, depth }: { readonly found: Set<string>; readonly depth: number },
): void {
  let rest = commandOf(wrapper, words);
  if (wrapper.assigns === true) {
    if (rest[0] === '-') throw new UnreadableLineError(); // `env -`
    while (rest[0]?.includes('=') === true) {
      if (!assignment.test(rest[0]) || decisive.test(rest[0].split('=', 1)[0] ?? ''))
        throw new UnreadableLineError();
      rest = rest.slice(1);
    }
  } else if (assignment.test(rest[0] ?? '')) throw new UnreadableLineError();
  if (rest.length === 0) return;
  if (depth > deepest) throw new UnreadableLineError();
  addCommand(rest, found, depth + 1);
}

/** Returns the words after the options and operands of a program that runs another. */
function commandOf(wrapper: Wrapper, words: readonly string[]): readonly string[] {
  let at = 0;
  while (at < words.length) {
    const word = known(words[at]);
    if (word === '--') {
      at += 1;
      break;
    }
    if (!word.startsWith('-') || word === '-') break;
    at += word.startsWith('--') ? longOption(wrapper, word.slice(2)) : shortOptions(wrapper, word.slice(1));
  }
  return words.slice(at + (wrapper.operands ?? 0));
}

const xargs: Wrapper = {
  flags: '0ortx',
  valued: 'adEILnPs',
  attached: 'eil',
  longValued: ['arg-file', 'delimiter', 'max-args', 'max-procs', 'max-chars'],
  long: ['null', 'no-run-if-empty', 'verbose', 'exit', 'open-tty', 'interactive', 'replace', 'max-lines'],
};

/** Adds the program that `xargs` runs. Words of its input follow the command, or take the place of `{}` in it. */
function addXargs(words: readonly string[], found: Set<string>, depth: number): void {
  const command = commandOf(xargs, words);
  if (command.length === 0) return;
  const options = words.slice(0, words.length - command.length);
  let replaced: string | undefined;
  for (const [at, option] of options.entries()) {
    const [, isValue, short, long] = /^(?:-[0ortx]*(I)(.*)|-[0ortx]*i(.*)|--replace(?:=.*)?)$/s.exec(
      option,
    ) ?? [option];
    if (isValue !== undefined) replaced = short === '' ? options[at + 1] : short;
    else if (/^(?:-[0ortx]*i|--replace)/.test(option)) replaced = long ?? (option.split('=', 2)[1] || '{}');
  }
  const shown = command.map((word) => (replaced ? word.replaceAll(replaced, unknown) : word));
  addCommand([...shown, unknown], found, depth + 1);
}

/** Returns how many words a long option takes. */
function longOption({ long = [], longValued = [] }: Wrapper, option: string): number {
  const [name = '', value] = option.split('=', 2);
  if (longValued.includes(name)) return value === undefined ? 2 : 1;
  if (long.includes(name)) return 1;
  throw new UnreadableLineError();
}

/** Returns how many words a group of short options takes. */
function shortOptions({ flags = '', attached = '', valued = '' }: Wrapper, letters: string): number {
  for (const [at, letter] of [...letters].entries()) {
    if (attached.includes(letter)) return 1;
    if (valued.includes(letter)) return at === letters.length - 1 ? 2 : 1;
    if (!flags.includes(letter)) throw new UnreadableLineError();
  }
  return 1;
}

/** Adds the programs of `find … -exec PROGRAM … ;`. */
function addFound(words: readonly string[], found: Set<string>, depth: number): void {
  for (const [at, word] of words.entries()) {
    if (word.startsWith(unknown)) throw new UnreadableLineError(); // may be -exec
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(known(word))) continue;
    const rest = words.slice(at + 1).map((each) => each.replaceAll('{}', unknown));
    const end = rest.findIndex((each) => each === ';' || each === '+');
    addCommand(end === -1 ? rest : rest.slice(0, end), found, depth + 1);
  }
}
