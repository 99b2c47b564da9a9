/**
 * `governedInvoke`: a tool call under governance (contract M11). The policies evaluate the call, and the tool runs only
 * if they allow it. An escalated call is evaluated again after a person approved it: the service lets it run once. The run
 * then has two more events: `tool.call`, durable before the tool starts, with the evaluation and any approval; and
 * `tool.result`. A refusal leaves `tool.denied`. It fails closed: without a decision, or without a recorded start, the
 * tool does not run. In fail mode open a read-only tool runs without them, and its result always reaches the caller; what
 * could not be recorded goes to `observe`, and into the run as `recorder.dropped` with the next governed call that gets a
 * decision. Tested by `test/client/governed.test.ts` against a real plane.
 */
import type { Approval, ApprovalStatus } from '../contract/approvals.ts';
import type { EventInput } from '../contract/events.ts';
import { limits } from '../contract/limits.ts';
import type { ToolCall, ToolDecision } from '../contract/tools.ts';
import { visibleText } from '../core/visible.ts';
import { shellWord } from '../core/shell-word.ts';
import type { Client } from './create.ts';
import { decidedApproval } from './sending/decided-approval.ts';
import { GovApiError, GovError } from './errors.ts';
import { lossesOf } from './losses.ts';
import { isTransient } from './retry.ts';

/** A call that belongs to a run; `actor` is the caller. */
export type GovernedCall = Omit<ToolCall, 'dryRun'> & Required<Pick<ToolCall, 'runId' | 'actor'>>;

export interface GovernedOptions<Value = unknown> {
  /**
   * Names this invocation; default: random. One id is decided once, over all retries, and this process runs it at most
   * once.
   */
  readonly invocationId?: string;
  /**
   * `open`: while the service is away, a tool whose `readOnlyHint` is true runs without a decision or a recorded start,
   * and an outcome that cannot be recorded is no error. Default `closed`.
   */
  readonly failMode?: 'closed' | 'open';
  /** Time to wait for a person after an escalation; 0, the default, refuses at once. */
  readonly approvalTimeoutMs?: number;
  /** Waits as long as the plane says, up to this time; default 0. */
  readonly holdMostMs?: number;
  /** Called when the call starts to wait for a person. */
  readonly onHold?: () => void;
  /** Ends evaluation and waiting before the tool starts. A started call is recorded to its end. */
  readonly signal?: AbortSignal;
  /** More about the call for its events. */
  readonly record?: CallRecord<Value>;
}

/** What a gateway that forwards calls knows about one, beyond the call itself. */
interface CallRecord<Value> {
  /** The id by which the model and other sources name the call; default: the invocation id. */
  readonly toolCallId?: string;
  /** Default: `tool`. */
  readonly resourceType?: string;
  /** The program that records the call, as coverage names it. */
  readonly recordedBy?: string;
  /** Further members of `tool.call` and `tool.denied`. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Describes the tool's result, in which a tool can report its own failure. */
  readonly result?: (value: Value) => Readonly<Record<string, unknown>> & { readonly ok: boolean };
}

/**
 * The tool did not run. Carries the decision and the approval that it would have needed. `approval` is null without one, and
 * where the caller's key may not read approvals (scope `governance:read`); `approvalStatus` is known then too.
 */
export class GovToolRefused extends GovError {
  override readonly name = 'GovToolRefused';
  readonly code = 'TOOL_REFUSED';
  readonly retryable = false;
  readonly decision: ToolDecision;
  readonly approval: Approval | null;
  readonly approvalStatus: ApprovalStatus | null;

  constructor(
    detail: string,
    decision: ToolDecision,
    approval: Approval | null = null,
    approvalStatus: ApprovalStatus | null = approval?.status ?? null,
  ) {
    super(detail);
    this.decision = decision;
    this.approval = approval;
    this.approvalStatus = approvalStatus;
  }
}

/**
 * The tool ran, and its outcome could not be recorded. `outcome` is the tool's result. Not thrown for a read-only tool in
 * fail mode open.
 */
export class GovOutcomeUnrecorded extends GovError {
  override readonly name = 'GovOutcomeUnrecorded';
  readonly code = 'OUTCOME_UNRECORDED';
  readonly retryable = false;
  readonly outcome: { readonly value: unknown } | { readonly error: unknown };

  constructor(outcome: GovOutcomeUnrecorded['outcome'], cause: unknown) {
    super('the tool ran, but its outcome could not be recorded', { cause });
    this.outcome = outcome;
  }
}

const invocationIds = new RegExp(`^[A-Za-z0-9._:-]{1,${limits.invocationIdChars}}$`);

/** The newest invocations of this process, by the ids that callers gave them. */
const started = new Set<string>();

