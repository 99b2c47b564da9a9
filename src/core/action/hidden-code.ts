/**
 * The code that a command runs and that its words do not show: what interpreters, scripts, builds, packages and other machines do.
 * Proven by `test/core/action/hidden-code.test.ts`.
 */
import { packagesOf } from './packages.ts';
import { joined, isBelow } from './places.ts';
import { opaque } from './shell-wrappers.ts';
import { verbOf, wordsAfter } from './verbs.ts';

/** Options after which an interpreter takes code. */
const inlineOptions: ReadonlyMap<string, RegExp> = new Map([
  ['python', /^-[A-Za-z]*c/],
  ['pypy', /^-[A-Za-z]*c/],
  ['node', /^(?:-[a-z]*[ep]|--eval|--print)(?:=|$)/],
  ['nodejs', /^(?:-[a-z]*[ep]|--eval|--print)(?:=|$)/],
  ['tsx', /^(?:-[a-z]*[ep]|--eval|--print)(?:=|$)/],
  ['ts-node', /^(?:-[a-z]*[ep]|--eval|--print)(?:=|$)/],
  ['perl', /^-[a-zA-Z]*[eE]/],
  ['ruby', /^-[a-zA-Z]*e/],
  ['php', /^-[rBRE]/],
  ['deno', /^eval$/],
  ['bun', /^(?:-e|--eval)/],
  ['lua', /^-e/],
  ['osascript', /^-e/],
  ['Rscript', /^-e/],
  ['R', /^-e/],
  ['julia', /^-[eE]/],
  ['groovy', /^-e/],
  ['elixir', /^-e|^--eval/],
  ['swift', /^-e/],
  ['octave', /^--eval/],
  ['gnuplot', /^-e/],
  ['mongosh', /^--eval/],
]);
const builders = new Set(
  'make gmake cmake ninja npm pnpm yarn cargo go gradle gradlew mvn rake bundle tox nox pytest jest vitest ctest bazel just task poetry hatch'.split(
    ' ',
  ),
);
/** Their words name files that they run. */
const testRunners = new Set('pytest jest vitest ctest tox nox rake'.split(' '));
/** Options of builds that name another folder, or a file in it. */
const buildFolder =
  /^(?:-C|--directory|--prefix|--cwd|--dir|--manifest-path|-f|--file|--makefile|--project|--project-dir|--rootdir)(?:=(.*))?$/;

const elsewhere = new Set(
  'ssh mosh kubectl docker podman nerdctl machinectl nsenter unshare chroot systemd-run at batch tmux screen script expect parallel entr run-parts start-stop-daemon crontab launchctl bwrap firejail proot fakeroot setpriv capsh runuser su pkexec gosu su-exec busctl dbus-send gdbus'.split(
    ' ',
  ),
);
/** What these programs do without running code elsewhere: their verb, and the next word where the verb names a group. */
const staysHere: ReadonlyMap<string, RegExp> = new Map([
  [
    'kubectl',
    /^(?:get|describe|logs|version|explain|top|api-\w+|cluster-info|config|auth|diff|wait|rollout|completion|apply|create|delete|scale|patch|set|label|annotate|replace|autoscale|kustomize)\b/,
  ],
  ['crontab', /^(?:-u \S+ )?-l$/],
]);
const containers = new Set(['docker', 'podman', 'nerdctl']);
const containerReads =
  /^(?:(?:compose|image|container|volume|network|context|builder|buildx|system) )?(?:ps|ls|list|images|logs|inspect|version|info|stats|top|port|diff|history|search|events|df|pull|tag)\b|^compose config\b/;
const containerBuilds =
  /^(?:(?:compose |buildx |image |container )?(?:build|up|create|stop|start|restart|down))\b/;
const removesVolumes = /(?:^| )(?:-\w*v\w*|--volumes|--rmi)(?: |$)/;

