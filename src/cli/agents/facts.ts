/**
 * What a hook knows of its machine: folders, where the links lead that a call names, hosts of git remotes, and the address of the plane.
 * The plane computes the action of the call from it. Tested by `test/cli/agents/facts.test.ts`.
 */
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, normalize } from 'node:path';
import { limits } from '../../contract/limits.ts';
import type { ToolCall } from '../../contract/tools.ts';
import { actionOf } from '../../core/action/canonical.ts';
import { remoteHosts } from '../../core/action/git-remotes.ts';
import type { Action, ActionFacts } from '../../core/action/shape.ts';
import type { HookedTool, HookInput } from '../../core/agents/hook-input.ts';

type CallFacts = Required<Pick<ToolCall, 'client' | 'facts'>>;

/** Returns the client and the facts of a call. `baseUrl`: of the plane. Throws for more links than a call may name. */
export function callFacts(input: HookInput, tool: HookedTool, baseUrl: string): CallFacts {
  const { client, source } = input;
  const cwd = absolute(input.cwd);
  const workspace = workspaceOf(projectFolder(source, process.env) ?? cwd);
  const facts: ActionFacts = {
    cwd,
    home: absolute(homedir()),
    workspace,
    plane: URL.parse(baseUrl)?.host ?? null,
  };
  const action = actionOf({
    client,
    tool: tool.mcp?.name ?? tool.name,
    server: tool.mcp?.server ?? null,
    arguments: tool.arguments,
    facts: { ...facts, namesLinks: true },
  });
  const remotes = usesGit(action) && workspace !== null ? remotesOf(workspace) : null;
  const version = source['cursor_version'];
  return {
    client: {
      name: client,
      ...(typeof version === 'string' ? { version: version.slice(0, limits.toolNameChars) } : {}),
    },
    facts: {
      ...facts,
      real: realPaths(action),
      ...(remotes === null ? {} : { remotes: { ...remotes } }),
      sandbox: null,
    },
  };
}

const absolute = (path: string | null): string | null =>
  path?.startsWith('/') === true && path.length <= limits.actionPathChars ? normalize(path) : null;

/** The folder in which the session began, as the client says it; null for a client that does not. */
function projectFolder(source: HookInput['source'], env: NodeJS.ProcessEnv): string | null {
  const { workspace_roots: roots } = source;
  const [first]: unknown[] = Array.isArray(roots) ? roots : [];
  const named = typeof first === 'string' ? first : (env['CLAUDE_PROJECT_DIR'] ?? env['GEMINI_PROJECT_DIR']);
  return absolute(named ?? null);
}

/** The git root above a folder, or the folder itself. A home folder under git is no workspace of its projects. */
function workspaceOf(folder: string | null): string | null {
  if (folder === null) return null;
  for (let at = folder; ; at = dirname(at)) {
    if (at === homedir() || at === '/') return folder;
    if (existsSync(join(at, '.git'))) return at;
  }
}

const usesGit = ({ commands }: Action): boolean =>
  commands?.some(({ program }) => program === 'git') === true;

/** The remotes of a repository, also of a worktree; null where nobody can say them. */
function remotesOf(workspace: string): Readonly<Record<string, string | null>> | null {
  try {
    const git = join(workspace, '.git');
    if (statSync(git).isDirectory()) return remoteHosts(readFileSync(join(git, 'config'), 'utf8'));
    const [, folder = ''] = /^gitdir: (.*)$/m.exec(readFileSync(git, 'utf8')) ?? [];
    const own = isAbsolute(folder) ? folder : join(workspace, folder);
    const common = readFileSync(join(own, 'commondir'), 'utf8').trim();
    return remoteHosts(readFileSync(join(isAbsolute(common) ? common : join(own, common), 'config'), 'utf8'));
  } catch {
    return null; // no repository, or none that can be read
  }
}

/** Where the paths of an action lead, of those that a link leads elsewhere. */
function realPaths({ paths }: Action): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { path } of paths ?? []) {
    if (path === null) continue;
    const real = realPath(path);
    if (real !== path && real.length <= limits.actionPathChars) found[path] = real;
  }
  const count = Object.keys(found).length;
  if (count > limits.factLinks)
    throw new Error(`expected at most ${limits.factLinks} links in one call, got ${count}: use fewer paths`);
  return found;
}

/** Resolves the part of a path that exists, up to a pattern. */
function realPath(path: string): string {
  const parts = path.split('/');
  const pattern = parts.findIndex((part) => part.includes('*'));
  for (let end = pattern < 0 ? parts.length : pattern; end > 1; end -= 1) {
    try {
      const folder = realpathSync.native(parts.slice(0, end).join('/'));
      return [folder === '/' ? '' : folder, ...parts.slice(end)].join('/') || '/';
    } catch {
      // it does not exist yet, or nobody may read it
    }
  }
  return path;
}
