/** What git says of a working directory. Tested by `test/cli/start/git.test.ts`. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

interface GitFacts {
  readonly commit: string;
  /** Whether files differ from the commit, or are not in it. */
  readonly dirty: boolean;
  readonly branch?: string;
  /** Address of `origin`, without credentials. */
  readonly remote?: string;
}

const execute = promisify(execFile);
const timeoutMs = 5000;

/** Returns null outside of a repository with a commit, and without git. */
export async function gitFacts(cwd: string): Promise<GitFacts | null> {
  const git = async (...args: string[]): Promise<string | null> => {
    try {
      return (await execute('git', args, { cwd, timeout: timeoutMs, maxBuffer: 64 << 20 })).stdout.trim();
    } catch {
      return null; // not a repository, no such value, no git
    }
  };
  const commit = await git('rev-parse', '--verify', 'HEAD');
  if (commit === null) return null;
  const [status, branch, origin] = await Promise.all([
    git('--no-optional-locks', 'status', '--porcelain', '-uall'),
    git('symbolic-ref', '--short', '-q', 'HEAD'),
    git('config', '--get', 'remote.origin.url'),
  ]);
  const remote = origin === null ? null : withoutCredentials(origin);
  return {
    commit,
    dirty: status !== '',
    ...(branch === null || branch === '' ? {} : { branch }),
    ...(remote === null || remote === '' ? {} : { remote }),
  };
}

/** Returns the address of a remote without user, password, query and fragment; null if it cannot be read. */
export function withoutCredentials(remote: string): string | null {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(remote)) {
    if (!URL.canParse(remote)) return null;
    const url = new URL(remote);
    url.username = url.password = url.search = url.hash = '';
    return url.href;
  }
  // git@host:path, or a path; a password has no place there
  return remote.replace(/^[^@/]*@/, '');
}
