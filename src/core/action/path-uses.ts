/**
 * The paths that a command names, and what it may do with each. A word that names no file costs nothing but a wider view; a file that
 * is missed costs a rule its effect. Proven by `test/core/action/paths.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { Access, ActionCommand, ActionFacts, PathUse } from './shape.ts';
import { archiveUses, awkFiles } from './archive-uses.ts';
import { ownFiles } from './own-files.ts';
import { isBelow, joined, placesOf } from './places.ts';
import { looseWrappers, wrappers } from './shell-wrappers.ts';
import { wordsAfter } from './verbs.ts';

const programs = (access: Access, names: string): [string, Access][] =>
  names.split(' ').map((name) => [name, access]);

/** What programs do with the files that they name. Others may do anything. */
const accessOf: ReadonlyMap<string, Access> = new Map([
  ...programs('delete', 'rm rmdir unlink shred srm trash trash-put wipe mv rename del'),
  ...programs(
    'write',
    'touch truncate tee mkdir install chmod chown chgrp chattr setfacl mkfifo mknod ln patch dd wipefs',
  ),
  ...programs('write', 'fdisk parted mkswap rsync scp cp split csplit sponge zstd unzstd lz4 unlz4 brotli'),
  ...programs(
    'read',
    'cat less more head tail tac nl grep egrep fgrep rg ag ack wc sort uniq cut diff cmp comm file stat ls',
  ),
  ...programs(
    'read',
    'tree du df find fd fdfind xxd od hexdump strings base64 base32 md5sum sha1sum sha256sum shasum awk',
  ),
  ...programs(
    'read',
    'gawk mawk sed jq yq bat source column fold paste join tr rev expand readlink realpath zcat zgrep',
  ),
  ...programs('read', 'view test [ cd pushd'),
]);
/** Their arguments name no files. */
const silent = new Set(
  'echo printf true false : exit export unset kill sleep date whoami uname id pwd'.split(' '),
);
/** Their `-o` names no file. */
const usesNoFile = new Set('ps ssh sftp mount grep egrep set shopt lsof id jq kubectl helm ip'.split(' '));
/** Their first operand is a pattern or a mode. */
const patternFirst = new Set(
  'grep egrep fgrep rg ag ack sed awk gawk mawk jq yq tr chmod chown chgrp'.split(' '),
);
/** They read all operands but the last. */
const copying = new Set('cp rsync scp install ln'.split(' '));
/** They replace the files that they pack or unpack, unless an option keeps them. */
const replacing = new Set(
  'gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma lzip compress uncompress pigz unpigz pbzip2 pxz'.split(' '),
);
const archivers = new Set('tar bsdtar unzip zip 7z 7za 7zz cpio'.split(' '));

/** Options that name what a program writes: the name ends with the value, or with the next word. */
const into = new Map<string, RegExp>([
  ...['cp', 'mv', 'install', 'ln'].map(
    (name) => [name, /^(?:--t[a-z-]*(?:=(.*))?|-[A-Za-z]*?t(.*))$/s] as const,
  ),
  [
    'curl',
    /^(?:--(?:output|output-dir|dump-header|cookie-jar|trace|trace-ascii|stderr)(?:=(.*))?|-[a-zA-Z]*?[oDc](.*))$/s,
  ],
  [
    'wget',
    /^(?:--(?:output-document|output-file|append-output|directory-prefix)(?:=(.*))?|-[a-zA-Z]*?[OPoa](.*))$/s,
  ],
  ['sort', /^(?:--o[a-z]*(?:=(.*))?|-[A-Za-z]*?o(.*))$/s],
  ['git', /^--output(?:-directory)?(?:=(.*))?$/s],
  ['find', /^-(?:fprint0?|fprintf|fls)$/],
  ['tree', /^-o$/],
  ['less', /^(?:--log-file(?:=(.*))?|-[a-zA-Z]*?[oO](.*))$/is],
]);
/** The same of verbs of git. */
const intoOfGit = new Map([
  ['archive', /^-o(.*)$/s],
  ['format-patch', /^-o(.*)$/s],
  ['config', /^(?:-f|--file(?:=(.*))?)$/s],
]);
/** The last of several operands names what they write. */
const writesLast = new Set(['uniq', 'xxd']);

