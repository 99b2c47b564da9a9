/**
 * Code that a command runs and its line does not show: what interpreters, scripts, builds and other machines do.
 * Proven by `test/core/action/canonical.test.ts`.
 */
import { opaque } from './shell-wrappers.ts';

/** Options after which an interpreter takes code. */
const inlineOptions: ReadonlyMap<string, RegExp> = new Map([
  ['python', /^-[A-Za-z]*c/],
  ['pypy', /^-[A-Za-z]*c/],
  ['node', /^(?:-[a-z]*[ep]|--eval|--print)(?:=|$)/],
  ['nodejs', /^(?:-[a-z]*[ep]|--eval|--print)(?:=|$)/],
  ['perl', /^-[a-zA-Z]*[eE]/],
  ['ruby', /^-[a-zA-Z]*e/],
  ['php', /^-[rBRE]/],
  ['deno', /^eval$/],
  ['bun', /^(?:-e|--eval)/],
  ['lua', /^-e/],
  ['osascript', /^-e/],
  ['Rscript', /^-e/],
  ['julia', /^-[eE]/],
]);
const builders = new Set(
  'make gmake cmake ninja npm pnpm yarn cargo go gradle gradlew mvn rake bundle tox nox pytest jest vitest ctest bazel just task poetry hatch'.split(
    ' ',
  ),
);
const elsewhere = new Set(
  'ssh mosh kubectl docker podman nerdctl machinectl nsenter unshare chroot systemd-run at batch tmux screen script expect parallel entr run-parts start-stop-daemon crontab launchctl bwrap firejail proot fakeroot setpriv capsh runuser su pkexec gosu su-exec'.split(
    ' ',
  ),
);
/** Programs of `opaque` that run code which the line shows. */
const editors = new Set('vi vim nvim emacs ed ex'.split(' '));
const govByAnother = new Set('node nodejs bun deno npx bunx pnpx pnpm yarn npm'.split(' '));

/** `words`: the arguments as policies see them, null for one that nobody knows. */
export interface CodeRun {
  readonly program: string;
  readonly words: readonly (string | null)[];
  readonly hasInput: boolean;
}

/** Returns the names of the hidden code of one command. */
export function hiddenCode(run: CodeRun): string[] {
  const { program, words } = run;
  const found = interpreted(run);
  const some = (test: RegExp): boolean => words.some((word) => word !== null && test.test(word));
  if ((govByAnother.has(program) || /^python[\d.]*$/.test(program)) && some(/(?:^|\/)gov(?:\.cjs|\.js)?$/))
    found.push('gov by another program');
  if (/^(?:awk|gawk|mawk|nawk)$/.test(program) && some(/system\s*\(|\|\s*(?:&|getline|")|"\s*\|/))
    found.push('inline awk');
  if (
    program === 'sed' &&
    words.some((word) => word !== null && !word.startsWith('-') && runsInSed.test(word))
  )
    found.push('inline sed');
  if (editors.has(program)) found.push(`inline ${program}`);
  if (program === 'git') found.push(...gitCode(words));
  if (program === 'tar' && some(/^--(?:checkpoint-action|to-command|use-compress-program|rsh-command)|^-I/))
    found.push('inline tar');
  if (program === 'rsync' && some(/^(?:-e|--rsh)/)) found.push('inline rsync');
  if (builders.has(program)) found.push(`build ${program}`);
  if (elsewhere.has(program)) found.push(`elsewhere ${program}`);
  else if (opaque.has(program)) found.push(`inline ${program}`);
  return found;
}

/** `e` and `w` of GNU sed: run a command, write a file. */
const runsInSed = /(?:^|[;}/\d])\s*[ew]\b|\/[gimp\d]*[ew][gimp\d]*(?:\s|;|$)/;

function interpreted({ program, words, hasInput }: CodeRun): string[] {
  const base = program.replace(/(?<=[A-Za-z])[\d.]+$/, '');
  const inline = inlineOptions.get(base);
  if (inline === undefined) return [];
  if (words.some((word) => word !== null && inline.test(word))) return [`inline ${program}`];
  const module = words.indexOf('-m');
  if (/^(?:python|pypy)$/.test(base) && module >= 0) return [`build python -m ${words[module + 1] ?? '?'}`];
  const file = words.find((word) => word === null || !word.startsWith('-'));
  if (file !== undefined) return [`script ${file ?? '?'}`];
  return hasInput || words.includes('-') ? [`${program} reads standard input`] : [];
}

const gitRunner =
  /^(?:alias\.|core\.(?:hookspath|pager|editor|sshcommand|fsmonitor|gitproxy|askpass)|credential\.|diff\.external|sequence\.editor|filter\.|pager\.|gpg\.program|.*\.(?:cmd|command|textconv|driver))/i;

function gitCode(words: readonly (string | null)[]): string[] {
  const found: string[] = [];
  const option = words.findIndex((word) => word === '-c' || word === '--config-env');
  if (option >= 0 && gitRunner.test(words[option + 1] ?? '')) found.push('git -c runs a program');
  else if (words.some((word) => word !== null && gitRunner.test(word)))
    found.push('git config runs a program');
  if (words.some((word) => word !== null && /^(?:--upload-pack|--receive-pack|--exec|-x|ext::)/.test(word)))
    found.push('git runs a program');
  return found;
}