/** Options and words by which a program runs another one, or code. */
const running: ReadonlyMap<string, RegExp> = new Map([
  [
    'tar',
    /^--(?:checkpoint-action|to-command|use-compress-program|rsh-command|info-script|new-volume-script)|^-[IF]/,
  ],
  ['rsync', /^(?:-\w*e|--rsh)/],
  ['scp', /^-S|ProxyCommand|LocalCommand/i],
  ['sftp', /^-S|ProxyCommand|LocalCommand/i],
  ['split', /^--f/],
  ['sort', /^--compress-p/],
  ['zip', /^(?:-\w*TT|--unzip-command)/],
  [
    'sqlite3',
    /^\s*\.(?:sh|sy|loa|im)|\n\s*\.(?:sh|sy|loa|im)|^--?(?:cmd|init)$|\b(?:load_extension|edit)\s*\(/i,
  ],
  ['psql', /\\!|\\g?[ogw]x?\s*\||\\copy\b.*\bprogram\b|\bcopy\b.*\bprogram\b/is],
  ['mysql', /(?:^|[;\s])(?:system\s|\\!)|^--(?:pager|init)/i],
  ['mariadb', /(?:^|[;\s])(?:system\s|\\!)|^--(?:pager|init)/i],
  ['less', /^\+.*[!|]|^-{1,2}(?:k|lesskey)/],
  ['more', /^\+.*!/],
  ['man', /^(?:-\w*[PH]|--pager|--html)/],
  ['rg', /^--(?:pre|hostname-bin)(?:=|$)/],
  ['fd', /^(?:-\w*[xX]|--exec)/],
  ['fdfind', /^(?:-\w*[xX]|--exec)/],
  ['fzf', /^--(?:preview|bind|with-shell)/],
  ['socat', /(?:^|,)(?:exec|system|shell):/i],
  ['nc', /^-[a-z]*[ec]/],
  ['ncat', /^(?:-[a-z]*[ec]|--(?:sh-|lua-)?exec)/],
  ['netcat', /^-[a-z]*[ec]/],
  ['wget', /^--use-askpass/],
  ['gcc', /^-(?:wrapper|fplugin)/],
  ['go', /^--?(?:exec|toolexec|vettool)/],
  ['make', /^(?:--eval|SHELL=|MAKEFLAGS=)/],
  ['nmap', /^--script/],
  ['tcpdump', /^-\w*z/],
  ['apt', /Invoke/],
  ['apt-get', /Invoke/],
  ['dpkg', /invoke/],
  ['ip', /^exec$/],
  ['m4', /syscmd/],
  ['dc', /!/],
  ['pip', /^--(?:config-settings|global-option)/],
]);
/** Programs that run code which the line shows. */
const editors = new Set('vi vim nvim view vimdiff emacs ed ex'.split(' '));
const govByAnother = new Set('node nodejs bun deno npx bunx pnpx pnpm yarn npm'.split(' '));
/** Settings of npm and its like that name a program, or a file with further settings; as options, and in their files. */
const npmOptions = /^--(?:script-shell|shell|node-options|git|init-module|userconfig|globalconfig)(?:=|$)/;
const npmSettings =
  /^(?:script-shell|shell|node-options|editor|viewer|git|init-module|prefix|userconfig|globalconfig)(?:=|$)/;

/** `words`: the arguments as policies see them, null for one that nobody knows. */
export interface CodeRun {
  readonly program: string;
  readonly words: readonly (string | null)[];
  readonly hasInput: boolean;
  /** The folder that it runs in, and the workspace; null for one that nobody knows. */
  readonly cwd: string | null;
  readonly workspace: string | null;
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
  const runs = running.get(program);
  if (editors.has(program) || (runs !== undefined && some(runs))) found.push(`inline ${program}`);
  if (program === 'git') found.push(...gitCode(words));
  if (/^(?:npm|pnpm|yarn)$/.test(program) && setsRunner(program, words))
    found.push(`${program} config runs a program`);
  found.push(...packagesOf(program, words));
  if (builders.has(program)) found.push(`${isOutside(run) ? 'outside' : 'build'} ${program}`);
  found.push(...runElsewhere(program, words));
  return found;
}

/** `e` and `w` of GNU sed: run a command, write a file. */
const runsInSed = /(?:^|[;}/\d])\s*[ew]\b|\/[gimp\d]*[ew][gimp\d]*(?:\s|;|$)/;

function interpreted({ program, words, hasInput, cwd, workspace }: CodeRun): string[] {
  const at = /^(?:[gmn]?awk|sed)$/.test(program) ? words.indexOf('-f') : -1;
  if (at >= 0) return [scriptName(words[at + 1] ?? null, { cwd, workspace })];
  const base = program.replace(/(?<=[A-Za-z])[\d.]+$/, '');
  const inline = inlineOptions.get(base);
  if (inline === undefined) return [];
  if (words.some((word) => word !== null && inline.test(word))) return [`inline ${program}`];
  const module = words.indexOf('-m');
  if (/^(?:python|pypy)$/.test(base) && module >= 0) return [`build python -m ${words[module + 1] ?? '?'}`];
  const file = words.find((word) => word === null || !word.startsWith('-'));
  if (file !== undefined) return [scriptName(file, { cwd, workspace })];
  return hasInput || words.includes('-') ? [`${program} reads standard input`] : [];
}

function setsRunner(program: string, words: readonly (string | null)[]): boolean {
  const phrase = wordsAfter(program, words);
  const sets = /^(?:set|(?:config|c) (?:set|edit))\b/.test(phrase);
  return words.some((word) => word !== null && (npmOptions.test(word) || (sets && npmSettings.test(word))));
}