/** Of programs that no table has. */
const anyInto = /^(?:-o|--?out(?:put|file|[_-]?dir)?(?:-(?:file|dir(?:ectory)?))?)(?:=(.*))?$/is;

/** The words of such options; null for one that only the running shell knows. */
function targetsOf({ program, args, verb }: ActionCommand): (string | null)[] {
  const option =
    into.get(program) ?? (accessOf.has(program) || usesNoFile.has(program) ? undefined : anyInto);
  if (option === undefined) return [];
  const more = program === 'git' ? intoOfGit.get(verb ?? '') : undefined;
  return args.flatMap((arg, at) => {
    const match = arg === null ? null : (option.exec(arg) ?? more?.exec(arg) ?? null);
    if (match === null) return [];
    const [, long, short] = match;
    const value = (long ?? short ?? '') === '' ? args[at + 1] : (long ?? short);
    return value === undefined ? [] : [value];
  });
}

/** Returns the paths of a command, each once for each reading. Cost: linear in its words. */
export function pathsOf(command: ActionCommand, facts: ActionFacts): PathUse[] {
  const { program, args, redirects, cwd } = command;
  const place = { cwd, facts };
  const found = redirects.flatMap(({ sign, target }) =>
    pathUses(target, sign.startsWith('<') && sign !== '<>' ? 'read' : 'write', place),
  );
  if (program === '' || silent.has(program)) return found;
  if (archivers.has(program)) {
    for (const { path, access } of archiveUses(command)) found.push(...pathUses(path, access, place));
    return found;
  }
  for (const { path, access } of [...ownFiles(command), ...awkFiles(command)])
    found.push(...pathUses(path, access, place));
  const access = accessBy(command);
  const targets = targetsOf(command);
  found.push(...targets.flatMap((target) => pathUses(target, 'write', place)));
  if (agentPrograms.has(program)) found.push(...agentUses(command, place));
  if (program === 'find' || program === 'fd' || program === 'fdfind') {
    found.push(...findRoots(args, access).flatMap((root) => pathUses(root, access, place)));
    return found;
  }
  if (program === 'git') {
    if (command.verb === 'clean') found.push(...pathUses('.', 'delete', place));
    if (command.verb === 'worktree' && args.includes('remove'))
      found.push(...pathUses(command.operands.at(-1) ?? null, 'delete', place));
    const made = /^(?:worktree add|bundle create)\b/.test(wordsAfter('git', args));
    if (made) found.push(...command.operands.slice(2).flatMap((word) => pathUses(word, 'write', place)));
  }
  found.push(...operandUses(command, access, place));
  // what `mv -t DIR` moves ends where it was; which word is a value of another option, nobody reads here
  if (command.program === 'mv' && targets.length > 0)
    found.push(...pathUses(command.operands.at(-1) ?? null, 'delete', place));
  // an option of a known program may hold a file as well
  if (access !== 'any')
    for (const arg of args)
      if (arg?.startsWith('-') === true)
        for (const text of candidates(arg, 'any')) found.push(...pathUses(text, 'any', place));
  return found;
}

function operandUses(command: ActionCommand, access: Access, place: PathPlace): PathUse[] {
  const { program, operands, flags, verb } = command;
  const words = access === 'any' ? ownWords(command) : operands;
  const isMove = program === 'mv' || program === 'rename';
  let verbs = verb === '' ? 0 : 1;
  let skips =
    patternFirst.has(program) && !flags.some((flag) => flag === '-e' || flag === '-f' || flag === '--regexp');
  const removes = flags.some((flag) => flag !== null && /^--remove-(?:source-)?files$/.test(flag));
  const found: PathUse[] = [];
  for (const [at, word] of words.entries()) {
    if (skips) {
      skips = false;
      continue;
    }
    if (verbs > 0 && word === verb) {
      verbs = 0;
      continue;
    }
    const isLast = at === words.length - 1;
    const writes = isMove || (writesLast.has(program) && !/^(?:0x[\da-f]+|\d+)$/i.test(words[at - 1] ?? ''));
    const does =
      writes && isLast && at > 0 ? 'write' : copying.has(program) && !isLast && !removes ? 'read' : access;
    // an operand that begins with `-` follows `--`
    if (word === null || (access !== 'any' && word.startsWith('-')))
      found.push(...pathUses(word, does, place));
    else for (const text of candidates(word, access)) found.push(...pathUses(text, does, place));
  }
  return found;
}