function claim(id: string): void {
  if (started.has(id)) throw new TypeError(`expected a new invocation id, got ${id} again`);
  started.add(id);
  for (const oldest of started) {
    if (started.size <= limits.invocationsHeld) break;
    started.delete(oldest);
  }
}

/**
 * Runs `tool` if the policies allow it, and returns its result.
 * @throws GovToolRefused; GovOutcomeUnrecorded; any error of `tool`; the client's error if no decision is available.
 */
export async function governedInvoke<Value>(
  client: Client,
  call: GovernedCall,
  tool: (decision: ToolDecision | null) => Promise<Value> | Value,
  options: GovernedOptions<Value> = {},
): Promise<Value> {
  const invocation = new Invocation<Value>(client, call, options);
  const decision = await invocation.grant();
  await invocation.begin(decision);
  let value: Value;
  try {
    value = await tool(decision);
  } catch (error) {
    await invocation.end({ error });
    throw error;
  }
  await invocation.end({ value });
  return value;
}

class Invocation<Value> {
  readonly #client: Client;
  readonly #call: GovernedCall;
  readonly #options: GovernedOptions<Value>;
  readonly #id: string;

  constructor(client: Client, call: GovernedCall, options: GovernedOptions<Value>) {
    this.#client = client;
    this.#call = call;
    this.#options = options;
    this.#id = options.invocationId ?? crypto.randomUUID();
    if (!invocationIds.test(this.#id)) {
      throw new TypeError(
        `expected an invocation id of 1 to ${limits.invocationIdChars} letters, digits, . _ : or -`,
      );
    }
  }

  /** Returns the decision that lets the call run; null if it runs because `failMode` is open. */
  async grant(): Promise<ToolDecision | null> {
    const askedMs = Date.now();
    let key = `invoke-${this.#id}`;
    for (;;) {
      const decision = await this.#evaluate(key);
      if (decision === null || decision.allowed) return decision;
      const { approvalId } = decision;
      const waitMs = this.#waitMs(decision);
      const untilMs = askedMs + waitMs;
      if (approvalId !== null && waitMs > 0) this.#options.onHold?.();
      const status = approvalId === null ? null : await this.#statusOf(approvalId, untilMs);
      const next = `invoke-${this.#id}-${approvalId}`;
      if (status !== 'approved' || next === key) return this.#refuse(decision, status);
      key = next;
    }
  }

  #waitMs({ obligations }: ToolDecision): number {
    const { approvalTimeoutMs = 0, holdMostMs = 0 } = this.#options;
    const { holdSeconds } = obligations.find(({ type }) => type === 'wait_for_approval')?.params ?? {};
    const heldMs = typeof holdSeconds === 'number' ? holdSeconds * 1000 : 0;
    return Math.max(approvalTimeoutMs, Math.min(heldMs, holdMostMs));
  }

