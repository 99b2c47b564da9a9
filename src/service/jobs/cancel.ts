/**
 * Cancels work of the queue (contract H8): one append ends the job and records who ended it, so a crash leaves both or
 * neither. Its worker loses the lease with that append, so a late result is refused. Cancelling again gives the same
 * answer. Proven by `test/service/jobs/cancel.engines.test.ts`.
 */
import { isOpen, type JobStatus } from '../../contract/job-words.ts';
import { GovError } from '../../contract/problems.ts';
import type { EventDraft } from '../../core/events/record.ts';
import { append } from '../writes/append.ts';
import type { PlainAnswer, ReplayedResponse } from '../call/answer.ts';
import type { Caller } from '../call/caller.ts';
import { idempotencyWrite, type Idempotency } from '../call/idempotency.ts';
import { keepAnswer } from '../writes/keep-answer.ts';
import type { Services } from '../port/services.ts';

interface Work<Found, Answer> {
  /** Reads it. NOT_FOUND. */
  readonly find: () => Promise<Found>;
  readonly event: (found: Found, atMs: number) => EventDraft;
  readonly cancelled: (found: Found, atMs: number) => Found;
  readonly answer: (cancelled: Found) => Answer;
  /** Why it cannot be cancelled, and what to do instead. */
  readonly refusal: (found: Found) => string;
}

interface Cancellable {
  readonly jobId: string;
  readonly status: JobStatus | 'expired';
  readonly startedMs: number | null;
}

/** ALREADY_ENDED for work that completed, failed or expired. */
export async function cancel<Found extends Cancellable, Answer extends PlainAnswer>(
  call: { readonly caller: Caller; readonly idempotency: Idempotency | null },
  services: Services,
  { find, event, cancelled, answer, refusal }: Work<Found, Answer>,
): Promise<Answer | ReplayedResponse> {
  const { projectId } = call.caller.project;
  for (;;) {
    const found = await find();
    const { jobId, status, startedMs } = found;
    if (status === 'cancelled') return keepAnswer(call, services, answer(found));
    if (!isOpen(status)) throw new GovError('ALREADY_ENDED', refusal(found));
    const atMs = services.now();
    const answered = answer(cancelled(found, atMs));
    try {
      const stored = await append(services, {
        projectId,
        leaves: [event(found, atMs)],
        effects: [{ kind: 'cancelJob', jobId, from: { status, startedMs }, atMs }],
        ...idempotencyWrite(call.idempotency, answered),
      });
      if ('replayed' in stored) return stored;
    } catch (error) {
      // it was claimed, ended or cancelled in the meantime
      if (error instanceof GovError && error.code === 'CONFLICT') continue;
      throw error;
    }
    services.stopJob(jobId);
    return answered;
  }
}
