/**
 * The MCP servers that a client is configured to start, read from every place where it looks. A hook reads them to tell
 * servers apart, and to see which ones are started through the proxy. Anything that cannot be read makes the whole answer
 * unknown. Tested by `test/cli/agents/mcp/proxied.test.ts`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'smol-toml';
import type { AgentClient } from '../../../core/agents/clients.ts';
import { isObject } from '../../../core/json/object.ts';

export interface ConfiguredServer {
  readonly name: string;
  readonly entry: Readonly<Record<string, unknown>>;
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

function above(cwd: string | null, name: string): string[] {
  const paths: string[] = [];
  for (let at = cwd; at !== null; at = dirname(at) === at ? null : dirname(at)) paths.push(join(at, name));
  return paths;
}

function serversIn(path: string, cwd: string | null): ConfiguredServer[] {
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
      return { name, entry };
    });
  });
}

const isWithin = (cwd: string | null, folder: string): boolean =>
  cwd !== null && (cwd === folder || cwd.startsWith(`${folder.replace(/\/$/, '')}/`));
