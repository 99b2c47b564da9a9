/**
 * Gemini CLI: hooks in its settings. Measured on 0.61.0: a call runs if the hook exceeds its time, is killed, or ends with 2
 * and no text; any other text with a code above 1 stops it. Settings of user, project and administrator add up, and the
 * administrator has the last word on `hooksConfig.enabled`, but nobody can take a hook out of `hooksConfig.disabled`.
 * Tested by `test/cli/agents/gemini.test.ts`, and by `test/real/gemini.long.test.ts` with the real client.
 */
import { join } from 'node:path';
import { limits } from '../../../contract/limits.ts';
import { isObject } from '../../../core/json/object.ts';
import { closingMembers } from '../open-settings.ts';
import { homeOf } from '../../context/config.ts';
import { cannotEdit, type SetupTarget, type Setup } from './edit.ts';
import { writableByOthers } from './writable.ts';
import { listedEdit, type HookList } from './listed.ts';
import type { Settings } from './settings-json.ts';

const name = 'gov';

/**
 * The longest timer of Node.js, 24 days. After it the call would run; `gov hook` ends after 5 seconds, and a hook that hangs
 * must stop the call.
 */
const longestMs = 2 ** 31 - 1;

function settingsPath({ env, etc, scope }: SetupTarget): string {
  if (scope === 'user') return join(env['GEMINI_CLI_HOME'] || homeOf(env), '.gemini', 'settings.json');
  return process.platform === 'darwin'
    ? '/Library/Application Support/GeminiCli/settings.json'
    : join(etc, 'gemini-cli', 'settings.json');
}

/** The switches beside the hooks. Errors: exit 2 for another form. */
function switches(path: string, settings: Settings): Settings {
  const value = settings['hooksConfig'] ?? {};
  if (!isObject(value)) throw cannotEdit(path, 'an object in hooksConfig');
  return value;
}

function listedAt(path: string, { env, scope }: SetupTarget): HookList {
  const isManaged = scope === 'managed';
  return {
    client: 'gemini',
    gate: 'BeforeTool',
    reports: ['SessionStart', 'BeforeAgent', 'AfterTool', 'AfterAgent', 'SessionEnd'],
    entry: (command, gates) => ({
      // one hook after the other: ours sees the arguments that those before it have changed
      ...(gates ? { sequential: true } : {}),
      hooks: [
        { type: 'command', name, command, timeout: gates ? longestMs : limits.hookClientSeconds * 1000 },
      ],
    }),
    members: closingMembers('gemini', scope),
    holes: (gate, settings) => [
      ...holesIn(path, gate, switches(path, settings)),
      ...(isManaged ? managedHoles(path, env['GEMINI_CLI_SYSTEM_SETTINGS_PATH']) : []),
    ],
  };
}

function holesIn(path: string, gate: Settings, { enabled, disabled }: Settings): string[] {
  const isDisabled =
    Array.isArray(disabled) && [gate['name'], gate['command']].some((each) => disabled.includes(each));
  return [
    ...(enabled === false ? [`${path}: hooksConfig.enabled is false`] : []),
    ...(isDisabled ? [`${path}: hooksConfig.disabled names the hook of gov`] : []),
    ...(gate['timeout'] === longestMs
      ? []
      : [`${path}: a hook that exceeds its time lets the call run: gov agents install`]),
  ];
}

function managedHoles(path: string, other: string | undefined): string[] {
  const open = writableByOthers(path);
  return [
    ...(open === null ? [] : [`Gemini CLI skips ${path}, because others than root can write ${open}`]),
    ...(other === undefined || other === path ? [] : [`GEMINI_CLI_SYSTEM_SETTINGS_PATH names ${other}`]),
  ];
}

export const gemini: Setup = {
  client: 'gemini',
  programs: ['gemini'],
  tested: '0.61.0',
  oldest: null,
  edits(place, wanted) {
    const path = settingsPath(place);
    return [listedEdit({ path, comments: true }, listedAt(path, place), wanted)];
  },
};
