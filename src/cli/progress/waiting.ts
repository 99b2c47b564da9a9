/**
 * Waits for a job (contract H1 to H7). It polls at the interval of Retry-After, within one time limit.
 * Tested by `test/cli/commands/jobs/wait.test.ts` against a real server.
 */
import type { Answer, Client } from '../../client/create.ts';
import { pause } from '../../client/retry.ts';
import { isOpen } from '../../contract/job-words.ts';
import type { Table } from '../../contract/table.ts';
import { CliError, exit } from '../program/exit.ts';
import type { Invocation } from '../context/command.ts';
import { startProgress, type Progress } from './show.ts';

export type Job = Answer<Table['getJob']>['body'];

export const defaultWaitMs = 600_000;
const leastPauseMs = 200;
const mostPauseMs = 10_000;

export interface WaitOptions {
  readonly jobId: string;
  /** On `performance.now()`'s clock. */
  readonly deadline: number;
}

/** Returns the job after it has completed, failed or been cancelled. Errors: exit 8 at the deadline; the job continues. */
export async function waitForJob(
  client: Client,
  options: WaitOptions,
  call: Pick<Invocation, 'out' | 'io' | 'signal'>,
): Promise<Job> {
  const progress = startProgress(call);
  try {
    return await ended(client, { ...options, signal: call.signal, progress });
  } finally {
    progress.stop();
  }
}

async function ended(
  client: Client,
  options: WaitOptions & { readonly signal: AbortSignal; readonly progress: Progress },
): Promise<Job> {
  const { jobId, deadline, signal, progress } = options;
  for (let asked = 0; ; asked += 1) {
    const { body, headers } = await client.getJob({ params: { jobId } });
    if (!isOpen(body.status)) return body;
    progress.at(`job ${body.status}`);
    const advised = Number(headers['retry-after'] ?? '0') * 1000;
    const growing = leastPauseMs * 2 ** Math.min(asked, 4);
    const delay = Math.min(mostPauseMs, Math.max(growing, Number.isFinite(advised) ? advised : 0));
    const left = deadline - performance.now();
    if (left <= 0) {
      throw new CliError(exit.pending, `job ${jobId} is still ${body.status}; it continues at the service`, {
        code: 'PENDING',
        next: [`gov jobs wait ${jobId}`],
      });
    }
    await pause(Math.min(delay, left), signal);
  }
}

/** Says that a job failed, and why, or that it was cancelled. A service of an older release does not say why here. */
export const jobFailure = ({ jobId, status, errorSummary }: Pick<Job, 'jobId'> & Partial<Job>): string =>
  status === 'cancelled'
    ? `job ${jobId} was cancelled`
    : `job ${jobId} failed${(errorSummary ?? '') === '' ? '' : `: ${errorSummary}`}`;

/** The error of a command that needed the result of the job. */
export function unfinished(job: Job): CliError {
  // of a service of an older release, which accepts it; a run gets events from its agent, not from another try
  const isEmpty = job.errorSummary?.startsWith('RUN_HAS_NO_EVENTS') === true;
  return new CliError(isEmpty ? exit.notFound : exit.error, jobFailure(job), {
    code: job.status === 'cancelled' ? 'JOB_CANCELLED' : 'JOB_FAILED',
    next: [isEmpty ? 'gov runs list' : `gov jobs retry ${job.jobId}`],
  });
}
