/**
 * Programs that run other programs, and how their options are read: one that is not listed makes the line unknown.
 * Proven by `test/core/action/shell.test.ts`.
 */
import { isKnown, UnreadableLineError } from './shell-marks.ts';

/** Returns a word whose text is known in full. @throws UnreadableLineError */
export function known(word: string | undefined): string {
  if (word === undefined || !isKnown(word)) throw new UnreadableLineError();
  return word;
}

/** Programs that run other programs in ways that are not read here. */
export const opaque = new Set([
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

export const shells = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash', 'mksh', 'rbash']);

/** How the options of a program that runs another are read: one that is not listed makes the line unknown. */
export interface Wrapper {
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
  /** Only after one of these words, which is the first operand. */
  readonly verbs?: readonly string[];
  /** Options that change the folder of the command. */
  readonly folders?: RegExp;
  /** Assignments may precede the command. */
  readonly assigns?: boolean;
}

const table = (entries: Readonly<Record<string, Wrapper>>): ReadonlyMap<string, Wrapper> =>
  new Map(Object.entries(entries));

/** Programs that run others, as every reading of a line knows them. */
export const wrappers = table({
  sudo: {
    flags: 'AbBEHnPSsiVv',
    valued: 'CDghpRrTtUu',
    longValued: ['user', 'group', 'host', 'prompt', 'chdir', 'chroot', 'close-from'],
    long: ['non-interactive', 'stdin', 'set-home', 'login', 'shell', 'background', 'preserve-env'],
    folders: /^(?:-\w*[DRi]|--(?:chdir|chroot|login))/,
    assigns: true,
  },
  doas: { flags: 'Lns', valued: 'Cu' },
  env: {
    flags: 'i0v',
    valued: 'uC',
    long: ['ignore-environment', 'null', 'debug'],
    longValued: ['unset', 'chdir'],
    folders: /^(?:-\w*C|--chdir)/,
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
  chroot: { longValued: ['userspec', 'groups'], operands: 1, folders: /^/ },
  busybox: {},
  toybox: {},
});

/**
 * Further programs that run others, whose options are not all known. An action reads them; `programs()` names them alone,
 * because recorded decisions are recomputed with it.
 */
export const looseWrappers = table({
  flock: { flags: 'eEnosux', valued: 'w', operands: 1 },
  unbuffer: { flags: 'p' },
  caffeinate: { flags: 'disu', valued: 'tw' },
  npx: { flags: 'yq', valued: 'p', long: ['yes', 'no', 'no-install', 'quiet'], longValued: ['package'] },
  bunx: { long: ['bun'] },
  pnpx: {},
  uvx: { flags: 'q', longValued: ['from', 'with', 'python'] },
  uv: { verbs: ['run'], flags: 'q', longValued: ['with', 'python'] },
  npm: { verbs: ['exec', 'x'], flags: 'y', long: ['yes'], longValued: ['package'] },
  pnpm: { verbs: ['exec', 'dlx'] },
  yarn: { verbs: ['exec', 'dlx'] },
  bun: { verbs: ['x'] },
  bundle: { verbs: ['exec'] },
  poetry: { verbs: ['run'] },
  pipenv: { verbs: ['run'] },
  pdm: { verbs: ['run'] },
  hatch: { verbs: ['run'] },
  pipx: { verbs: ['run'], longValued: ['spec'] },
});

/** Returns the words after the options and operands of a program that runs another. */
export function commandOf(wrapper: Wrapper, words: readonly string[]): readonly string[] {
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

export const xargs: Wrapper = {
  flags: '0ortx',
  valued: 'adEILnPs',
  attached: 'eil',
  longValued: ['arg-file', 'delimiter', 'max-args', 'max-procs', 'max-chars'],
  long: ['null', 'no-run-if-empty', 'verbose', 'exit', 'open-tty', 'interactive', 'replace', 'max-lines'],
};

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
