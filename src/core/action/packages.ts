/**
 * The packages of other people that a command installs or runs by name: `package left-pad` of `npx left-pad` and
 * `npm install left-pad@1`. What a lock file or a list of requirements names is not among them.
 * Proven by `test/core/action/hidden-code.test.ts`.
 */
import { verbOf } from './verbs.ts';

interface Installer {
  /** The verbs after which words name packages; absent: all words do. */
  readonly verbs?: RegExp;
  /** Only the first word names one; the others are for it. */
  readonly isRun?: true;
  /** Options with a value that names no package. */
  readonly valued: RegExp;
}

const none = /^$/;
const node = /^(?:-[wC]|--(?:workspace|registry|prefix|loglevel|tag|omit|include|filter|dir|cwd))$/;
const python =
  /^(?:-[rctifd]|--(?:requirement|constraint|target|index-url|extra-index-url|find-links|prefix|root|python|platform|group|extra|index))$/;

const installers: ReadonlyMap<string, Installer> = new Map([
  ['npm', { verbs: /^(?:i|in|ins|isntall|install|add|exec|x|init|create)$/, valued: node }],
  ['pnpm', { verbs: /^(?:i|install|add|dlx|create)$/, valued: node }],
  ['yarn', { verbs: /^(?:add|dlx|create)$/, valued: node }],
  ['bun', { verbs: /^(?:i|install|add|x|create)$/, valued: node }],
  ['npx', { isRun: true, valued: none }],
  ['pnpx', { isRun: true, valued: none }],
  ['bunx', { isRun: true, valued: none }],
  ['uvx', { isRun: true, valued: /^(?:--with|--python)$/ }],
  ['pip', { verbs: /^install$/, valued: python }],
  ['pip3', { verbs: /^install$/, valued: python }],
  ['pipx', { verbs: /^(?:install|run)$/, valued: python }],
  ['uv', { verbs: /^add$/, valued: python }],
  ['poetry', { verbs: /^add$/, valued: python }],
  ['pdm', { verbs: /^add$/, valued: python }],
  [
    'cargo',
    { verbs: /^(?:add|install|binstall)$/, valued: /^--(?:path|features|package|version|root)$|^-[pF]$/ },
  ],
  ['go', { verbs: /^(?:get|install|run)$/, valued: /^-(?:tags|ldflags|mod|o|C)$/ }],
  ['gem', { verbs: /^install$/, valued: /^-[viP]$/ }],
  ['brew', { verbs: /^install$/, valued: none }],
  ['apt', { verbs: /^install$/, valued: /^-[oct]$/ }],
  ['apt-get', { verbs: /^install$/, valued: /^-[oct]$/ }],
]);
/** Verbs of `installers` that run the package with the other words. */
const runningVerbs = /^(?:exec|x|dlx|init|create|run)$/;

/** Returns `package NAME` for each, without its version; `package ?` for one that nobody knows. */
export function packagesOf(program: string, words: readonly (string | null)[]): string[] {
  if (/^python[\d.]*$/.test(program) && words[0] === '-m' && words[1] === 'pip')
    return packagesOf('pip', words.slice(2));
  if (program === 'uv' && words[0] === 'pip') return packagesOf('pip', words.slice(1));
  const installer = installers.get(program);
  if (installer === undefined) return [];
  const { verbs, valued } = installer;
  let rest = words;
  let isRun = installer.isRun === true;
  if (verbs !== undefined) {
    const verb = verbOf(program, words);
    if (verb === null || !verbs.test(verb)) return [];
    rest = words.slice(words.indexOf(verb) + 1);
    isRun = runningVerbs.test(verb);
  }
  const found: string[] = [];
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] ?? null;
    if (word !== null && valued.test(word)) at += 1;
    else if (word === null) found.push('package ?');
    else if (/^(?:-p|--package|--from|--spec|-e|--editable)$/.test(word))
      found.push(...named(rest[(at += 1)]));
    else if (word.startsWith('--package=') || word.startsWith('--from='))
      found.push(...named(word.replace(/^[^=]*=/, '')));
    else if (!word.startsWith('-')) {
      found.push(...named(word));
      if (isRun) break;
    }
  }
  return [...new Set(found)];
}

/** A file of this machine is no package. */
function named(word: string | null | undefined): string[] {
  if (typeof word !== 'string') return ['package ?'];
  if (/^(?:[./~]|file:)|\.(?:go|whl|tar\.gz|tgz)$/.test(word) && !/^\w+:\/\//.test(word)) return [];
  return [`package ${word.replace(/(?<=.)(?:@[^/]*|[<>=!~;[* ].*)$/, '')}`];
}
