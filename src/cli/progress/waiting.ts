/**
 * Waits for work of the service, within one time limit: jobs (contract H1 to H7), exports, reports. Not sooner than
 * Retry-After.
 * Tested by `test/cli/commands/jobs/wait.test.ts` against a real server.
 */
import type { Answer, Client } from '../../client/create.ts';
import { pause } from '../../client/retry.ts';
import { isOpen } from '../../contract/job-words.ts';
import type { Table } from '../../contract/table.ts';
import { backoffMs } from '../../core/backoff.ts';
import { shellWord } from '../../core/shell-word.ts';
import { CliError, exit } from '../program/exit.ts';
import type { Invocation } from '../context/command.ts';
import { startProgress } from './show.ts';

export type Job = Answer<Table['getJob']>['body'];

export const defaultWaitMs = 600_000;

export interface WaitOptions {
  readonly jobId: string;
  /** On `performance.now()`'s clock. */
  readonly deadline: number;
}

/** Returns the job after it has completed, failed or been cancelled. Errors: exit 8 at the deadline; the job continues. */
export function waitForJob(
  client: Client,
  { jobId, deadline }: WaitOptions,
  call: Pick<Invocation, 'out' | 'io' | 'signal'>,
): Promise<Job> {
  return waitUntil(call, deadline, async () => {
    const { body, headers } = await client.getJob({ params: { jobId } });
    if (!isOpen(body.status)) return { done: body };
    const stillOpen = new CliError(
      exit.pending,
      `job ${jobId} is still ${body.status}; it continues at the service`,
      { code: 'PENDING', next: [`gov jobs wait ${shellWord(jobId)}`] },
    );
    return { open: `job ${body.status}`, stillOpen, advisedSeconds: Number(headers['retry-after'] ?? '0') };
  });
}

/** The state of what a command waits for. */
type State<Result> =
  | { readonly done: Result }
  | {
      /** Words for the progress line. */
      readonly open: string;
      /** The error at the deadline. */
      readonly stillOpen: CliError;
      /** Of the service: ask not sooner. */
      readonly advisedSeconds?: number;
    };

const backoff = { firstMs: 100, mostMs: 2000, jitter: 0 };
const mostAdvisedMs = 10_000;

/** Asks, less and less often, until the work is done. `deadline`: on `performance.now()`'s clock. Errors: `stillOpen`, those of `ask`. */
export async function waitUntil<Result>(
  call: Pick<Invocation, 'out' | 'io' | 'signal'>,
  deadline: number,
  ask: () => Promise<State<Result>>,
): Promise<Result> {
  const progress = startProgress(call);
  try {
    for (let asked = 1; ; asked += 1) {
      const state = await ask();
      if ('done' in state) return state.done;
      progress.at(state.open);
      const left = deadline - performance.now();
      if (left <= 0) throw state.stillOpen;
      const advisedMs = Math.min(mostAdvisedMs, (state.advisedSeconds ?? 0) * 1000) || 0;
      await pause(Math.min(left, Math.max(advisedMs, backoffMs(backoff, asked, 0))), call.signal);
    }
  } finally {
    progress.stop();
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
    next: [isEmpty ? 'gov runs list' : `gov jobs retry ${shellWord(job.jobId)}`],
  });
}
