/**
 * The MCP servers of a client: which one a tool's name means, and which ones `gov mcp proxy` starts. The names are in the
 * client's own files; where those of user and administrator are is in the file of the hook's connection, which `gov agents
 * install` writes. Tested by `test/cli/agents/mcp/proxied.test.ts`.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { agentClients, type AgentClient } from '../../../core/agents/clients.ts';
import { readingsOf, resolvedMcp, type McpTool } from '../../../core/agents/mcp-name.ts';
import { isObject } from '../../../core/json/object.ts';
import { homeOf, type Variables } from '../../context/config.ts';
import { spelledName } from '../../mcp/server-name.ts';
import { writeWhole } from '../../terminal/output-file.ts';
import type { Scope, WrappedServer } from '../setup/edit.ts';
import { configuredServers, type ConfiguredServer } from './configured.ts';

/** The tool that a name means; null if it could mean tools of several servers. `path`: the connection file of the hook. Never throws. */
export function mcpTool(
  path: string,
  { client, toolName, cwd }: { client: AgentClient; toolName: string; cwd: string | null },
): McpTool | null {
  const configs = keptConfigs(path, client);
  const servers = configs === null ? null : configuredServers(client, { configs, cwd });
  return resolvedMcp(toolName, servers?.map(({ name }) => name) ?? null);
}

/** Whether a name needs a look at the configuration. */
export const isMcpName = (toolName: string): boolean => readingsOf(toolName).length > 0;

/** The files of user and administrator that the connection file names; null without them. */
function keptConfigs(path: string, client: AgentClient): string[] | null {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    const clients = isObject(value) ? value['mcp'] : undefined;
    const kept = isObject(clients) ? clients[client] : undefined;
    const configs = isObject(kept) ? kept['configs'] : undefined;
    return Array.isArray(configs) ? configs.filter((each) => typeof each === 'string') : null;
  } catch {
    return null;
  }
}

interface ServerPlaces {
  readonly env: Variables;
  readonly etc: string;
  readonly scope: Scope;
  /** Where the connection file is. */
  readonly folder: string;
  /** The context of hooks; a proxy with another one may have another plane. */
  readonly context: string | undefined;
  readonly cwd: string;
}

/** Writes into the connection file where each client names its servers. */
export function keepConfigs(places: ServerPlaces): void {
  const path = join(places.folder, 'agents.json');
  const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
  const kept = agentClients.map((client) => [client, configsOf(client, places)] as const);
  const known = kept.flatMap(([client, configs]) =>
    configs === null ? [] : [[client, { configs }] as const],
  );
  const text = `${JSON.stringify({ ...(isObject(value) ? value : {}), mcp: Object.fromEntries(known) }, null, 2)}\n`;
  writeWhole(path, Buffer.from(text), statSync(path).mode & 0o777);
}

/** The configured servers of a client that start the proxy. */
export function proxiedServers(client: AgentClient, places: ServerPlaces): WrappedServer[] {
  const configs = configsOf(client, places);
  const servers = configs === null ? null : configuredServers(client, { configs, cwd: places.cwd });
  return (servers ?? [])
    .filter((server) => isProxyEntry(server, places))
    .map(({ name, entry: { command, args } }) => ({
      client,
      name,
      words: [command, ...(Array.isArray(args) ? args : [])].map(String),
    }));
}

/** Where a client looks, apart from the folder of a project. */
function configsOf(client: AgentClient, { env, etc }: ServerPlaces): string[] | null {
  const home = homeOf(env);
  if (client === 'claude-code')
    return [
      process.platform === 'darwin'
        ? '/Library/Application Support/ClaudeCode/managed-mcp.json'
        : join(etc, 'claude-code/managed-mcp.json'),
      join(env['CLAUDE_CONFIG_DIR'] || home, '.claude.json'),
    ];
  if (client !== 'codex') return null;
  return [
    join(etc, 'codex/managed_config.toml'),
    join(etc, 'codex/config.toml'),
    join(env['CODEX_HOME'] || join(home, '.codex'), 'config.toml'),
  ];
}

/** Variables that decide which plane a proxy asks, or what runs in it. */
const deciding = /^(?:GOV_|NODE_|LD_|DYLD_|SSL_CERT|HOME$|PATH$|XDG_)/;

/** Exactly what `gov mcp wrap` writes: the launcher, the context of the hooks, and the name of the server. */
function isProxyEntry({ name, entry }: ConfiguredServer, { context }: ServerPlaces): boolean {
  const { command, args, env = {} } = entry;
  if (!Array.isArray(args) || !isObject(env)) return false;
  if (Object.keys(env).some((variable) => deciding.test(variable))) return false;
  const all: unknown[] = [command, ...args];
  return [launcherOf({}), nodeLauncher()].some((launcher) => {
    if (resolve(launcher[0]) !== launcher[0]) return false;
    const at = launcher.length + 2;
    const words = [
      ...launcher,
      'mcp',
      'proxy',
      ...(all[at] === '-C' ? ['-C', context] : []),
      '--name',
      spelledName(name),
      '--',
    ];
    return words.every((word, place) => all[place] === word) && all.length > words.length;
  });
}

/** The words that start gov: a program, and its first arguments. */
export type Launcher = readonly [program: string, ...args: readonly string[]];

/**
 * Absolute paths: the client's PATH may have another program of this name. With GOV_NODE the Node of this process, because
 * clients such as Codex start a server without the variables of the user, and `bin/gov` would take an older Node.
 */
export function launcherOf(env: Variables): Launcher {
  if ((env['GOV_NODE'] ?? '') !== '') return nodeLauncher();
  const launcher = resolve(dirname(process.argv[1] ?? ''), '../bin/gov');
  return [existsSync(launcher) ? launcher : 'gov'];
}

const nodeLauncher = (): Launcher => [process.execPath, resolve(process.argv[1] ?? '')];
