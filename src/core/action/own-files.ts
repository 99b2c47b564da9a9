/**
 * Files that a command uses and does not name: `gh auth token` prints what gh keeps in the home, and `npm config set` changes
 * `~/.npmrc`. Proven by `test/core/action/paths.test.ts`.
 */
import type { Access, ActionCommand } from './shape.ts';
import { wordsAfter } from './verbs.ts';

interface OwnFile {
  readonly access: Access;
  /** Matches the words of the command from its verb on. */
  readonly words: RegExp;
  /** `~/…` is in the home. */
  readonly path: string;
}

const reads = (words: RegExp, path: string): OwnFile => ({ access: 'read', words, path });
const writes = (words: RegExp, path: string): OwnFile => ({ access: 'write', words, path });

const npmFiles = [
  reads(/^token\b|^(?:config|c) (?:get\b.*(?:auth|password)|ls|list)/i, '~/.npmrc'),
  writes(/^(?:(?:config|c) (?:set|delete|rm|edit)|set)\b|^(?:adduser|login|logout)\b/, '~/.npmrc'),
];
const unitVerbs = '(?:enable|disable|mask|unmask|link|edit|revert|set-property|set-default|add-wants|preset)';
const unitFiles = [
  writes(new RegExp(`^(?=.*--user\\b).*\\b${unitVerbs}\\b`), '~/.config/systemd/user'),
  writes(new RegExp(`\\b${unitVerbs}\\b`), '/etc/systemd/system'),
];

const files: ReadonlyMap<string, readonly OwnFile[]> = new Map([
  ['gh', [reads(/^auth (?:token|status\b.*(?:-t\b|--show-token))/, '~/.config/gh/hosts.yml')]],
  [
    'glab',
    [
      reads(
        /^auth (?:token|status\b.*(?:-t\b|--show-token))|^config get\b.*token/,
        '~/.config/glab-cli/config.yml',
      ),
    ],
  ],
  ['git', [reads(/^credential(?:-[\w-]+)? (?:fill|get)\b|^credential-\w+\b.* get\b/, '~/.git-credentials')]],
  [
    'aws',
    [
      reads(
        /^(?:configure (?:get|export-credentials)|sts (?:get-session-token|get-federation-token|assume-role)|ecr(?:-public)? get-login-password|sso )/,
        '~/.aws/credentials',
      ),
      writes(/^configure(?: set| import|$)/, '~/.aws/credentials'),
    ],
  ],
  [
    'gcloud',
    [reads(/^auth(?: application-default)? print-|^config config-helper/, '~/.config/gcloud/credentials.db')],
  ],
  ['az', [reads(/^account get-access-token/, '~/.azure/msal_token_cache.json')]],
  ['kubectl', [reads(/^config view\b.*--raw|^create token\b/, '~/.kube/config')]],
  ['npm', npmFiles],
  ['pnpm', npmFiles],
  ['yarn', [writes(/^config set\b/, '~/.yarnrc.yml')]],
  ['pip', [writes(/^config (?:set|unset|edit)/, '~/.config/pip/pip.conf')]],
  ['go', [writes(/^env -\w*[wu]/, '~/.config/go/env')]],
  ['gpg', [reads(/--export-secret|--decrypt|(?:^| )-\w*d/, '~/.gnupg')]],
  ['heroku', [reads(/^auth:token/, '~/.netrc')]],
  ['docker-credential-desktop', [reads(/^get|^list/, '~/.docker/config.json')]],
  ['crontab', [writes(/^(?!(?:-u \S+ )?-l$)/, '/var/spool/cron')]],
  ['systemctl', unitFiles],
  ['claude', [writes(/^(?:mcp (?!list|get)|plugins? (?!list)|config (?!get|list|ls))/, '~/.claude.json')]],
  ['codex', [writes(/^(?:mcp (?!list|get)|plugins? (?!list)|features (?!list))/, '~/.codex/config.toml')]],
  ['gemini', [writes(/^(?:mcp|extensions?|skills?|hooks?) (?!list)/, '~/.gemini/settings.json')]],
  ['opencode', [writes(/^(?:mcp (?!list)|plugin|agent create)/, '~/.config/opencode')]],
  ['cursor-agent', [writes(/^mcp (?!list)/, '~/.cursor/mcp.json')]],
  ['chsh', [writes(/^/, '/etc/passwd')]],
]);

/** Returns the first that its words name of each kind of use. */
export function ownFiles({
  program,
  args,
}: ActionCommand): readonly { readonly path: string; readonly access: Access }[] {
  const known = files.get(program);
  if (known === undefined) return [];
  // `--user` may precede the verb
  const words = program === 'systemctl' ? args.join(' ') : wordsAfter(program, args);
  const found = known.find((each) => each.words.test(words));
  return found === undefined ? [] : [found];
}

/** The variables of the environment, as the file that shows them. */
export const environmentFile = '/proc/self/environ';

/** Names of variables that hold keys and passwords. */
const secretName =
  /KEY|TOK|SEC|PASS|PWD|CRED|AUTH|PRIV|CERT|SESS|COOK|API|JWT|SALT|DSN|CONN|_URL|_URI|AWS|AZURE|GCP|GOOGLE|GITHUB|GITLAB|GH_|NPM_|SLACK|STRIPE|OPENAI|ANTHROPIC/i;

/** Whether a command prints the variables of its environment, or one that may hold a key. */
export function readsEnvironment(program: string, args: readonly (string | null)[]): boolean {
  const some = (test: RegExp): boolean => args.some((arg) => arg !== null && test.test(arg));
  switch (program) {
    case 'env': {
      const rest = args.filter((_, at) => !/^(?:-[uC]|--unset|--chdir)$/.test(args[at - 1] ?? ''));
      return rest.every((arg) => arg !== null && /^-|=/.test(arg));
    }
    case 'printenv': {
      const names = args.filter((arg) => arg?.startsWith('-') !== true);
      return names.length === 0 || names.some((name) => name === null || secretName.test(name));
    }
    case 'set':
    case 'export':
    case 'declare':
    case 'typeset':
      return args.length === 0 || some(/^-[A-Za-z]*p/);
    case 'jq':
    case 'yq':
    case 'gojq':
      return some(/\benv\b|\$ENV\b/);
    case 'awk':
    case 'gawk':
    case 'mawk':
    case 'nawk':
      return some(/\bENVIRON\b/);
    case 'ps':
      return some(/^[a-z]*e[a-z]*$/);
    case 'systemctl':
      return some(/^show-environment$/);
    default:
      return false;
  }
}

/** Whether `grep` keeps lines of plain names alone, none of which may hold a key: `env | grep NODE`. */
export function narrowsEnvironment(program: string, args: readonly (string | null)[]): boolean {
  if (!/^[ef]?grep$/.test(program)) return false;
  const [name, ...others] = args.filter((arg) => arg?.startsWith('-') !== true);
  const options = args.filter((arg) => arg?.startsWith('-') === true);
  if (typeof name !== 'string' || others.length > 0) return false;
  if (!options.every((option) => /^-[EFioqcnwx]+$/.test(option ?? ''))) return false;
  return name.split('|').every((each) => /^\^?\w{3,64}=?$/.test(each) && !secretName.test(each));
}
