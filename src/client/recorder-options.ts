/** What a program gives to an `EventRecorder`, and what it gets from it. Tested by `test/client/recorder.test.ts`. */
import type { DropReason } from './losses.ts';

export interface RecorderOptions {
  /** Directory of this process alone, in Node. Without it, events wait in memory only. */
  readonly spool?: string;
  /** Events of one request, at most `limits.batchEvents`; default `limits.recorderBatchEvents`. */
  readonly batchSize?: number;
  /** How long an event waits for others of its batch; default `limits.recorderLingerMs`. */
  readonly lingerMs?: number;
  /** Events in memory, beyond which `record` drops; default `limits.recorderBufferedEvents`. */
  readonly bufferedEvents?: number;
  /** Bytes in the spool, beyond which batches are dropped; default `limits.recorderSpoolBytes`. */
  readonly spoolBytes?: number;
  /** Ends the recorder: it sends no more, and what is in the spool stays. */
  readonly signal?: AbortSignal;
  /** Called for what goes wrong. What it throws is ignored. */
  readonly onProblem?: (problem: RecorderProblem) => void;
}

export type RecorderProblem =
  /** Events that will not be recorded. */
  | {
      readonly kind: 'dropped';
      readonly reason: DropReason;
      readonly events: number;
      readonly cause?: unknown;
    }
  /** The service refused this event, and gave a reason. */
  | { readonly kind: 'rejected'; readonly event: unknown; readonly reason: string }
  /** The service cannot be reached, or refuses the credential. The events wait. */
  | { readonly kind: 'waiting'; readonly cause: unknown }
  /** The log lacks events that the service had acknowledged. The recorder sends them again; see `gov receipts check`. */
  | { readonly kind: 'lost'; readonly events: number }
  /** The log does not begin with a tree that it showed before; see `gov receipts check`. */
  | { readonly kind: 'contradicted' };

/** Counts of events since the recorder was opened. `given` is the sum of the others, less `resumed`. */
export interface RecorderCounts {
  /** Passed to `record`, or written by the recorder about its losses. */
  readonly given: number;
  /** Found in the spool: events of an earlier process. Also events that the log lost, which are sent again. */
  readonly resumed: number;
  /** Stored by the service. */
  readonly sent: number;
  readonly rejected: number;
  /** Not recorded, by reason. */
  readonly dropped: Readonly<Record<DropReason, number>>;
  /** In memory or in the spool. */
  readonly waiting: number;
}
