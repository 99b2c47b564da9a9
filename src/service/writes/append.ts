/**
 * The only way in which handlers append. The store writes the whole request in one durable transaction; then
 * readers that wait for events wake. A crash before the store answers leaves all of the request or none of
 * it. Proven by `test/service/writes/append.test.ts` and `test/service/events/handlers.engines.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import {
  rangeOf,
  type AppendOutcome,
  type AppendRequest,
  type Effect,
  type Expectations,
} from '../../store/port/store.ts';
import type { ReplayedResponse } from '../call/answer.ts';
import { noteLeaves, wantsReceipt } from '../log/receipts.ts';
import type { RefusedAppend, StoredAppend } from '../log/append-result.ts';
import type { Services } from '../port/services.ts';
import { forgettingRefused, requiredOf, type Requester } from './asking.ts';

/** Effects that need a caller whom the store checks. */
type CallersEffect = Extract<
  Effect,
  {
    kind:
      | 'requireCaller'
      | 'saveApiKey'
      | 'changeApiKey'
      | 'revokeApiKey'
      | 'changeProject'
      | 'setCustomer'
      | 'decideApproval'
      | 'eraseFields';
  }
>;

export type PlainEffect = Exclude<Effect, CallersEffect>;

/** A request of a known caller. Meter and expectations are options. */
type CallersRequest = Omit<AppendRequest, 'meter' | 'expect'>;

/** A request without effects that need a known caller. */
export type PlainRequest = Omit<CallersRequest, 'effects'> & {
  readonly effects?: readonly PlainEffect[];
};

/** Units of a request, and the quota that they use. `src/service/billing/quota.ts` makes it. */
export interface Meter {
  readonly counts: AppendRequest['meter'] & object;
  /** Gets the units of the month, with those of this request. Must not throw or wait. */
  readonly stored?: (used: number) => void;
  /** The error for a request above the quota. */
  readonly refused: (excess: Extract<AppendOutcome, { outcome: 'over_quota' }>) => GovError;
}

export interface AppendOptions {
  /**
   * The caller, whom the store checks in the transaction: INVALID_CREDENTIAL and INSUFFICIENT_SCOPE where the
   * credential has changed since this process cached it.
   */
  readonly by?: Requester;
  /** What the request counts: QUOTA_EXCEEDED where the month has too few units left. Absent: nothing. */
  readonly meter?: Meter;
  /** The state that the caller decided on. Where it has changed, the result is a refusal. */
  readonly expect?: Expectations;
}

type RequestOf<Options> = Options extends { readonly by: Requester } ? CallersRequest : PlainRequest;
type ResultOf<Options> =
  | StoredAppend
  | ReplayedResponse
  | ('expect' extends keyof Options ? RefusedAppend : never);

/**
 * Appends a request to the log of its project, whole or not at all, and returns when it is durable.
 *
 * - The caller MUST look for `replayed` first where the request has an idempotency key. The result is then
 *   the answer to an earlier, equal request, and this one wrote nothing.
 * - The caller MUST read and decide again after a refusal, and MUST NOT send the same request again.
 *   `untilStored` repeats, with a limit.
 * - The caller MUST NOT decide on state that another request can change, unless `expect` or an effect names
 *   that state.
 * - The caller MUST NOT take STORAGE_FAULT to mean that nothing was stored: only a repeat with the same
 *   idempotency key or `clientEventId` is safe.
 *
 * Errors: IDEMPOTENCY_KEY_REUSE, CLIENT_EVENT_ID_CONFLICT of a `whole` request, STORAGE_FULL, STORAGE_FAULT,
 * and those of options and effects.
 */
export function append<Options extends AppendOptions = Record<never, never>>(
  services: Services,
  request: RequestOf<Options>,
  options?: Options,
): Promise<ResultOf<Options>>;
export async function append(
  services: Services,
  request: CallersRequest,
  { by, meter, expect }: AppendOptions = {},
): Promise<StoredAppend | ReplayedResponse | RefusedAppend> {
  const { store, tail, checkpoints, now } = services;
  const required = by === undefined ? null : requiredOf(by, now());
  const whole: AppendRequest = {
    ...request,
    ...(required === null ? {} : { effects: [required, ...(request.effects ?? [])] }),
    ...(meter === undefined ? {} : { meter: meter.counts }),
    ...(expect === undefined ? {} : { expect }),
    ...(wantsReceipt(request.projectId) ? { paths: true } : {}),
  };
  const result = await (by === undefined
    ? store.append(whole)
    : forgettingRefused(services, by, () => store.append(whole)));
  switch (result.outcome) {
    case 'stored':
      if (request.leaves.length > 0) {
        tail.grew(request.projectId);
        checkpoints.grew(request.projectId);
      }
      if (result.home !== undefined) wakeHome(services, result.home);
      noteLeaves(request.projectId, result.stored?.leaves ?? rangeOf(result.assigned));
      meter?.stored?.(result.used);
      return result;
    case 'replayed':
      noteLeaves(request.projectId, result.response.leaves);
      return { replayed: result.response };
    case 'key_reused':
      throw keyReused();
    case 'over_quota':
      throw meter?.refused(result) ?? unexpected(result);
    case 'stale':
    case 'outdated':
    case 'revised':
      if (expect === undefined) throw unexpected(result);
      return result;
  }
}

const unexpected = ({ outcome }: AppendOutcome): Error =>
  new Error(`expected an append without this option to be stored, got ${outcome}`);

/** Wakes readers of a home project's log after another project's append added an event to it. */
export function wakeHome({ tail, checkpoints }: Services, home: string): void {
  tail.grew(home);
  checkpoints.grew(home);
}

export const keyReused = (): GovError =>
  new GovError('IDEMPOTENCY_KEY_REUSE', 'expected a fresh Idempotency-Key for another request');
