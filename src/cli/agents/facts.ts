/**
 * What a hook knows of its machine: folders, where the links lead that a call names, hosts of git remotes, and the address of the plane.
 * The plane computes the action of the call from it. Tested by `test/cli/agents/facts.test.ts`.
 */
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, normalize } from 'node:path';
import { limits } from '../../contract/limits.ts';
import type { ToolCall } from '../../contract/tools.ts';
import { namedPaths } from '../../core/action/canonical.ts';
import { remoteHosts } from '../../core/action/git-remotes.ts';
import type { ActionFacts, ToolUse } from '../../core/action/shape.ts';
import type { HookedTool, HookInput } from '../../core/agents/hook-input.ts';
import { sessionWorkspace } from './session-workspace.ts';

type CallFacts = Required<Pick<ToolCall, 'client' | 'facts'>>;

/** Returns the client and the facts of a call. `baseUrl`: of the plane;
 * `sessions`: the folder that keeps the workspaces of sessions. Throws for more links than a call may name. */
export function callFacts(
  { client, cwd, source, session }: HookInput,
  tool: HookedTool,
  { baseUrl, sessions }: { readonly baseUrl: string; readonly sessions: string },
): CallFacts {
  const version = source['cursor_version'];
  return {
    client: {
      name: client,
      ...(typeof version === 'string' ? { version: version.slice(0, limits.toolNameChars) } : {}),
    },
    facts: factsOf({
      client,
      tool: tool.mcp?.name ?? tool.name,
      server: tool.mcp?.server ?? null,
      arguments: tool.arguments,
      cwd,
      workspace: sessionWorkspace(sessions, `${client} ${session}`, () =>
        workspaceOf(projectFolder(source, process.env) ?? absolute(cwd)),
      ),
      plane: URL.parse(baseUrl)?.host ?? null,
    }),
  };
}

/** A call, and where its client runs. */
interface LocalCall extends Omit<ToolUse, 'facts'> {
  readonly cwd: string | null;
  readonly workspace: string | null;
  readonly plane: string | null;
}

/** Returns the facts of this machine about a call. Throws for more links than a call may name. */
export function factsOf({ cwd: given, workspace, plane, ...use }: LocalCall): CallFacts['facts'] {
  const cwd = absolute(given);
  const facts: ActionFacts = {
    cwd,
    home: absolute(homedir()),
    workspace,
    plane,
  };
  const { paths, usesGit } = namedPaths({ ...use, facts });
  const remotes = usesGit && workspace !== null ? remotesOf(workspace) : null;
  return {
    ...facts,
    real: realPaths(paths),
    ...(remotes === null ? {} : { remotes: { ...remotes } }),
    sandbox: null,
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
export function workspaceOf(folder: string | null): string | null {
  if (folder === null || folder === '/') return null; // the whole machine is no workspace
  for (let at = folder; ; at = dirname(at)) {
    if (at === homedir() || at === '/') return folder;
    if (existsSync(join(at, '.git'))) return at;
  }
}

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

/** Where paths lead, of those that a link leads elsewhere. */
function realPaths(paths: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const path of paths) {
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