/** The words of a program without those of another one that it runs: options, each with the next word. */
function ownWords({ program, args }: ActionCommand): readonly (string | null)[] {
  if (!wrappers.has(program) && !looseWrappers.has(program) && !runners.has(program)) return args;
  const isOption = (word: string | null | undefined): boolean => word?.startsWith('-') === true;
  const end = args.findIndex((word, at) => !isOption(word) && !isOption(args[at - 1]));
  return end < 0 ? args : args.slice(0, end);
}
const runners = new Set('xargs watch eval trap su runuser sh bash dash zsh ksh ash mksh rbash'.split(' '));

function accessBy({ program, verb, args, flags }: ActionCommand): Access {
  const has = (test: RegExp): boolean => flags.some((flag) => flag !== null && test.test(flag));
  if (program === 'find') {
    if (args.includes('-delete')) return 'delete';
    return args.some((arg) => arg !== null && /^-(?:fprint0?|fprintf|fls)$/.test(arg)) ? 'write' : 'read';
  }
  if (program === 'git')
    return verb === 'rm' || verb === 'mv' ? 'delete' : verb === 'clone' || verb === 'init' ? 'write' : 'any';
  if (program === 'rsync' && has(/^--(?:delete|remove-source-files)/)) return 'delete';
  if (program === 'yq' && has(/^(?:-i|--inplace)$/)) return 'write';
  if (program === 'sed' && has(/^(?:-i|--in-place)/)) return 'write';
  if (program === 'gawk' && args.includes('inplace')) return 'write';
  const keeps = /^(?:-[a-zA-Z\d]*[cklt][a-zA-Z\d]*|--(?:stdout|to-stdout|keep|list|test))$/;
  if (replacing.has(program)) return args.some((arg) => keeps.test(arg ?? '')) ? 'write' : 'delete';
  if (accessOf.get(program) === 'write' && has(/^--rm$/)) return 'delete';
  if (program.startsWith('mkfs')) return 'write';
  return accessOf.get(program) ?? 'any';
}

/** Clients of agents: a session writes and deletes in its folder, which is the workspace of its own hooks. */
const agentPrograms = new Set('claude codex gemini opencode cursor-agent'.split(' '));

function agentUses({ args, verb }: ActionCommand, place: PathPlace): PathUse[] {
  const startsNone = /^(?:mcp|plugins?|config|login|logout|auth|doctor|update|extensions?|skills?|features)$/;
  const says = args.length === 1 && /^(?:-[vVh]|--version|--help)$/.test(args[0] ?? '');
  if (says || startsNone.test(verb ?? '')) return [];
  const named = args.flatMap((arg, at) => {
    const match = /^(?:--add-dir|--cd|-C|--dir|--include-directories)(?:=(.*))?$/s.exec(arg ?? '');
    return match === null ? [] : [match[1] ?? args[at + 1] ?? null];
  });
  return ['.', ...named].flatMap((folder) =>
    pathUses(folder === null ? null : `${folder}/**/…`, 'delete', place),
  );
}

