/** Creates an export and waits for it. Tested by `test/cli/download/run.long.test.ts` against a real service. */
import type { ExportFilters, ExportInput, ExportJob } from '../../contract/exports.ts';
import { shellWord } from '../../core/shell-word.ts';
import type { Client } from '../../client/create.ts';
import type { Invocation } from '../context/command.ts';
import type { FlagValues } from '../program/spec.ts';
import { CliError, exit } from '../program/exit.ts';
import type { exportCreate, exportDownload } from '../specs/prove/export.ts';
import { defaultWaitMs, waitUntil } from '../progress/waiting.ts';

type CreateFlags = Omit<FlagValues<typeof exportCreate>, 'wait'>;

/** Returns the request of the flags. */
export function inputOf(flags: CreateFlags): ExportInput {
  const { resource, format = 'json', run, eventType, status, since, until, proof } = flags;
  const filters: ExportFilters = {
    ...(run === undefined ? {} : { runId: run }),
    ...(eventType === undefined ? {} : { eventType }),
    ...(status === undefined ? {} : { status }),
    ...(since === undefined ? {} : { startTime: since }),
    ...(until === undefined ? {} : { endTime: until }),
  };
  const isFiltered = Object.keys(filters).length > 0;
  return { resource, format, ...(isFiltered ? { filters } : {}), ...(proof ? { includeProof: true } : {}) };
}

/** The parts of an invocation that waiting needs. */
type WaitContext = Pick<Invocation, 'out' | 'io' | 'settings' | 'signal'> & {
  /** The command that downloads the export later. */
  readonly next?: string;
};

/** Returns the command that continues the download to the same file. */
export function againCommand(exportId: string, flags: Partial<DownloadFlags> = {}): string {
  const to = flags.out === undefined ? '' : ` -O ${shellWord(flags.out)}`;
  const more = (['force', 'ndjson', 'verify'] as const).filter((name) => flags[name] === true);
  return `gov export download ${shellWord(exportId)}${to}${more.map((name) => ` --${name}`).join('')}`;
}

type DownloadFlags = FlagValues<typeof exportDownload>;

/** Returns the export after it is complete. Errors: exit 1 if it failed or was cancelled, 5 if it expired, 8 at the deadline. */
export function completed(client: Client, exportId: string, waiting: WaitContext): Promise<ExportJob> {
  const { settings, next = againCommand(exportId) } = waiting;
  const deadline = performance.now() + (settings.timeoutMs ?? defaultWaitMs);
  return waitUntil(waiting, deadline, async () => {
    const { body } = await client.getExport({ params: { exportId } });
    if (body.status === 'completed') return { done: body };
    refuseEnded(body);
    return { open: `export ${body.status}`, stillOpen: stillPending(body, next) };
  });
}

function refuseEnded({ exportId, status, errorSummary }: ExportJob): void {
  if (status === 'failed') {
    const reason = errorSummary === null ? '' : `: ${errorSummary}`;
    throw new CliError(exit.error, `export ${exportId} failed${reason}`, { code: 'EXPORT_FAILED' });
  }
  if (status === 'cancelled') {
    throw new CliError(exit.error, `export ${exportId} was cancelled`, {
      code: 'EXPORT_CANCELLED',
      hint: 'create it again with gov export run',
    });
  }
  if (status === 'expired') {
    throw new CliError(exit.notFound, `export ${exportId} has expired`, {
      code: 'EXPORT_EXPIRED',
      hint: 'create it again with gov export run',
    });
  }
}

const stillPending = ({ exportId, status }: ExportJob, next: string): CliError =>
  new CliError(exit.pending, `export ${exportId} is still ${status}; it continues at the service`, {
    code: 'PENDING',
    next: [next],
  });
