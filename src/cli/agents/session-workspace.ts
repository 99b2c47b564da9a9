/**
 * The workspace in which a session began. An agent can make another folder a git root later, so a small file beside the
 * connection file keeps it. Tested by `test/cli/agents/facts.test.ts`.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { limits } from '../../contract/limits.ts';
import { makeFolder } from '../../files/make-folder.ts';

/** The folder of these files, beside the connection file. */
export const sessionsFolder = (config: string): string => join(dirname(config), 'sessions');

/**
 * Returns the workspace that the first call of the session had; `find` looks for it. Where nothing can be stored, such as beside the
 * connection file of an administrator, it is the workspace of each call.
 */
export function sessionWorkspace(folder: string, session: string, find: () => string | null): string | null {
  const path = join(folder, createHash('sha256').update(session).digest('hex'));
  const kept = read(path);
  if (kept !== undefined) return kept;
  const found = find();
  try {
    makeFolder(folder, 0o700);
    removeOld(folder);
    writeFileSync(path, JSON.stringify({ workspace: found }), { flag: 'wx', mode: 0o600 });
    return found;
  } catch {
    return read(path) ?? found; // another hook of the session was first, or nobody may write here
  }
}

/** Undefined without a file that says it. */
function read(path: string): string | null | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    const workspace: unknown =
      typeof value === 'object' && value !== null && 'workspace' in value ? value.workspace : undefined;
    return typeof workspace === 'string' || workspace === null ? workspace : undefined;
  } catch {
    return undefined;
  }
}

function removeOld(folder: string): void {
  const before = Date.now() - limits.agentSessionDays * 86_400_000;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const changedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    if (changedMs < before) rmSync(path, { force: true });
  }
}
