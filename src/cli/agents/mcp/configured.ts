/**
 * The MCP servers that a client is configured to start, read from every place where it looks. A hook reads them to tell
 * servers apart, and to see which ones are started through the proxy. Anything that cannot be read makes the whole answer
 * unknown. Tested by `test/cli/agents/mcp/proxied.test.ts`.
 */
import { hash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'smol-toml';
import type { AgentClient } from '../../../core/agents/clients.ts';
import { isObject } from '../../../core/json/object.ts';

export interface ConfiguredServer {
  readonly name: string;
  /** The file that says so. */
  readonly path: string;
  readonly entry: Readonly<Record<string, unknown>>;
  /** SHA-256 of the entry with sorted members, in hex. */
  readonly digest: string;
  /** Whether only root can change the file. */
  readonly isRoots: boolean;
}

export interface Places {
  /** The files of user and administrator that exist or may come to exist. */
  readonly configs: readonly string[];
  /** The folder of the session, whose project may have servers; null if unknown. */
  readonly cwd: string | null;
}

/** An administrator's list is exclusive: Claude Code then starts no other server. */
const exclusive = 'managed-mcp.json';

/** The files of a project in its folder and those above it. */
const projectFiles: Partial<Record<AgentClient, string>> = {
  'claude-code': '.mcp.json',
  codex: '.codex/config.toml',
};

/** Null if a file cannot be read as the client reads it, or for a client whose files are not known. */
export function configuredServers(client: AgentClient, { configs, cwd }: Places): ConfiguredServer[] | null {
  const projectFile = projectFiles[client];
  if (projectFile === undefined) return null;
  const own = configs.find((path) => path.endsWith(exclusive) && existsSync(path));
  const paths = own === undefined ? [...configs, ...above(cwd, projectFile)] : [own];
  try {
    return [...new Set(paths)].filter((path) => existsSync(path)).flatMap((path) => serversIn(path, cwd));
  } catch {
    return null;
  }
}

/** Settings of Claude Code. The servers that it starts get their `env`. */
const settings = ['settings.json', 'settings.local.json'];

/** Names of variables that settings of user and project set for servers. Null if a file cannot be read. */
export function configuredVariables(client: AgentClient, { configs, cwd }: Places): string[] | null {
  if (client !== 'claude-code') return [];
  const homes = configs.filter((path) => path.endsWith('/.claude.json')).map((path) => dirname(path));
  const folders = [...homes, ...homes.map((home) => join(home, '.claude')), ...above(cwd, '.claude')];
  const paths = folders.flatMap((folder) => settings.map((name) => join(folder, name)));
  try {
    return [...new Set(paths)]
      .filter((path) => existsSync(path))
      .flatMap((path) => {
        const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
        return isObject(value) && isObject(value['env']) ? Object.keys(value['env']) : [];
      });
  } catch {
    return null;
  }
}

function above(cwd: string | null, name: string): string[] {
  const paths: string[] = [];
  for (let at = cwd; at !== null; at = dirname(at) === at ? null : dirname(at)) paths.push(join(at, name));
  return paths;
}

function serversIn(path: string, cwd: string | null): ConfiguredServer[] {
  const { uid, mode } = statSync(path);
  const isRoots = uid === 0 && (mode & 0o022) === 0;
  const text = readFileSync(path, 'utf8');
  const value: unknown = path.endsWith('.toml') ? parse(text) : JSON.parse(text);
  if (!isObject(value)) throw new SyntaxError(`expected an object in ${path}`);
  const projects = isObject(value['projects']) ? Object.entries(value['projects']) : [];
  const lists = [
    value['mcpServers'],
    value['mcp_servers'],
    ...projects
      .filter(([folder]) => isWithin(cwd, folder))
      .map(([, project]) => (project as { mcpServers?: unknown } | null)?.mcpServers),
  ].filter((list) => list !== undefined && list !== null);
  return lists.flatMap((list) => {
    if (!isObject(list)) throw new SyntaxError(`expected an object of servers in ${path}`);
    return Object.entries(list).map(([name, entry]) => {
      if (!isObject(entry)) throw new SyntaxError(`expected an object for ${name} in ${path}`);
      return { name, path, entry, digest: digestOf(entry), isRoots };
    });
  });
}

const isWithin = (cwd: string | null, folder: string): boolean =>
  cwd !== null && (cwd === folder || cwd.startsWith(`${folder.replace(/\/$/, '')}/`));

const digestOf = (entry: object): string =>
  hash(
    'sha256',
    JSON.stringify(entry, (_name, value: unknown) =>
      isObject(value)
        ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : value,
    ),
    'hex',
  );
