/**
 * The known ways around the hooks of a client, and what closes each: data for `gov agents install`, which writes the closing
 * settings, for `gov agents doctor`, which names the missing ones, and for the drill of bypasses. Measured with the real
 * client where `measured` names its version, else from its documentation. Tested by `test/cli/agents/open-settings.test.ts`.
 */
import { isDeepStrictEqual } from 'node:util';
import type { AgentClient } from '../../core/agents/clients.ts';
import type { Scope } from './setup/edit.ts';
import { valueAt, type SettingMember, type Settings } from './setup/settings-json.ts';

export interface OpenSetting {
  /** Begins with the client. */
  readonly id: string;
  readonly client: AgentClient;
  /** What can be done while it is open. */
  readonly title: string;
  /** Where it is closed; null: no setting of the client closes it. */
  readonly scope: Scope | null;
  /** Members of the settings file of that scope, which `gov agents install` writes. All of them close it. */
  readonly members: readonly SettingMember[];
  /** The flag of `gov agents install` that writes them; null: they are always written. */
  readonly flag: string | null;
  /** What closes it, or what holds where no setting does. */
  readonly closes: string;
  /** Members of settings of home and project that make use of it. In `.env` files, a member is a variable. */
  readonly usedBy: readonly (readonly string[])[];
  /** Where no setting closes it: whether its use is a fault that can be removed. */
  readonly removable: boolean;
  /** The version of the client with which it was measured open and closed; null: documented. */
  readonly measured: string | null;
}

const managed = 'sudo gov agents install --scope managed';
const below = 'a sandbox below the client holds it: gov hooks cannot';

type Row = Pick<OpenSetting, 'title'> & Partial<Omit<OpenSetting, 'client' | 'id' | 'title'>>;

const rowsOf = (
  client: AgentClient,
  measured: string | null,
  rows: Readonly<Record<string, Row>>,
): OpenSetting[] =>
  Object.entries(rows).map(([id, row]) => ({
    id: `${client}.${id}`,
    client,
    scope: 'managed',
    members: [],
    flag: null,
    closes: row.scope === null ? below : [managed, ...(row.flag === undefined ? [] : [row.flag])].join(' '),
    usedBy: (row.members ?? []).map(({ path }) => path),
    removable: false,
    measured,
    ...row,
  }));

/** Members that are empty texts: the administrator's value wins, and an empty one counts as none. */
const emptied = (...names: readonly string[]): SettingMember[] =>
  names.map((name) => ({ path: name.split('.'), value: '', keeps: true }));

/** Variables that run code in each shell or program. */
const startVariables = ['BASH_ENV', 'ENV', 'LD_PRELOAD', 'LD_LIBRARY_PATH', 'LD_AUDIT', 'SHELL', 'PATH'];

/** With --lock-path, the folders of programs. */
export const lockedPathMember = ['env', 'PATH'];

