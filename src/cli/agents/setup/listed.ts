/**
 * A client with hooks by event in one JSON file: Gemini CLI and Cursor. Tested by `test/cli/agents/install.test.ts`.
 */
import type { AgentClient } from '../../../core/agents/clients.ts';
import { hookLine, type Edit, type HookSettings } from './edit.ts';
import {
  addHooks,
  ownHooks,
  readSettings,
  removeHooks,
  writeSettings,
  type Settings,
} from './settings-json.ts';

export interface HookList {
  readonly client: AgentClient;
  readonly gate: string;
  readonly reports: readonly string[];
  entry(command: string, gates: boolean): object;
  /** Adds further members of the file. */
  prepare?(settings: Settings): void;
  /** Takes back what `prepare` added. */
  restore?(settings: Settings): void;
  /** For one hook before a tool. `settings`: the whole file. */
  holes(gate: Settings, settings: Settings): readonly string[];
}

export function listedEdit(path: string, listed: HookList, wanted: HookSettings): Edit {
  const { client, gate, reports, entry } = listed;
  return {
    path,
    add(before) {
      const settings = readSettings(path, before);
      listed.prepare?.(settings);
      const events = [[gate, true] as const, ...reports.map((event) => [event, false] as const)];
      const entries = events.map(([event, gates]) => [event, entry(hookLine(client, wanted, gates), gates)]);
      addHooks(path, settings, Object.fromEntries(entries));
      return writeSettings(settings, before);
    },
    remove(now) {
      const settings = readSettings(path, now);
      if (!removeHooks(path, settings)) return now;
      listed.restore?.(settings);
      const left = Object.keys(settings).filter((name) => name !== 'version');
      return left.length === 0 ? null : writeSettings(settings, now);
    },
    look(now) {
      const settings = readSettings(path, now);
      const own = ownHooks(path, settings, gate);
      return {
        lines: own.map(({ command }) => String(command)),
        holes: own.flatMap((each) => listed.holes(each, settings)),
      };
    },
  };
}