function runElsewhere(program: string, words: readonly (string | null)[]): string[] {
  if (!elsewhere.has(program)) return opaque.has(program) ? [`inline ${program}`] : [];
  const phrase = wordsAfter(program, words);
  if (staysHere.get(program)?.test(phrase) === true) return [];
  if (!containers.has(program)) return [`elsewhere ${program}`];
  const short = phrase.replace(
    /^compose (?:(?:-[fp]|--(?:file|project-name|profile|env-file|project-directory)) \S+ |-\S+ )*/,
    'compose ',
  );
  if (containerReads.test(short)) return [];
  const isBuild = containerBuilds.test(short) && !removesVolumes.test(short);
  return [`${isBuild ? 'build' : 'elsewhere'} ${program}`];
}

/** Settings of git that name a program. */
const gitRunner =
  /^(?:alias\.|core\.(?:hookspath|pager|editor|sshcommand|fsmonitor|gitproxy|askpass)|credential\.|diff\.external|sequence\.editor|filter\.|pager\.|gpg\.(?:.*\.)?program|init\.templatedir|include(?:if)?\.|.*\.(?:cmd|command|textconv|driver|vcs|uploadpack|receivepack))/i;
/** Settings by which a plain `git push` overwrites or deletes. */
const gitPushes = /^remote\..*\.(?:push|mirror)(?:=|$)/i;

/** Words after a verb by which git runs a program. */
const gitVerbs: ReadonlyMap<string, RegExp> = new Map([
  ['submodule', /^foreach$/],
  ['bisect', /^run$/],
  ['rebase', /^(?:-[a-z]*x|--ex)/],
  ['difftool', /^(?:-[a-z]*x|--ext)/],
  ['grep', /^(?:-O|--open)/],
  ['filter-branch', /^/],
  ['for-each-repo', /^/],
  ['clone', /^-u/],
  ['fetch-pack', /^--exec/],
  ['archive', /^--exec/],
  ['push', /^--exec/],
  ['ls-remote', /^--exec/],
]);

/** Returns the names of the code. `words`: null for one that nobody knows. */
function gitCode(words: readonly (string | null)[]): string[] {
  const found: string[] = [];
  const some = (test: RegExp): boolean => words.some((word) => word !== null && test.test(word));
  const option = words.findIndex((word) => word === '-c' || word === '--config-env');
  if (option >= 0 && gitRunner.test(words[option + 1] ?? '')) found.push('git -c runs a program');
  else if (some(gitRunner)) found.push('git config runs a program');
  const verb = verbOf('git', words);
  const after = verb === null ? undefined : gitVerbs.get(verb);
  if (some(/^(?:--upload-pack|--receive-pack|ext::|--exec-path=)/) || (after !== undefined && some(after)))
    found.push('git runs a program');
  const isSetting = verb === 'config' || option >= 0;
  if (isSetting && some(gitPushes)) found.push('git config forces pushes');
  return found;
}

/** Where a command runs, as far as it is known. */
type RunPlace = Pick<CodeRun, 'cwd' | 'workspace'>;

/** Whether a build runs in a folder that is not in the workspace, or that nobody knows. */
function isOutside({ program, words, cwd, workspace }: CodeRun): boolean {
  if (workspace === null) return false;
  let folder = cwd;
  for (const [at, word] of words.entries()) {
    const isTest = testRunners.has(program) && /^(?:[/~]|\.\.(?:\/|$))/.test(word ?? '');
    if (isTest && !isBelow(joined(cwd ?? '/', word ?? ''), workspace)) return true;
    const match = word === null ? null : buildFolder.exec(word);
    if (match === null) continue;
    const given = match[1] ?? words[at + 1];
    if (typeof given !== 'string') return true;
    if (!given.startsWith('/') && cwd === null) return true;
    const named = joined(cwd ?? '/', given);
    if (!isBelow(named, workspace)) folder = named;
  }
  return folder === null || !isBelow(folder, workspace);
}

/** The name of a script: as it is spelled in the workspace, else with its folder. */
export function scriptName(file: string | null, { cwd, workspace }: RunPlace): string {
  if (file === null) return 'script ?';
  if (workspace === null || file.startsWith('~')) return `script ${file}`;
  if (!file.startsWith('/') && cwd === null) return 'script /?';
  const path = joined(cwd ?? '/', file);
  if (!isBelow(path, workspace)) return `script ${path}`;
  return file.startsWith('/') || /(?:^|\/)\.\.\//.test(file)
    ? `script ${path.slice(workspace.length + 1)}`
    : `script ${file}`;
}
