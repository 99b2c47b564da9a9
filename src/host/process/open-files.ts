/**
 * The share of the process's open files that connections may take. Each connection is an open file, and so is each database,
 * pipe and thread. Without a bound, idle connections take the files that the process needs to work.
 * Proven by `test/host/process/open-files.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';

/**
 * The most connections that a server of this process accepts: at most `most`, and so few that `own` files remain for
 * databases, pipes and threads. VALIDATION_ERROR where this leaves less than `limits.fewestConnections`.
 */
export function connectionsThatFit(
  most: number = limits.connections,
  { own = limits.ownOpenFiles as number, openFiles = openFileLimit() } = {},
): number {
  const fit = Math.min(most, openFiles - own);
  if (fit >= limits.fewestConnections) return fit;
  throw new GovError(
    'VALIDATION_ERROR',
    `expected a limit of at least ${own + limits.fewestConnections} open files, got ${openFiles}; ` +
      'raise it with `ulimit -n 4096`, or LimitNOFILE=4096 in a systemd unit',
  );
}

/** The limit of this process (RLIMIT_NOFILE). Node raises it to the hard limit at start. Takes 4 ms. */
function openFileLimit(): number {
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  report.excludeNetwork = true; // else the report asks for the names of all peers
  const { userLimits } = report.getReport() as {
    userLimits?: { open_files: { soft: number | 'unlimited' } };
  };
  const soft = userLimits?.open_files.soft ?? 'unlimited';
  return soft === 'unlimited' ? Infinity : soft;
}