/** The folders that `find` looks through. With a test, the files in them that pass it. */
function findRoots(args: readonly (string | null)[], access: Access): (string | null)[] {
  const start = args.findIndex(
    (arg) => arg !== null && /^[-(!]/.test(arg) && !/^-(?:[HLP]+|[DO].*)$/.test(arg),
  );
  const roots = args
    .slice(0, start < 0 ? args.length : start)
    .filter((arg) => arg === null || !arg.startsWith('-'));
  const named = roots.length === 0 ? ['.'] : roots;
  if (access !== 'delete') return named;
  const test = args.findIndex((arg) => arg !== null && /^-(?:i?name|i?path|i?wholename)$/.test(arg));
  const isFiltered = args.some(
    (arg) => arg !== null && /^-(?:newer\w*|[acm](?:time|min)|size|empty|i?regex|user|perm)$/.test(arg),
  );
  const below = test >= 0 ? `**/${args[test + 1]?.replace(/^.*\//, '') ?? '*'}` : isFiltered ? '**/…' : null;
  return named.map((root) =>
    root === null || below === null ? root : `${root.replace(/\/$/, '')}/${below}`,
  );
}

const isUrl = (text: string): boolean => /^[a-z][a-z0-9+.-]+:\/\//i.test(text);

/** Texts in a word that may be a path: itself, and what follows `=`, `@`, `:` or the letter of an option. */
function candidates(word: string, access: Access): string[] {
  if (word.length > limits.actionPathChars) return [];
  if (/^file:\/\//i.test(word)) return [word.replace(/^file:\/\/[^/]*/i, '')];
  if (isUrl(word)) return [];
  const found = /^[-@]/.test(word) ? [] : [word];
  if (/^-[A-Za-z][/~.]/.test(word)) found.push(word.slice(2));
  for (const { index } of [...word.matchAll(/[=@:]/g)].slice(0, mostSigns)) {
    const rest = word.slice(index + 1).replace(/^@/, '');
    if (/^[/~.]/.test(rest)) found.push(rest);
  }
  if (access !== 'any') return found;
  return found.filter((text) => /^[~.]|\/|\.(?:env|pem|key|json|ya?ml|toml|sh|rc)$/i.test(text));
}
const mostSigns = 16;

/** Where a path is read from. */
export interface PathPlace {
  readonly cwd: string | null;
  readonly facts: ActionFacts;
}

const hidden = (access: Access): PathUse => ({ path: null, access, places: null });

/** Devices that hold nothing. */
const noFile = /^\/dev\/(?:null|zero|full|stdin|stdout|stderr|tty|u?random|fd\/\d+)$/;

/**
 * Returns the use of one path: as it is spelled, and where its link leads. A text that only a shell or a decoder can read is a
 * path that nobody knows.
 */
export function pathUses(text: string | null, access: Access, { cwd, facts }: PathPlace): PathUse[] {
  if (text === null || text === '') return [hidden(access)];
  if (text === '-' || noFile.test(text)) return [];
  let spelled = text;
  if (/^~(?:\/|$)/.test(text)) {
    if (typeof facts.home !== 'string') return [hidden(access)];
    spelled = facts.home + text.slice(1);
  }
  if (spelled.length > limits.actionPathChars) return [hidden(access)];
  if (spelled.startsWith('~') || /[\p{Cc}`$]|\{.*(?:,|\.\.).*\}|%(?:25)*(?:2[ef]|5c|00)/iu.test(spelled))
    return [hidden(access)];
  if (!spelled.startsWith('/') && cwd === null) return [hidden(access)];
  const slashed = spelled.replaceAll('\\', '/');
  const left = leftFolders(slashed, cwd);
  if (left === null) return [hidden(access)];
  const links = left.filter((folder) => facts.namesLinks === true || isLink(folder, facts));
  return [joined(cwd ?? '/', slashed), ...links].flatMap((path) => usesOf(path, access, facts));
}

const isLink = (path: string, { real }: ActionFacts): boolean =>
  real !== undefined && Object.hasOwn(real, path);

/** A path as it is spelled, and where its link leads. */
function usesOf(path: string, access: Access, facts: ActionFacts): PathUse[] {
  const real = isLink(path, facts) ? facts.real?.[path] : undefined;
  const made = (facts.madeLinks ?? []).flatMap(({ link, target }) =>
    isBelow(path, link) && !(path === link && access === 'delete') ? [target + path.slice(link.length)] : [],
  );
  const paths = [path, ...(real === undefined || real === path ? [] : [real]), ...made];
  // a hook asks for paths alone
  const places = (each: string) => (facts.namesLinks === true ? [] : placesOf(each, facts));
  return paths.map((each) => ({ path: each, access, places: places(each) }));
}

/**
 * The folders that `..` leaves: `a/b` of `a/b/../c`, and the current folder of `../c`. The system resolves a link before `..`, so a
 * link there leads the path elsewhere. Null for more than `limits.actionPathSteps`.
 */
function leftFolders(path: string, cwd: string | null): string[] | null {
  if (!path.includes('..')) return [];
  const found = new Set<string>();
  const kept = path.startsWith('/') ? [] : (cwd ?? '').split('/').slice(1);
  let steps = 0;
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') kept.push(part);
    else if (kept.length > 0) {
      if ((steps += 1) > limits.actionPathSteps) return null;
      found.add(`/${kept.join('/')}`);
      kept.pop();
    }
  }
  return [...found];
}