  async #evaluate(idempotencyKey: string): Promise<ToolDecision | null> {
    const { signal } = this.#options;
    try {
      const body = { ...this.#call, dryRun: false };
      return (await this.#client.evaluateTool({ body, idempotencyKey, signal })).body;
    } catch (failure) {
      if (this.#opensOn(failure)) return null;
      throw failure;
    }
  }

  /** Durable before the tool starts. An expired decision is not used. */
  async begin(decision: ToolDecision | null): Promise<void> {
    if (decision !== null) await recordLosses(this.#client);
    if (decision !== null && Date.now() >= Date.parse(decision.expiresAt)) {
      throw new GovToolRefused(
        `expected to start before ${decision.expiresAt}, when the decision expired`,
        decision,
      );
    }
    if (this.#options.invocationId !== undefined) claim(this.#id);
    const metadata =
      decision === null
        ? { failedOpen: true }
        : {
            evaluationId: decision.evaluationId,
            argumentsHash: decision.argumentsHash,
            actionHash: decision.actionHash,
            decision: decision.decision,
            ...(decision.approvalId === null ? {} : { approvalId: decision.approvalId }),
            ...(decision.joined === undefined ? {} : { joined: decision.joined }),
          };
    try {
      await this.#record('tool.call', 'call', metadata);
    } catch (cause) {
      if (decision === null || this.#opensOn(cause)) return this.#lose('tool.call', cause);
      started.delete(this.#id);
      throw cause;
    }
  }

  async end(outcome: { readonly value: Value } | { readonly error: unknown }): Promise<void> {
    try {
      const result =
        'error' in outcome
          ? { ok: false, error: messageOf(outcome.error) }
          : (this.#options.record?.result?.(outcome.value) ?? { ok: true });
      await this.#record('tool.result', result.ok ? 'complete' : 'fail', result);
    } catch (cause) {
      if (!this.#mayOpen()) throw new GovOutcomeUnrecorded(outcome, cause);
      this.#lose('tool.result', cause);
    }
  }

  /** Records the refusal, then throws it, recorded or not: the decision is in the log already. */
  async #refuse(decision: ToolDecision, approvalStatus: ApprovalStatus | null): Promise<never> {
    const { evaluationId, approvalId } = decision;
    const approval = approvalId === null ? null : await this.#readable(approvalId);
    const status = approvalStatus === null ? decision.decision : `approval ${approvalStatus}`;
    // a reason of deny begins with the policy, or with who denied
    const head = status === 'deny' ? '' : `${status}: `;
    try {
      await this.#record('tool.denied', 'refuse', { evaluationId, approvalId, status });
    } catch (cause) {
      this.#lose('tool.denied', cause);
    }
    throw new GovToolRefused(
      visibleText(
        `${this.#call.tool.name}: ${head}${decision.reason}${decision.decision === 'deny' ? '' : personOf(decision, approvalStatus, approval)}`,
      ),
      decision,
      approval,
      approvalStatus,
    );
  }

  /** The status after it is decided or expired, or at the end of the waiting time. Needs only the scope of the call. */
  #statusOf(approvalId: string, untilMs: number): Promise<ApprovalStatus> {
    const { signal } = this.#options;
    const ask = async (waitSeconds: number): Promise<ApprovalStatus> => {
      const { body } = await this.#client.awaitApproval({
        params: { approvalId },
        query: { waitSeconds },
        signal,
        timeoutMs: (waitSeconds + limits.clientTimeoutSeconds) * 1000,
      });
      return body.status;
    };
    return decidedApproval(ask, { untilMs, signal });
  }

  /** The approval with who decided it; null where the key may not read approvals, as that of a run. */
  async #readable(approvalId: string): Promise<Approval | null> {
    try {
      const { signal } = this.#options;
      return (await this.#client.getApproval({ params: { approvalId }, signal })).body;
    } catch (cause) {
      if (cause instanceof GovApiError && cause.status === 403) return null;
      throw cause;
    }
  }

  /** Applies only if the service cannot be reached. A refusal of the service stays a refusal. */
  #opensOn(failure: unknown): boolean {
    if (!this.#mayOpen()) return false;
    return isTransient(failure) || (failure instanceof GovApiError && failure.status >= 500);
  }

  #mayOpen(): boolean {
    return this.#options.failMode === 'open' && this.#call.tool.annotations?.readOnlyHint === true;
  }

  /** Reports and counts an event that could not be recorded. Never throws. */
  #lose(eventType: string, cause: unknown): void {
    const { runId, tool } = this.#call;
    lossesOf(this.#client).add('unsent', runId, 1);
    const reason = cause instanceof Error ? cause.message : String(cause);
    try {
      this.#client.options.observe?.({ kind: 'unrecorded', runId, eventType, tool: tool.name, reason });
    } catch {
      // a mistake in the program's own report must not take the tool's result from it
    }
  }

  async #record(eventType: string, action: string, metadata: Record<string, unknown>): Promise<void> {
    const { runId, actor, tool } = this.#call;
    const {
      toolCallId = this.#id,
      resourceType = 'tool',
      recordedBy,
      metadata: more,
    } = this.#options.record ?? {};
    const event: EventInput = {
      runId,
      eventType,
      actor,
      resource: { name: tool.name, type: resourceType },
      action,
      timestamp: new Date().toISOString(),
      metadata: {
        ...(recordedBy === undefined ? {} : { recordedBy }),
        ...(eventType === 'tool.result' ? {} : more),
        ...metadata,
        toolCallId,
      },
    };
    await this.#client.createEvent({ body: event, idempotencyKey: `${eventType}-${this.#id}` });
  }
}

/** Records in each run what governed calls of this client could not record before. What fails is kept for the next call. */
async function recordLosses(client: Client): Promise<void> {
  const losses = lossesOf(client);
  const events = losses.take(limits.batchEvents);
  if (events.length === 0) return;
  try {
    await client.createEvents({ body: { events } });
  } catch {
    losses.putBack(events);
  }
}

/** What a person did about the call, or has to do, as the end of a message. */
function personOf(
  { approvalId }: ToolDecision,
  status: ApprovalStatus | null,
  approval: Approval | null,
): string {
  if (approvalId !== null && status === 'pending')
    return `; approve it with: gov approvals approve ${shellWord(approvalId)}`;
  if (approval?.status !== 'denied') return '';
  return `; denied by ${approval.decidedBy}${approval.comment === null ? '' : `: ${approval.comment}`}`;
}

/** Returns a recordable text for any thrown value. */
function messageOf(error: unknown): string {
  let text = 'an error without a readable text';
  try {
    text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    // its toString throws
  }
  // I-JSON excludes lone surrogates, also those that the cut makes, and U+0000
  return text.slice(0, limits.actionChars).toWellFormed().replaceAll('\0', '\u{fffd}');
}
