/**
 * System events of jobs (contract O8): a job completed, failed for good, or was cancelled. A
 * completion is in the append of the result, and a cancellation in the append that ends the job.
 * Proven by `test/service/jobs/events.test.ts`.
 */
import type { EventDraft } from '../../core/events/record.ts';
import type { ClaimedJob } from '../../store/port/store.ts';
import type { Caller } from '../call/caller.ts';
import { systemEvent } from '../writes/system.ts';

type EndedJob = Pick<ClaimedJob, 'jobId' | 'type' | 'runId'>;
interface Context {
  readonly nowMs: number;
  readonly salt: () => string;
}

export const jobCompleted = ({ jobId, type, runId }: EndedJob, context: Context): EventDraft =>
  systemEvent(
    {
      eventType: 'job.completed',
      action: 'complete',
      actor: { id: 'gov', type: 'service' },
      resource: { id: jobId, type: 'job' },
      metadata: { type, runId },
    },
    context,
  );

/** `attempt`: a job that was retried by hand may fail again, with another event. */
export const jobFailed = (
  { jobId, type, runId, attempt }: EndedJob & Pick<ClaimedJob, 'attempt'>,
  context: Context,
): EventDraft =>
  systemEvent(
    {
      eventType: 'job.failed',
      action: 'fail',
      actor: { id: 'gov', type: 'service' },
      resource: { id: jobId, type: 'job' },
      metadata: { type, runId },
      // a client's own id contains no `/` (contract A2)
      clientEventId: `job/${jobId}/failed/${attempt}`,
    },
    context,
  );

/** `by`: who cancelled it. */
export const jobCancelled = (
  { jobId, type, runId }: EndedJob,
  { by, ...context }: Context & { readonly by: Pick<Caller, 'id' | 'type'> },
): EventDraft =>
  systemEvent(
    {
      eventType: 'job.cancelled',
      action: 'cancel',
      actor: { id: by.id, type: by.type },
      resource: { id: jobId, type: 'job' },
      metadata: { type, runId },
    },
    context,
  );
