/**
 * The programs that a shell command line runs: of each part of a pipeline, in substitutions, and behind programs that run
 * others (`sudo`, `xargs`, `sh -c`). Proven by `test/core/policy/tool-text/shell.test.ts`.
 */
import { simpleCommands, unknown, Unreadable } from './shell-words.ts';

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
    if (error instanceof Unreadable) return null;
    throw error;
  }
  return [...found];
}

function addLine(line: string, found: Set<string>, depth: number): void {
  if (depth > deepest) throw new Unreadable();
  for (const words of simpleCommands(line)) addCommand(words, found, depth);
}

const assignment = /^([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=/;
/** Variables by which a shell or the loader finds what it runs. */
const decisive = /^(?:PATH|IFS|ENV|BASH_ENV|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|LD_\w+|DYLD_\w+)$/;

function addCommand(all: readonly string[], found: Set<string>, depth: number): void {
  let words = all;
  for (;;) {
    const [, name] = assignment.exec(words[0] ?? '') ?? [];
    if (name === undefined) break;
    if (decisive.test(name)) throw new Unreadable();
    words = words.slice(1);
  }
  if (words.length === 0) return;
  const [first, ...rest] = words;
  const name = programName(first);
  if (opaque.has(name)) throw new Unreadable();
  found.add(name);
  if (shells.has(name)) return addScript(rest, found, depth);
  const wrapper = wrappers[name];
  if (wrapper !== undefined) return addWrapped(wrapper, rest, { found, depth });
  switch (name) {
    case 'eval':
      return addLine(rest.map(known).join(' '), found, depth + 1);
    case 'trap':
      if (rest.length > 1 && rest[0] !== '-' && rest[0] !== '') addLine(known(rest[0]), found, depth + 1);
      return;
    case 'find':
      return addFound(rest, found, depth);
    case 'su':
    case 'runuser': {
      const at = rest.findIndex((word) => /^-(?:[a-z]*c$|-command)/.test(word));
      if (at === -1) return;
      const [, value = rest[at + 1]] = /^--command=(.*)$/s.exec(rest[at] ?? '') ?? [];
      return addLine(known(value), found, depth + 1);
    }
    case 'alias':
    case 'hash':
    case 'enable':
      if (rest.length > 0) throw new Unreadable(); // names may mean other programs from here on
      return;
    default:
  }
}

function known(word: string | undefined): string {
  if (word === undefined || word.includes(unknown)) throw new Unreadable();
  return word;
}

function programName(word: string | undefined): string {
  const text = known(word);
  const name = text === '.' ? 'source' : text.slice(text.lastIndexOf('/') + 1);
  if (name === '') throw new Unreadable();
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

/** Adds the programs of `sh -c LINE`. A script in a file or on standard input is not read. */
function addScript(words: readonly string[], found: Set<string>, depth: number): void {
  for (const [at, word] of words.entries()) {
    const option = known(word);
    if (!/^[-+]/.test(option) || option === '--' || option === '-') return;
    if (option === '-o' || option === '+o' || option === '--rcfile' || option === '--init-file')
      throw new Unreadable();
    if (/^-[a-z]*c[a-z]*$/i.test(option)) {
      const line = words.slice(at + 1).find((each) => !/^[-+]/.test(each));
      return addLine(known(line), found, depth + 1);
    }
  }
}

/** How the options of a program that runs another are read: one that is not listed makes the line unknown. */
interface Wrapper {
  /** Letters of options without a value. */
  readonly flags?: string;
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
  chrt: { flags: 'abfioRr', valued: 'pTPD', operands: 1 },
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
  xargs: {
    flags: '0ortx',
    valued: 'adEIiLlnPs',
    longValued: ['arg-file', 'delimiter', 'replace', 'max-lines', 'max-args', 'max-procs', 'max-chars'],
    long: ['null', 'no-run-if-empty', 'verbose', 'exit', 'open-tty', 'interactive'],
  },
  watch: {
    flags: 'bcegtwx',
    valued: 'n',
    longValued: ['interval'],
    long: ['beep', 'color', 'exec', 'no-title'],
  },
  strace: { flags: 'cCdDfFhiqrtTvVwxyz', valued: 'abEeIoOpPsSuUX' },
  chroot: { longValued: ['userspec', 'groups'], operands: 1 },
  busybox: {},
  toybox: {},
} satisfies Record<string, Wrapper>);

function addWrapped(
  wrapper: Wrapper,
  words: readonly string[],
  { found, depth }: { readonly found: Set<string>; readonly depth: number },
): void {
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
  at += wrapper.operands ?? 0;
  const rest = words.slice(at);
  if (rest.length === 0) return;
  if (wrapper.assigns !== true && assignment.test(rest[0] ?? '')) throw new Unreadable();
  if (depth > deepest) throw new Unreadable();
  addCommand(rest, found, depth + 1);
}

/** Returns how many words a long option takes. */
function longOption({ long = [], longValued = [] }: Wrapper, option: string): number {
  const [name = '', value] = option.split('=', 2);
  if (longValued.includes(name)) return value === undefined ? 2 : 1;
  if (long.includes(name)) return 1;
  throw new Unreadable();
}

/** Returns how many words a group of short options takes. */
function shortOptions({ flags = '', valued = '' }: Wrapper, letters: string): number {
  for (const [at, letter] of [...letters].entries()) {
    if (valued.includes(letter)) return at === letters.length - 1 ? 2 : 1;
    if (!flags.includes(letter)) throw new Unreadable();
  }
  return 1;
}

/** Adds the programs of `find … -exec PROGRAM … ;`. */
function addFound(words: readonly string[], found: Set<string>, depth: number): void {
  for (const [at, word] of words.entries()) {
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(word)) continue;
    const rest = words.slice(at + 1);
    const end = rest.findIndex((each) => each === ';' || each === '+');
    addCommand(end === -1 ? rest : rest.slice(0, end), found, depth + 1);
  }
}
