/**
 * A client with hooks by event in one JSON file: Gemini CLI and Cursor. Tested by `test/cli/agents/install.test.ts`.
 */
import type { AgentClient } from '../../../core/agents/clients.ts';
import { hookLine, type Edit, type HookSettings } from './edit.ts';
import {
  addTo,
  ownHooks,
  readSettings,
  removeFrom,
  type SettingMember,
  type Settings,
  type SettingsFile,
} from './settings-json.ts';

export interface HookList {
  readonly client: AgentClient;
  readonly gate: string;
  readonly reports: readonly string[];
  entry(command: string, gates: boolean): object;
  /** Further members of the file. */
  readonly members: readonly SettingMember[];
  /** For one hook before a tool. `settings`: the whole file. */
  holes(gate: Settings, settings: Settings): readonly string[];
}

export function listedEdit(file: SettingsFile, listed: HookList, wanted: HookSettings): Edit {
  const { client, gate, reports, entry, members } = listed;
  return {
    path: file.path,
    add(before) {
      const events = [[gate, true] as const, ...reports.map((event) => [event, false] as const)];
      const hooks = events.map(([event, gates]) => [event, entry(hookLine(client, wanted, gates), gates)]);
      return addTo(file, before, { hooks: Object.fromEntries(hooks), members });
    },
    remove: (now, original) => removeFrom(file, now, { members, original }),
    look(now) {
      const settings = readSettings(file, now);
      const own = ownHooks(file.path, settings, gate);
      return {
        lines: own.map(({ command }) => String(command)),
        holes: own.flatMap((each) => listed.holes(each, settings)),
        settings,
      };
    },
  };
}
