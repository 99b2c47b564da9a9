/** What sends batches to a receiver, and what the receiver made of them. */
import type { Log } from '../../service/call/log.ts';
import { escapedLine } from '../../core/visible.ts';
import type { LogSource } from '../../core/forwards/record.ts';
import type { Variables } from '../config/layers.ts';

/** One record, encoded. */
export interface Line {
  readonly index: number;
  readonly timeMs: number;
  readonly text: string;
}

export interface Batch {
  readonly source: LogSource;
  /** Leaves [from, to). */
  readonly from: number;
  readonly to: number;
  /** In the order of the log; without the leaves that the filter left out. */
  readonly lines: readonly Line[];
}

export type SendOutcome =
  /** `isKept`: the receiver said that it has the batch. Otherwise `confirm` asks for it. */
  | {
      readonly ok: true;
      readonly isKept: boolean;
      readonly state?: unknown;
      readonly refused?: number;
      readonly said?: string;
    }
  | TransportFailure;

export interface TransportFailure {
  readonly ok: false;
  /** In words, without secrets and without the text of the receiver beyond a line. */
  readonly failed: string;
  readonly retryAfterMs: number | null;
  /** The receiver refuses the content: the same bytes will fail again. */
  readonly isRefused: boolean;
  /** Which line is refused, from 0: the receiver has those before it, and has not read those after it. */
  readonly refusedAt?: number | undefined;
}

export interface Transport {
  /** `state`: what the last batch of this project returned, such as the hash of the last manifest. */
  send(batch: Batch, state: unknown): Promise<SendOutcome>;
  /** Waits until the receiver has read all that was sent. Present where `send` cannot know. */
  confirm?(patienceMs: number): Promise<SendOutcome>;
  /** Never throws. */
  close(): void;
}

export interface TransportOptions {
  readonly env: Variables;
  readonly hostname: string;
  readonly log: Log;
}

export const failed = (
  text: string,
  more: Partial<Omit<TransportFailure, 'ok' | 'failed'>> = {},
): TransportFailure => ({
  ok: false,
  failed: escapedLine(text).slice(0, 300),
  retryAfterMs: null,
  isRefused: false,
  ...more,
});

/** What an error of a socket says, such as `connect ECONNREFUSED 127.0.0.1:6514`. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}
