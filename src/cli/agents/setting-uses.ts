/**
 * The settings files of a home and a project that make use of a way around the hooks, as `gov agents doctor` names them.
 * A file that cannot be read shows no use. Tested by `test/cli/agents/open-settings.test.ts`.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'smol-toml';
import type { AgentClient } from '../../core/agents/clients.ts';
import { homeOf, xdgFolder, type Variables } from '../context/config.ts';
import type { OpenSetting } from './open-settings.ts';
import { jsonValue } from './setup/json-text.ts';
import { ownHooks, valueAt, type Settings } from './setup/settings-json.ts';

interface Place {
  readonly env: Variables;
  readonly cwd: string;
}

/** Returns the paths of the files that use it. */
export function usesOf({ client, usedBy }: OpenSetting, place: Place): string[] {
  if (usedBy.length === 0) return [];
  return filesOf(client, place).filter((path) => {
    const settings = settingsIn(path);
    return usedBy.some((member) => isUsed(path, settings, member));
  });
}

function isUsed(path: string, settings: Settings, member: readonly string[]): boolean {
  const value = valueAt(settings, member);
  if (value === undefined || value === false || value === '') return false;
  if (Array.isArray(value)) return value.length > 0;
  // hooks of gov in a user's file are no hooks of others
  if (member[0] === 'hooks' && member.length === 1) return hasOtherHooks(path, value);
  return true;
}

function hasOtherHooks(path: string, hooks: unknown): boolean {
  try {
    const events = Object.entries(Object(hooks)).filter(([, list]) => Array.isArray(list));
    return events.some(
      ([event, list]) => Array.isArray(list) && list.length > ownHooks(path, { hooks }, event).length,
    );
  } catch {
    return true; // in another form: not of gov
  }
}

function filesOf(client: AgentClient, { env, cwd }: Place): string[] {
  const home = homeOf(env);
  const projects = above(cwd);
  switch (client) {
    case 'claude-code': {
      const folder = env['CLAUDE_CONFIG_DIR'] || join(home, '.claude');
      const names = ['settings.json', 'settings.local.json'];
      return unique([
        ...[folder, ...projects.map((each) => join(each, '.claude'))].flatMap((each) =>
          names.map((name) => join(each, name)),
        ),
        join(env['CLAUDE_CONFIG_DIR'] || home, '.claude.json'),
        ...projects.map((each) => join(each, '.mcp.json')),
      ]);
    }
    case 'codex': {
      const folder = env['CODEX_HOME'] || join(home, '.codex');
      return unique([
        join(folder, 'config.toml'),
        join(folder, '.env'),
        ...projects.map((each) => join(each, '.codex', 'config.toml')),
      ]);
    }
    case 'gemini': {
      const folder = join(env['GEMINI_CLI_HOME'] || home, '.gemini');
      return unique([
        join(folder, 'settings.json'),
        join(folder, '.env'),
        ...projects.flatMap((each) => [
          join(each, '.gemini', 'settings.json'),
          join(each, '.gemini', '.env'),
          join(each, '.env'),
        ]),
      ]);
    }
    case 'opencode':
      return unique([join(xdgFolder(env, 'XDG_CONFIG_HOME'), 'opencode', 'opencode.json')]);
    case 'cursor':
      return unique([join(home, '.cursor', 'hooks.json')]);
  }
}

const unique = (paths: readonly string[]): string[] => [...new Set(paths)].filter((path) => existsSync(path));

function above(cwd: string): string[] {
  const folders = [cwd];
  for (let at = cwd; dirname(at) !== at; at = dirname(at)) folders.push(dirname(at));
  return folders;
}

/** As the client reads it. The variables of an `.env` file are below the name `.env`. */
function settingsIn(path: string): Settings {
  try {
    if (!statSync(path).isFile()) return {};
    const text = readFileSync(path, 'utf8');
    if (path.endsWith('.env')) return { '.env': variablesIn(text) };
    const value: unknown = path.endsWith('.toml') ? parse(text.replace(/^\ufeff/, '')) : jsonValue(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

const variablesIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/^\s*(?:export\s+)?(\w+)\s*=\s*(\S.*)$/gm)].map(([, name = '', value = '']) => [
      name,
      value,
    ]),
  );
