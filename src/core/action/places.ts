/** Where a path lies. A path is compared as a text: no file system is asked. Proven by `test/core/action/paths.test.ts`. */
import type { ActionFacts, Place } from './shape.ts';

/** Returns an absolute path without `.`, `..` and empty parts. */
export function joined(folder: string, path: string): string {
  const kept: string[] = [];
  for (const part of (path.startsWith('/') ? path : `${folder}/${path}`).split('/')) {
    if (part === '..') kept.pop();
    else if (part !== '' && part !== '.') kept.push(part);
  }
  return `/${kept.join('/')}`;
}

/** Whether an absolute path is a folder or lies below it. */
export const isBelow = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);

/** Ends a name in a path: `/`, or the end of the path. */
const named = (names: readonly string[]): RegExp => new RegExp(`(?:^|/)(?:${names.join('|')})(?:/|$)`, 'i');

/** Files and folders with keys and passwords. */
const secretNames = named([
  String.raw`\.ssh|\.aws|\.gnupg|\.kube|\.azure|\.docker/config\.json|\.config/(?:gcloud|gh|hub|op|glab-cli)`,
  String.raw`\.netrc|_netrc|\.pgpass|\.my\.cnf|\.npmrc|\.yarnrc\.yml|\.pypirc|\.git-credentials|\.vault-token|\.cargo/credentials(?:\.toml)?`,
  String.raw`\.terraform\.d/credentials[^/]*|\.terraformrc|id_(?:rsa|dsa|ecdsa|ed25519)(?!\.pub)[^/]*`,
  String.raw`\.env(?:\.(?!(?:example|sample|template|dist)(?:/|$))\w+)?|\.envrc|[^/]*\.(?:pem|p12|pfx|jks|keystore|kdbx)`,
  String.raw`credentials\.json|service-account[^/]*\.json|\.password-store|Keychains|Login Data|key4\.db|logins\.json|wallet\.dat`,
  String.raw`\.local/share/keyrings|(?:local|approver|agent|operator)\.key|approver\.sealed`,
]);
const secretPaths =
  /^\/(?:etc\/(?:g?shadow-?|sudoers(?:\.d)?|ssh\/ssh_host[^/]*|krb5\.keytab)|proc\/(?:\d+|self|thread-self)\/(?:environ|mem|maps|fd|root|cwd)|root\/\.ssh|run\/secrets|var\/run\/secrets)(?:\/|$)/;

/** Files that say what agents, shells and gov itself run. */
const controlNames = named([
  String.raw`\.claude(?:/(?:settings[^/]*\.json|hooks|skills|commands|agents|plugins))?|\.claude\.json|\.mcp\.json|managed-settings[^/]*`,
  String.raw`\.codex(?:/(?:config\.toml|hooks\.json|\.env|requirements\.toml|auth\.json|rules))?`,
  String.raw`\.gemini(?:/(?:settings\.json|\.env|extensions))?|\.cursor(?:/(?:hooks\.json|mcp\.json|hooks))?`,
  String.raw`opencode\.jsonc?|\.opencode(?:/plugins?)?|\.config/(?:opencode|gov)|\.gov|\.local/share/gov`,
  String.raw`\.bashrc|\.bash_profile|\.bash_login|\.bash_aliases|\.bash_logout|\.profile|\.zshrc|\.zshenv|\.zprofile|\.zlogin|\.zlogout|\.kshrc`,
  String.raw`\.pam_environment|\.inputrc|\.config/(?:fish|environment\.d|systemd|autostart)|LaunchAgents|LaunchDaemons`,
  String.raw`\.gitconfig|\.config/git|\.git/(?:hooks|config)|plane\.json|crontab|\.ssh/(?:authorized_keys2?|config|rc|environment)`,
]);
const controlPaths =
  /^\/(?:etc\/(?:claude-code|codex|gemini-cli|gov|opencode|cursor|cron[^/]*|ld\.so[^/]*|profile[^/]*|environment|bash\.bashrc|zsh|systemd)|var\/spool\/cron|var\/lib\/gov)(?:\/|$)/;

const systemFolders =
  /^\/(?:(?:etc|usr|bin|sbin|lib\w*|boot|opt|var|root|sys|dev|System|Library|Applications)(?:\/|$)|$)/;
const tempFolders = ['/tmp', '/var/tmp', '/private/tmp', '/var/folders', '/private/var/folders'];

