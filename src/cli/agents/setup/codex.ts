/**
 * Codex: hooks in `config.toml` of the user, or in `requirements.toml` of the administrator. Measured on 0.169: it skips
 * hooks of a user that are not trusted, without a word; it runs those of `requirements.toml` always. A hook that is missing,
 * or that ends with 2 and no text, lets the call run: the hook line takes care of both. Measured on 0.171: it runs no hook
 * for `write_stdin`, which types into a program that runs in a terminal, such as a shell; so terminals are switched off.
 * gov's lines are between two marks. Tested by `test/cli/agents/install.test.ts`.
 */
import { homeOf } from '../../context/config.ts';
import { join } from 'node:path';
import { parse, stringify, TomlError } from 'smol-toml';
import { isObject } from '../../../core/json/object.ts';
import type { Settings } from './settings-json.ts';
import {
  cannotEdit,
  hookLine,
  hookTimeout,
  isOwnLine,
  type Edit,
  type SetupTarget,
  type Setup,
  type HookSettings,
} from './edit.ts';

const opening = '# >>> gov agents install; gov agents uninstall removes these lines\n';
/** TOML has no end of a table: a setting after the block would belong to the last table in it. */
const note = '# put settings of your own above these lines, or below them under a [table] of their own\n';
const closing = '# <<< gov agents install\n';
/** Editors may end the lines in another way. */
const anyEnd = (line: string): string => line.replace('\n', '\\r?\\n');
const block = new RegExp(`(?:\\r?\\n)?${anyEnd(opening)}[\\s\\S]*?${anyEnd(closing)}`, 'g');
const marked = (lines: string): string =>
  `${opening}${lines.trimEnd()}\n${lines.includes('[') ? note : ''}${closing}`;

/** Without danger-full-access. As documented: https://developers.openai.com/codex/enterprise/managed-configuration */
const sandboxModes = 'allowed_sandbox_modes = ["read-only", "workspace-write"]\n';

const noTerminals = 'unified_exec_tty = false\n';

const reports = ['SessionStart', 'UserPromptSubmit', 'PostToolUse', 'Stop'];

const codexHome = ({ env }: Pick<SetupTarget, 'env'>): string =>
  env['CODEX_HOME'] || join(homeOf(env), '.codex');

function pathOf(place: SetupTarget): string {
  return place.scope === 'user'
    ? join(codexHome(place), 'config.toml')
    : join(place.etc, 'codex', 'requirements.toml');
}

/** A byte order mark, and the text after it. */
const withoutMark = (text: string): [mark: string, text: string] =>
  text.startsWith('\ufeff') ? ['\ufeff', text.slice(1)] : ['', text];

/** Returns the tables of a file. Errors: exit 2. */
function read(path: string, text: string): Record<string, unknown> {
  try {
    return parse(withoutMark(text)[1]);
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    throw cannotEdit(path, `TOML, got an error in line ${cause.line}`);
  }
}

const table = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

/** Hashes of hooks that the user has trusted, by the names that Codex gives them. */
export type TrustedHooks = Readonly<Record<string, { readonly trusted_hash: string }>>;

function edit(place: SetupTarget, wanted: HookSettings): Edit {
  const path = pathOf(place);
  const isManaged = place.scope === 'managed';
  return {
    path,
    add(before, current) {
      const [mark, text] = withoutMark(before ?? '');
      const { head, tail } = isManaged ? managed(path, text, wanted) : ofUser(path, text, wanted);
      const trusted =
        current?.includes(opening) === true
          ? ownTrust(table(table(read(path, current))['hooks'])['state'], text, path)
          : {};
      const state = Object.keys(trusted).length === 0 ? '' : stringify({ hooks: { state: trusted } });
      const after = `${mark}${head === '' ? '' : marked(head)}${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${marked(`${tail}${state}`)}`;
      try {
        read(path, after);
      } catch {
        throw cannotEdit(path, 'hooks as [[hooks.EVENT]] tables, to which gov can add');
      }
      return after;
    },
    remove(now, original) {
      read(path, now);
      const left = now.replace(block, (found) => /^\r?\n/.exec(found)?.[0] ?? '');
      if (left === now) return now;
      if (left.trim() === '' && (original ?? null) === null) return null;
      // the block needed a line of its own
      const isOpen = original?.endsWith('\n') === false && now.endsWith(closing);
      return isOpen ? left.replace(/\n$/, '') : left;
    },
    look(now) {
      const settings = read(path, now ?? '');
      const lines = Object.values(table(settings['hooks'])['PreToolUse'] ?? {})
        .flatMap(hookLines)
        .filter(isOwnLine);
      return { lines, holes: holesIn(settings, { path, isManaged }), settings };
    },
  };
}

/** A user's file can lack what the administrator's closes. */
function holesIn(settings: Settings, { path, isManaged }: { path: string; isManaged: boolean }): string[] {
  if (isManaged) return [];
  const features = table(settings['features']);
  return [
    ...(features['hooks'] === false ? [`${path}: features.hooks is false`] : []),
    ...(features['unified_exec_tty'] === false
      ? []
      : [`${path}: features.unified_exec_tty is not false: no hook sees what Codex types into a terminal`]),
  ];
}

