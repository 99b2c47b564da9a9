/** Asks for an export and waits for it. `test/cli/export.test.ts` proves it against a real service. */
import type { ExportFilters, ExportInput, ExportJob } from '../../contract/exports.ts';
import type { Client } from '../../client/client.ts';
import { pause } from '../../client/retry.ts';
import type { FlagValues, Invocation } from '../command.ts';
import { CliError, exit } from '../exit.ts';
import type { exportCreate } from '../specs/exports.ts';
import { defaultWaitMs } from '../waiting.ts';
import { progressOptions, WaitProgress } from './progress.ts';

type Asked = Omit<FlagValues<typeof exportCreate>, 'wait'>;

/** What the flags ask for. */
export function inputOf(flags: Asked): ExportInput {
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

const leastPauseMs = 100;
const mostPauseMs = 2000;

/** What waiting needs; the rest of an invocation is none of its business. */
type Waiting = Pick<Invocation, 'out' | 'io' | 'settings' | 'signal'>;

/** The export once it is complete. Errors: exit 1 where it failed, 5 where it expired, 8 at the deadline. */
export async function completed(client: Client, exportId: string, waiting: Waiting): Promise<ExportJob> {
  const { out, io, settings, signal } = waiting;
  const deadline = performance.now() + (settings.timeoutMs ?? defaultWaitMs);
  const progress = new WaitProgress(progressOptions(out, io));
  try {
    for (let asked = 0; ; asked += 1) {
      const { body } = await client.getExport({ params: { exportId } });
      if (body.status === 'completed') return body;
      refuseEnded(body);
      progress.at(body.status);
      const left = deadline - performance.now();
      if (left <= 0) throw stillPending(body);
      await pause(Math.min(mostPauseMs, leastPauseMs * 2 ** Math.min(asked, 6), left), signal);
    }
  } finally {
    progress.clear();
  }
}

function refuseEnded({ exportId, status, errorSummary }: ExportJob): void {
  if (status === 'failed') {
    const reason = errorSummary === null ? '' : `: ${errorSummary}`;
    throw new CliError(exit.error, `export ${exportId} failed${reason}`, { code: 'EXPORT_FAILED' });
  }
  if (status === 'expired') {
    throw new CliError(exit.notFound, `export ${exportId} has expired`, { code: 'EXPORT_EXPIRED' });
  }
}

const stillPending = ({ exportId, status }: ExportJob): CliError =>
  new CliError(exit.pending, `export ${exportId} is still ${status}; it goes on without us`, {
    code: 'PENDING',
    next: [`gov export download ${exportId}`],
  });
