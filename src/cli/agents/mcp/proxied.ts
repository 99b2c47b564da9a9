/**
 * Servers whose calls `gov mcp proxy` decides, so that the hook need not ask for a second approval of the same call. The
 * pins are in the file of the hook's connection, which `gov agents install` and `gov mcp wrap` write; what a client, a model
 * or a project says does not count. A pin holds only while every configuration that names the server has exactly the pinned
 * entry, while no settings of the client lead the proxy elsewhere, and where the administrator wrote the pins, only in a
 * file that root alone can change.
 * Tested by `test/cli/agents/mcp/proxied.test.ts`.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { agentClients, type AgentClient } from '../../../core/agents/clients.ts';
import { readingsOf, resolvedMcp, writtenName, type McpTool } from '../../../core/agents/mcp-name.ts';
import { isObject } from '../../../core/json/object.ts';
import { homeOf, type Variables } from '../../context/config.ts';
import { spelledName } from '../../mcp/server-name.ts';
import { writeWhole } from '../../terminal/output-file.ts';
import type { Scope, WrappedServer } from '../setup/edit.ts';
import { configuredServers, configuredVariables, type ConfiguredServer } from './configured.ts';

/** What the connection file keeps about the servers of one client. */
interface ClientServers {
  /** Files of user and administrator. */
  readonly configs: readonly string[];
  /** Digest of the entry by the name of the server. */
  readonly proxied: Readonly<Record<string, string>>;
}
type Pins = Partial<Record<AgentClient, ClientServers>>;

export interface ProxyState {
  /** Null: the name could mean tools of several servers. */
  readonly tool: McpTool | null;
  /** Whether the proxy decides the call and asks for its approval. */
  readonly isProxied: boolean;
}

/** `path`: the connection file of the hook. Never throws. */
export function lookAtMcp(
  path: string,
  { client, toolName, cwd }: { client: AgentClient; toolName: string; cwd: string | null },
): ProxyState {
  const pins = readPins(path)[client];
  const servers = pins === undefined ? null : configuredServers(client, { configs: pins.configs, cwd });
  const names = servers?.map(({ name }) => name) ?? null;
  const tool = resolvedMcp(toolName, names);
  if (tool === null || pins === undefined || servers === null) return { tool, isProxied: false };
  const same = servers.filter(({ name }) => writtenName(name) === tool.server);
  const digest = pins.proxied[tool.server];
  const isRoots = isRootsAlone(path);
  const variables = configuredVariables(client, { configs: pins.configs, cwd });
  const isProxied =
    digest !== undefined &&
    variables !== null &&
    !variables.some((name) => deciding.test(name)) &&
    same.length > 0 &&
    same.every((server) => server.digest === digest && (!isRoots || server.isRoots));
  return { tool, isProxied };
}

/** Whether a name needs a look at the configuration. */
export const isMcpName = (toolName: string): boolean => readingsOf(toolName).length > 0;

/** An agent that runs as root could change every file, so then the owner says nothing. */
function isRootsAlone(path: string): boolean {
  try {
    return statSync(path).uid === 0 && process.getuid?.() !== 0;
  } catch {
    return true;
  }
}

function readPins(path: string): Pins {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    const pins = isObject(value) ? value['mcp'] : undefined;
    return isObject(pins) ? (pins as Pins) : {}; // only this file writes it
  } catch {
    return {};
  }
}

interface PinOptions {
  readonly env: Variables;
  readonly etc: string;
  readonly scope: Scope;
  /** Where the connection file is. */
  readonly folder: string;
  /** The context of hooks; a proxy with another one may have another plane. */
  readonly context: string | undefined;
  readonly cwd: string;
}

/** Pins what is configured now. Returns the names of the servers by client. Does nothing without a connection file. */
export function pinProxied(pinning: PinOptions): Partial<Record<AgentClient, readonly string[]>> {
  const path = join(pinning.folder, 'agents.json');
  if (!existsSync(path)) return {};
  const pins = pinsOf(pinning);
  const value = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  const { mcp: _old, ...rest } = value;
  const text = `${JSON.stringify({ ...rest, mcp: pins }, null, 2)}\n`;
  writeWhole(path, Buffer.from(text), statSync(path).mode & 0o777);
  return Object.fromEntries(
    Object.entries(pins).map(([client, { proxied }]) => [client, Object.keys(proxied)]),
  );
}

/** The configured servers of a client that start the proxy. */
export function proxiedServers(client: AgentClient, pinning: PinOptions): WrappedServer[] {
  const configs = configsOf(client, pinning);
  const servers = configs === null ? null : configuredServers(client, { configs, cwd: pinning.cwd });
  return (servers ?? [])
    .filter((server) => isProxyEntry(server, pinning))
    .map(({ name, entry: { command, args } }) => ({
      client,
      name,
      words: [command, ...(Array.isArray(args) ? args : [])].map(String),
    }));
}

function pinsOf(pinning: PinOptions): Pins {
  const pins: Pins = {};
  for (const client of agentClients) {
    const configs = configsOf(client, pinning);
    const servers = configs === null ? null : configuredServers(client, { configs, cwd: pinning.cwd });
    if (configs === null || servers === null) continue;
    const proxied = servers.filter((server) => isProxyEntry(server, pinning));
    pins[client] = {
      configs,
      proxied: Object.fromEntries(proxied.map(({ name, digest }) => [writtenName(name), digest])),
    };
  }
  return pins;
}

/** Where a client looks, apart from the folder of a project. */
function configsOf(client: AgentClient, { env, etc }: PinOptions): string[] | null {
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
function isProxyEntry({ name, entry }: ConfiguredServer, { context }: PinOptions): boolean {
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
