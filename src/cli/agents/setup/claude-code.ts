/**
 * Claude Code: hooks in its settings. Measured on 2.1.331: with `onFailure: block` a hook that is missing, hangs or crashes
 * blocks the call. A project's settings can turn off the hooks of a user (`disableAllHooks`), and set variables for them,
 * also in a folder that nobody trusted; those of an administrator stay. Tested by `test/cli/agents/install.test.ts`.
 */
import { join } from 'node:path';
import { isObject } from '../../../core/json/object.ts';
import {
  addTo,
  ownHooks,
  readSettings,
  removeFrom,
  valueAt,
  type SettingMember,
  type Settings,
} from './settings-json.ts';
import { closingMembers, lockedPathMember } from '../open-settings.ts';
import { homeOf } from '../../context/config.ts';
import {
  cannotEdit,
  hookLine,
  hookTimeout,
  type Edit,
  type SetupTarget,
  type Setup,
  type HookSettings,
} from './edit.ts';

const reports =
  'SessionStart UserPromptSubmit PostToolUse PostToolUseFailure Stop SubagentStop SessionEnd'.split(' ');

function settingsPath({ env, etc, scope }: SetupTarget): string {
  if (scope === 'user')
    return join(env['CLAUDE_CONFIG_DIR'] || join(homeOf(env), '.claude'), 'settings.json');
  return process.platform === 'darwin'
    ? '/Library/Application Support/ClaudeCode/managed-settings.json'
    : join(etc, 'claude-code', 'managed-settings.json');
}

function variablesOf({ telemetry }: HookSettings): Record<string, string> {
  if (telemetry === null) return {};
  return {
    CLAUDE_CODE_ENABLE_TELEMETRY: '1',
    OTEL_LOGS_EXPORTER: 'otlp',
    OTEL_METRICS_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_EXPORTER_OTLP_ENDPOINT: telemetry.origin,
    // 2.1.331 sends the value as it is, without decoding %20
    OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer ${telemetry.key}`,
  };
}

function edit(place: SetupTarget, wanted: HookSettings): Edit {
  // a file with comments is ignored as a whole (measured: 2.1.332)
  const file = { path: settingsPath(place), comments: false };
  return {
    path: file.path,
    add(before) {
      const hook = { type: 'command', timeout: hookTimeout(wanted, false) };
      const entries = reports.map((event) => [
        event,
        { hooks: [{ ...hook, command: hookLine('claude-code', wanted, false) }] },
      ]);
      const gate = {
        ...hook,
        timeout: hookTimeout(wanted, true),
        command: hookLine('claude-code', wanted, true),
        onFailure: 'block',
      };
      return addTo(file, before, {
        hooks: { PreToolUse: { hooks: [gate] }, ...Object.fromEntries(entries) },
        members: [
          ...telemetryMembers(readSettings(file, before), wanted),
          ...closing(place, wanted),
          ...sandboxMembers(file.path, readSettings(file, before), wanted),
        ],
      });
    },
    remove(now, original) {
      const settings = readSettings(file, now);
      const had = readSettings(file, original ?? null);
      // what the file did not have before is ours, with the value that it has now
      const added = [lockedPathMember, ['allowedMcpServers'], ['sandbox']]
        .filter(
          (path) => original !== undefined && place.scope === 'managed' && valueAt(had, path) === undefined,
        )
        .map((path) => ({ path, value: valueAt(settings, path) }));
      const members = [...telemetryOf(settings, wanted), ...closing(place, wanted), ...added];
      return removeFrom(file, now, { members, original });
    },
    look(now) {
      const settings = readSettings(file, now);
      const gates = ownHooks(file.path, settings, 'PreToolUse');
      const holes = [];
      if (gates.some(({ onFailure }) => onFailure !== 'block'))
        holes.push(`${file.path}: a hook without "onFailure": "block"`);
      if (settings['disableAllHooks'] === true) holes.push(`${file.path}: disableAllHooks is true`);
      return { lines: gates.map(({ command }) => String(command)), holes, settings };
    },
  };
}

/** The settings of the administrator that close the ways around the hooks. Of MCP servers, they allow those behind the proxy. */
function closing({ scope }: SetupTarget, { lockedPath, wrapped }: HookSettings): SettingMember[] {
  if (scope === 'user') return [];
  const members = closingMembers('claude-code', scope).map((member) =>
    member.path[0] === 'allowedMcpServers'
      ? {
          ...member,
          value: wrapped
            .filter(({ client }) => client === 'claude-code')
            .map(({ words }) => ({ serverCommand: words })),
        }
      : member,
  );
  return lockedPath === null ? members : [...members, { path: lockedPathMember, value: lockedPath }];
}

/**
 * The sandbox of Claude Code around its shell commands, also those of skills (measured: 2.1.332). Its own questions stay. Errors:
 * exit 2 for settings of an administrator, which would be mixed with ours.
 */
function sandboxMembers(path: string, settings: Settings, { sandbox }: HookSettings): SettingMember[] {
  if (sandbox === null) return [];
  if (settings['sandbox'] !== undefined) throw cannotEdit(path, 'no sandbox in the settings');
  const { denyRead, denyWrite, allowedDomains } = sandbox;
  const network =
    allowedDomains === null ? {} : { network: { allowManagedDomainsOnly: true, allowedDomains } };
  const value = {
    enabled: true,
    failIfUnavailable: true,
    allowUnsandboxedCommands: false,
    autoAllowBashIfSandboxed: false,
    filesystem: { denyRead, denyWrite },
    ...network,
  };
  return [{ path: ['sandbox'], value }];
}

/** An endpoint of the user's own stays, and with it all of its variables. */
function telemetryMembers(settings: Settings, wanted: HookSettings): SettingMember[] {
  const env = isObject(settings['env']) ? settings['env'] : {};
  const variables = variablesOf(wanted);
  return Object.keys(env).some((name) => name in variables) ? [] : membersOf(variables);
}

const membersOf = (variables: Readonly<Record<string, unknown>>): SettingMember[] =>
  Object.entries(variables).map(([name, value]) => ({ path: ['env', name], value }));

/** The variables of an installation, with the values that they have now: the header with our key says whose they are. */
function telemetryOf(settings: Settings, wanted: HookSettings): SettingMember[] {
  const env = isObject(settings['env']) ? settings['env'] : {};
  const variables = variablesOf(wanted);
  const header = 'OTEL_EXPORTER_OTLP_HEADERS';
  if (variables[header] === undefined || env[header] !== variables[header]) return [];
  return membersOf(Object.fromEntries(Object.keys(variables).map((name) => [name, env[name]])));
}

export const claudeCode: Setup = {
  client: 'claude-code',
  programs: ['claude'],
  tested: '2.1.332',
  // the first one that knows onFailure
  oldest: '2.1.295',
  edits: (place, wanted) => [edit(place, wanted)],
};