const hookLines = (group: unknown): unknown[] => {
  const hooks = table(group)['hooks'];
  return Array.isArray(hooks) ? hooks.map((hook) => table(hook)['command']) : [];
};

/** The trust entries in our block: what the file has beyond the user's text. */
function ownTrust(state: unknown, text: string, path: string): TrustedHooks {
  const users = table(table(read(path, text)['hooks'])['state']);
  return Object.fromEntries(Object.entries(table(state)).filter(([key]) => !(key in users))) as TrustedHooks;
}

function hookTables(wanted: HookSettings): string {
  const of = (event: string, gates: boolean) => ({
    [event]: [
      {
        hooks: [
          { type: 'command', command: hookLine('codex', wanted, gates), timeout: hookTimeout(wanted, gates) },
        ],
      },
    ],
  });
  const tables = [of('PreToolUse', true), ...reports.map((event) => of(event, false))];
  return `${stringify({ hooks: Object.assign({}, ...tables) })}\n`;
}

/** Codex starts no MCP server but those of this list, by name and program (measured: 0.171.0). */
function allowedServers({ wrapped }: HookSettings): string {
  const servers = wrapped
    .filter(({ client }) => client === 'codex')
    .map(({ name, words: [command = ''] }) => [name, { identity: { command } }]);
  return `${servers.length === 0 ? '[mcp_servers]' : stringify({ mcp_servers: Object.fromEntries(servers) })}\n`;
}

/**
 * The administrator's defaults, which win over the user's file and over `-c` (measured: 0.171.0): no program is started
 * after a turn. gov's line is at the top, because a setting after a table would belong to that table.
 */
function defaultsEdit({ etc }: SetupTarget): Edit {
  const path = join(etc, 'codex', 'managed_config.toml');
  return {
    path,
    add(before) {
      const [mark, text] = withoutMark(before ?? '');
      return `${mark}${'notify' in read(path, text) ? '' : marked('notify = []\n')}${text}`;
    },
    remove(now, original) {
      read(path, now);
      const left = now.replace(block, '');
      return left === '' && (original ?? null) === null ? null : left;
    },
    look: (now) => ({ lines: [], holes: [], settings: read(path, now ?? '') }),
  };
}

function managed(path: string, text: string, wanted: HookSettings): { head: string; tail: string } {
  const settings = read(path, text);
  const only = settings['allow_managed_hooks_only'];
  if (only === false) throw cannotEdit(path, 'allow_managed_hooks_only to be true or absent, got false');
  const features = 'features' in settings ? '' : `[features]\nhooks = true\n${noTerminals}`;
  const modes = wanted.sandbox === null || 'allowed_sandbox_modes' in settings ? '' : sandboxModes;
  return {
    head: `${only === true ? '' : 'allow_managed_hooks_only = true\n'}${modes}`,
    tail: `${features}${'mcp_servers' in settings ? '' : allowedServers(wanted)}${hookTables(wanted)}`,
  };
}

function ofUser(path: string, text: string, wanted: HookSettings): { head: string; tail: string } {
  const { telemetry } = wanted;
  const settings = read(path, text);
  const tables = `${'features' in settings ? '' : `[features]\n${noTerminals}\n`}${hookTables(wanted)}`;
  // an exporter of the user's own stays
  if (telemetry === null || 'otel' in settings) return { head: '', tail: tables };
  const exporter = (signal: string): string =>
    `{ otlp-http = { endpoint = ${JSON.stringify(`${telemetry.origin}/v1/${signal}`)}, protocol = "binary", headers = { Authorization = ${JSON.stringify(`Bearer ${telemetry.key}`)} } } }`;
  const otel = `[otel]\nexporter = ${exporter('logs')}\ntrace_exporter = ${exporter('traces')}\n`;
  return { head: '', tail: `${tables}${otel}` };
}

/**
 * Returns the text with trust of our hooks in our block, in place of what it says of these hooks now: another version of
 * gov has another hash, and a table that is there twice would stop Codex. Errors: exit 2 for entries in another form.
 */
export function withTrust(path: string, text: string, trusted: TrustedHooks): string {
  const rest = text.replace(stateTable, (found, key: string) => (key in trusted ? '' : found));
  const at = rest.lastIndexOf(`${note}${closing}`);
  const after = `${rest.slice(0, at)}${stringify({ hooks: { state: trusted } }).trimEnd()}\n${rest.slice(at)}`;
  try {
    read(path, after);
  } catch {
    throw cannotEdit(path, 'trust in hooks as [hooks.state."KEY"] tables, which gov can replace');
  }
  return after;
}

/** One table of trust, with the settings under it. */
const stateTable = /^\[hooks\.state\.["']([^"'\n]*)["']\]\n(?:\w+ *=.*\n|\n(?=\[))*/gm;

export const codex: Setup = {
  client: 'codex',
  programs: ['codex'],
  tested: '0.171.0',
  // older ones type into a terminal without a hook: they have no setting for it
  oldest: '0.155.0',
  edits: (place, wanted) => [
    edit(place, wanted),
    ...(place.scope === 'managed' ? [defaultsEdit(place)] : []),
  ],
};
