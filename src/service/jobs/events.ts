/**
 * System events of jobs (contract O8): a job completed, or failed for good. A completion is in the append of the result.
 * Proven by `test/service/jobs/events.test.ts`.
 */
import type { EventDraft } from '../../core/event/record.ts';
import type { ClaimedJob } from '../../store/port/store.ts';
import { systemEvent } from '../system.ts';

type Ended = Pick<ClaimedJob, 'jobId' | 'type' | 'runId'>;
interface Context {
  readonly nowMs: number;
  readonly salt: () => string;
}

export const jobCompleted = ({ jobId, type, runId }: Ended, context: Context): EventDraft =>
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
  { jobId, type, runId, attempt }: Ended & Pick<ClaimedJob, 'attempt'>,
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
