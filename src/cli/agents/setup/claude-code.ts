/**
 * Claude Code: hooks in its settings. Measured on 2.1.331: with `onFailure: block` a hook that is missing, hangs or crashes
 * blocks the call. A project's settings can turn off the hooks of a user (`disableAllHooks`), and set variables for them,
 * also in a folder that nobody trusted; those of an administrator stay. Tested by `test/cli/agents/install.test.ts`.
 */
import { join } from 'node:path';
import { limits } from '../../../contract/limits.ts';
import { isObject } from '../../../core/json/object.ts';
import {
  addHooks,
  ownHooks,
  readSettings,
  removeHooks,
  writeSettings,
  type Settings,
} from './settings-json.ts';
import { homeOf } from '../../context/config.ts';
import { hookLine, type Edit, type SetupTarget, type Setup, type HookSettings } from './edit.ts';

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
  const path = settingsPath(place);
  const isManaged = place.scope === 'managed';
  return {
    path,
    add(before) {
      const settings = readSettings(path, before);
      const hook = { type: 'command', timeout: limits.hookClientSeconds };
      const entries = reports.map((event) => [
        event,
        { hooks: [{ ...hook, command: hookLine('claude-code', wanted, false) }] },
      ]);
      const gate = { ...hook, command: hookLine('claude-code', wanted, true), onFailure: 'block' };
      addHooks(path, settings, { PreToolUse: { hooks: [gate] }, ...Object.fromEntries(entries) });
      addVariables(settings, variablesOf(wanted));
      // another hook could change the arguments of a call after its decision
      if (isManaged) settings['allowManagedHooksOnly'] = true;
      return writeSettings(settings, before);
    },
    remove(now) {
      const settings = readSettings(path, now);
      if (!removeHooks(path, settings)) return now;
      removeVariables(settings, variablesOf(wanted));
      if (isManaged) delete settings['allowManagedHooksOnly'];
      return Object.keys(settings).length === 0 ? null : writeSettings(settings, now);
    },
    look(now) {
      const settings = readSettings(path, now);
      const gates = ownHooks(path, settings, 'PreToolUse');
      const holes = [];
      if (gates.some(({ onFailure }) => onFailure !== 'block'))
        holes.push(`${path}: a hook without "onFailure": "block"`);
      if (settings['disableAllHooks'] === true) holes.push(`${path}: disableAllHooks is true`);
      if (!isManaged)
        holes.push('a project can turn off the hooks of a user: install as root with --scope managed');
      return { lines: gates.map(({ command }) => String(command)), holes };
    },
  };
}

/** An endpoint of the user's own stays, and with it all of its variables. */
function addVariables(settings: Settings, variables: Record<string, string>): void {
  const env = isObject(settings['env']) ? settings['env'] : {};
  if (Object.keys(variables).length === 0 || Object.keys(env).some((name) => name in variables)) return;
  settings['env'] = { ...env, ...variables };
}

function removeVariables(settings: Settings, variables: Record<string, string>): void {
  const env: Settings | undefined = isObject(settings['env']) ? settings['env'] : undefined;
  if (env === undefined || env['OTEL_EXPORTER_OTLP_HEADERS'] !== variables['OTEL_EXPORTER_OTLP_HEADERS'])
    return;
  for (const name of Object.keys(variables)) delete env[name];
  if (Object.keys(env).length === 0) delete settings['env'];
}

export const claudeCode: Setup = {
  client: 'claude-code',
  programs: ['claude'],
  tested: '2.1.332',
  // the first one that knows onFailure
  oldest: '2.1.295',
  edits: (place, wanted) => [edit(place, wanted)],
};