/** Files of a project or the home that editors and tools run later without a question. */
const autorunNames = named([
  String.raw`\.husky|\.githooks|\.pre-commit-config\.ya?ml|\.?lefthook(?:-local)?\.ya?ml|\.envrc|\.devcontainer(?:\.json)?`,
  String.raw`\.vscode/(?:tasks|launch|settings)\.json|\.idea/(?:runConfigurations|watcherTasks\.xml)|\.cargo/config(?:\.toml)?`,
  String.raw`\.vimrc|\.exrc|\.nvim\.lua|\.config/nvim|\.emacs(?:\.d)?|\.tmux\.conf|\.gdbinit|\.pythonrc(?:\.py)?|\.irbrc|\.Rprofile|\.psqlrc|\.sqliterc`,
  String.raw`(?:site|user)customize\.py|\.ipython/profile_default/startup`,
]);
/** Files that agents read as instructions. */
const instructionNames = named([
  String.raw`CLAUDE(?:\.local)?\.md|AGENTS(?:\.override)?\.md|GEMINI\.md|\.cursorrules|\.cursor/rules|\.windsurfrules|\.clinerules`,
  String.raw`\.github/(?:copilot-instructions\.md|instructions)|\.claude/rules`,
]);

/** Names of secrets that a pattern such as `.s*` may match. */
const secretSamples =
  '.ssh .aws .gnupg .kube .azure .netrc .pgpass .npmrc .pypirc .git-credentials .vault-token .env .envrc id_rsa id_ed25519'.split(
    ' ',
  );
const controlSamples =
  '.claude .codex .gemini .cursor .opencode .mcp.json .gov .bashrc .profile .zshrc .zshenv'.split(' ');

/** A path with `*`: the folder before the pattern, and what it may match there. */
interface Pattern {
  readonly folder: string;
  /** It matches everything in its folder. */
  readonly isTotal: boolean;
  /** `*` alone, which names no kind of file. */
  readonly isBare: boolean;
  /** Whether it may match a name in its folder. */
  matches(name: string): boolean;
}

/**
 * Returns the places of an absolute path, which may contain `*`. Reading or deleting a folder takes what lies in it, so a folder
 * has places for the workspace and the home that lie in it. Cost: linear in the path.
 */
export function placesOf(path: string, { workspace, home }: ActionFacts): Place[] {
  const pattern = patternOf(path);
  const folder = pattern?.folder ?? path;
  const places: Place[] = [];
  const add = (place: Place, isIn: boolean): void => {
    if (isIn) places.push(place);
  };
  const isIn = (place: string | null | undefined): boolean =>
    typeof place === 'string' && isBelow(folder, place);
  const isAbove = (place: string | null | undefined): boolean =>
    typeof place === 'string' && isBelow(place, folder) && (pattern === null || holds(pattern, place));
  const mayBe = (name: string): boolean => pattern !== null && !pattern.isBare && pattern.matches(name);
  const isTemp = tempFolders.some((each) => isBelow(folder, each));
  add('workspace', isIn(workspace));
  add('temp', isTemp);
  add('home', isIn(home));
  add('system', systemFolders.test(folder) && !isTemp);
  add('secret', isSecret(path) || secretSamples.some(mayBe));
  add('control', isControl(path) || controlSamples.some(mayBe));
  add('autorun', autorunNames.test(path));
  add('instructions', instructionNames.test(path));
  add('above-workspace', isAbove(workspace));
  add('above-home', isAbove(home));
  return places.length === 0 ? ['other'] : places;
}

/** Whether what a pattern matches may contain a folder. */
function holds({ folder, isTotal, matches }: Pattern, place: string): boolean {
  if (isTotal) return true;
  const [name = ''] = place.slice(folder === '/' ? 1 : folder.length + 1).split('/', 1);
  return name !== '' && matches(name);
}

/** More `*` in one name match everything here, which keeps the cost linear. */
const mostStars = 2;

function patternOf(path: string): Pattern | null {
  const star = path.indexOf('*');
  if (star < 0) return null;
  const from = path.lastIndexOf('/', star);
  const [name = '', ...below] = path.slice(from + 1).split('/');
  // the reader of a line keeps the end of `[abc]`
  const plain = name.replace(/\*[^*\]]*\]/g, '*').replace(/\*+/g, '*');
  const parts = plain.split('*');
  const isAny = (each: string): boolean =>
    /^(?:\.?\*+|\*+\.\*+)$/.test(each) || each.split('*').length - 1 > 2 * mostStars;
  const text = parts.map((each) => each.replace(/[^\w]/g, String.raw`\$&`)).join('.*');
  const names = parts.length - 1 > mostStars ? /^/ : new RegExp(`^${text}$`, 'i');
  return {
    folder: path.slice(0, from) || '/',
    isTotal: isAny(name) && below.every(isAny),
    // a shell's pattern matches a hidden file only if it begins with a dot
    isBare: plain === '*',
    matches: (each) =>
      !(plain.startsWith('*') && each.startsWith('.')) && each.length <= 255 && names.test(each),
  };
}

const isSecret = (path: string): boolean => secretNames.test(path) || secretPaths.test(path);
const isControl = (path: string): boolean => controlNames.test(path) || controlPaths.test(path);