export const openSettings: readonly OpenSetting[] = [
  ...rowsOf('claude-code', '2.1.332', {
    'hooks-off': {
      title: 'a project or a user switches the hooks of a user off',
      usedBy: [['disableAllHooks']],
    },
    'other-hooks': {
      title: 'hooks of a user or a project run too, and can change the arguments after the decision',
      members: [{ path: ['allowManagedHooksOnly'], value: true }],
      usedBy: [['hooks']],
    },
    'skill-shell': {
      title: 'a skill or a command runs shell lines while it loads, without a call',
      members: [{ path: ['disableSkillShellExecution'], value: true }],
      usedBy: [],
    },
    'shell-prefix': {
      title: 'CLAUDE_CODE_SHELL_PREFIX puts a program before the hook, which can answer for it',
      members: emptied('env.CLAUDE_CODE_SHELL_PREFIX'),
    },
    'start-files': {
      title: 'BASH_ENV, ENV, CLAUDE_ENV_FILE or another SHELL run a file behind an allowed call',
      members: emptied(
        'env.BASH_ENV',
        'env.ENV',
        'env.SHELL',
        'env.CLAUDE_CODE_SHELL',
        'env.CLAUDE_ENV_FILE',
      ),
    },
    preload: {
      title: 'LD_PRELOAD and its like load code into the programs of an allowed call',
      members: emptied('env.LD_PRELOAD', 'env.LD_LIBRARY_PATH', 'env.LD_AUDIT'),
    },
    path: {
      title: 'PATH of a project puts another program behind an allowed call',
      flag: '--lock-path',
      usedBy: [lockedPathMember],
    },
    helpers: {
      title: 'helpers for credentials in settings of a home or a project run programs without a call',
      members: emptied(
        'apiKeyHelper',
        'proxyAuthHelper',
        'awsAuthRefresh',
        'awsCredentialExport',
        'gcpAuthRefresh',
        'otelHeadersHelper',
      ),
    },
    'mcp-servers': {
      title: 'an MCP server of a home or a project starts a program, and runs calls past gov mcp proxy',
      members: [
        { path: ['allowManagedMcpServersOnly'], value: true },
        { path: ['allowedMcpServers'], value: [], keeps: true },
      ],
      usedBy: [['mcpServers']],
    },
    variables: {
      title:
        'variables of other programs, such as NODE_OPTIONS and GIT_SSH_COMMAND, change what an allowed call runs',
      scope: null,
      usedBy: [
        ['env', 'NODE_OPTIONS'],
        ['env', 'GIT_SSH_COMMAND'],
      ],
    },
    'plugin-flags': {
      title: 'a plugin of --plugin-dir starts a language server after an edit, without a call',
      members: [{ path: ['disableSideloadFlags'], value: true }],
      usedBy: [],
    },
    instructions: {
      title:
        'CLAUDE.md, AGENTS.md and rules bring files of the project, and files that they link to, to the model without a call',
      scope: null,
    },
    starter: {
      title: 'who starts the client sets its variables, such as LD_PRELOAD, before it reads settings',
      scope: null,
    },
  }),
  ...rowsOf('codex', '0.171.0', {
    'hooks-off': {
      title: 'a user switches hooks off (features.hooks = false)',
      members: [{ path: ['features', 'hooks'], value: true }],
    },
    'other-hooks': {
      title: 'hooks of a user or a project run too',
      members: [{ path: ['allow_managed_hooks_only'], value: true }],
      usedBy: [],
    },
    terminals: {
      title: 'no hook sees what Codex types into a terminal',
      members: [{ path: ['features', 'unified_exec_tty'], value: false }],
      usedBy: [],
    },
    'env-file': {
      title: 'BASH_ENV in ~/.codex/.env runs a file in the shell of each hook, which can answer for it',
      scope: null,
      usedBy: startVariables.map((name) => ['.env', name]),
      removable: true,
    },
    notify: {
      title: 'notify of ~/.codex/config.toml runs a program after each turn, without a call',
      members: [{ path: ['notify'], value: [], keeps: true }],
    },
    'mcp-servers': {
      title: 'an MCP server of a home or a project starts a program, and runs calls past gov mcp proxy',
      members: [{ path: ['mcp_servers'], value: {}, keeps: true }],
    },
  }),
  ...rowsOf('gemini', '0.61.0', {
    'hooks-off': {
      title: 'a project switches hooks off (hooksConfig.enabled)',
      members: [{ path: ['hooksConfig', 'enabled'], value: true }],
    },
    'hook-named': {
      title: 'a project in a trusted folder names the hook in hooksConfig.disabled',
      scope: null,
      usedBy: [['hooksConfig', 'disabled']],
      removable: true,
    },
    'env-file': {
      title: 'variables in .env of a trusted folder, such as BASH_ENV, change the shell of the hook',
      scope: null,
      usedBy: startVariables.map((name) => ['.env', name]),
      removable: true,
    },
    untrusted: {
      title: 'no hook runs in a folder that is not trusted, and none for an editor (gemini --acp)',
      scope: null,
    },
  }),
  ...rowsOf('opencode', '1.18.33', {
    plugins: {
      title: 'a plugin of a user or a project changes the arguments after the decision',
      scope: null,
      closes: `${below}; gov runs coverage compares the arguments`,
      measured: null,
    },
    pure: { title: 'opencode --pure runs no plugins', scope: null },
  }),
  ...rowsOf('cursor', null, {
    'user-hooks': { title: 'a user changes their own hooks' },
  }),
];

/** The settings that an installation writes in a scope, apart from those that need a flag. */
export const closingMembers = (client: AgentClient, scope: Scope): readonly SettingMember[] =>
  openSettings
    .filter((each) => each.client === client && each.scope === scope && each.flag === null)
    .flatMap(({ members }) => members);

/** Whether the settings of the scope close it. A value of the administrator's own counts where it `keeps`. */
export function isClosedBy(open: OpenSetting, settings: Settings): boolean {
  if (open.flag !== null && valueAt(settings, lockedPathMember) === undefined) return false;
  return open.members.every(({ path, value, keeps }) => {
    const found = valueAt(settings, path);
    return keeps === true ? found !== undefined : isDeepStrictEqual(found, value);
  });
}
