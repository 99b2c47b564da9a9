/**
 * `governedInvoke`: a tool call under governance (contract M11). It is evaluated, runs only where that allows it,
 * and leaves two events in the run: `tool.call`, durable before the tool starts, naming its evaluation and, where
 * a person approved it, the approval; and `tool.result`. What was refused leaves `tool.denied`. It fails closed:
 * without a decision, or without a recorded start, nothing runs.
 * Proven by `test/client/governed.test.ts` against a real plane.
 */
import type { Approval } from '../contract/approvals.ts';
import type { EventInput } from '../contract/events.ts';
import { limits } from '../contract/limits.ts';
import type { ToolCall, ToolDecision } from '../contract/tools.ts';
import type { Client } from './create.ts';
import { GovApiError } from './errors.ts';
import { isTransient, pause } from './retry.ts';

/** A call that belongs to a run; `actor` is who calls. */
export type GovernedCall = Omit<ToolCall, 'dryRun'> & Required<Pick<ToolCall, 'runId' | 'actor'>>;

export interface GovernedOptions {
  /**
   * Names this invocation; random where absent. One id is evaluated once, whatever is retried, and run at most
   * once by this process.
   */
  readonly invocationId?: string;
  /**
   * `open`: a tool whose `readOnlyHint` is true runs also where no decision can be had. Default `closed`.
   */
  readonly failMode?: 'closed' | 'open';
  /** How long to wait for a person where a policy escalates; 0, the default, refuses at once. */
  readonly approvalTimeoutMs?: number;
  /** Ends the asking and waiting before the tool starts; what started is recorded to its end. */
  readonly signal?: AbortSignal;
}

/** The tool did not run, and why: what was decided, and the approval it would have needed. */
export class GovToolRefused extends Error {
  override readonly name = 'GovToolRefused';
  readonly decision: ToolDecision;
  readonly approval: Approval | null;

  constructor(detail: string, decision: ToolDecision, approval: Approval | null = null) {
    super(detail);
    this.decision = decision;
    this.approval = approval;
  }
}

/** The tool ran, but its outcome could not be recorded; `outcome` is what it gave. */
export class GovOutcomeUnrecorded extends Error {
  override readonly name = 'GovOutcomeUnrecorded';
  readonly outcome: { readonly value: unknown } | { readonly error: unknown };

  constructor(outcome: GovOutcomeUnrecorded['outcome'], cause: unknown) {
    super('the tool ran, but its outcome could not be recorded', { cause });
    this.outcome = outcome;
  }
}

const invocationIds = new RegExp(`^[A-Za-z0-9._:-]{1,${limits.invocationIdChars}}$`);

/** Invocations that this process started, the newest ones, by the ids that callers gave them. */
const started = new Set<string>();

function claim(id: string): void {
  if (started.has(id)) throw new TypeError(`expected an invocation id that did not run yet, got ${id} again`);
  started.add(id);
  for (const oldest of started) {
    if (started.size <= limits.invocationsHeld) break;
    started.delete(oldest);
  }
}

/**
 * Runs `tool` if the policies allow it, and answers what it answers.
 * @throws GovToolRefused, GovOutcomeUnrecorded, what `tool` throws, and what the client throws where no decision
 * can be had.
 */
export async function governedInvoke<Value>(
  client: Client,
  call: GovernedCall,
  tool: (decision: ToolDecision | null) => Promise<Value> | Value,
  options: GovernedOptions = {},
): Promise<Value> {
  const invocation = new Invocation(client, call, options);
  const granted = await invocation.grant();
  await invocation.begin(granted);
  let value: Value;
  try {
    value = await tool(granted.decision);
  } catch (error) {
    await invocation.end({ error });
    throw error;
  }
  await invocation.end({ value });
  return value;
}

/** What a call may run on; no decision where it runs because `failMode` is open. */
interface Granted {
  readonly decision: ToolDecision | null;
  readonly approval: Approval | null;
}

class Invocation {
  readonly #client: Client;
  readonly #call: GovernedCall;
  readonly #options: GovernedOptions;
  readonly #id: string;

  constructor(client: Client, call: GovernedCall, options: GovernedOptions) {
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

  /** The decision that lets the call run, after a person's approval where it needs one. */
  async grant(): Promise<Granted> {
    const { signal } = this.#options;
    const { body: decision } = await this.#client
      .evaluateTool({ body: { ...this.#call, dryRun: false }, idempotencyKey: `invoke-${this.#id}`, signal })
      .catch((failure: unknown) => {
        if (this.#opensOn(failure)) return { body: null };
        throw failure;
      });
    if (decision === null || decision.allowed) return { decision, approval: null };
    if (decision.approvalId === null) return this.#refuse(decision, null);
    const approval = await this.#approval(decision.approvalId);
    if (approval.status === 'approved') return { decision, approval };
    return this.#refuse(decision, approval);
  }

  /** Durable before the tool starts. A decision is not used after its time; an approval is a decision anew. */
  async begin({ decision, approval }: Granted): Promise<void> {
    if (decision !== null && approval === null && Date.now() >= Date.parse(decision.expiresAt)) {
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
            ...(approval === null ? {} : { approvalId: approval.approvalId }),
          };
    try {
      await this.#record('tool.call', 'call', metadata);
    } catch (failure) {
      if (decision === null) return;
      started.delete(this.#id);
      throw failure;
    }
  }

  async end(outcome: { readonly value: unknown } | { readonly error: unknown }): Promise<void> {
    const failed = 'error' in outcome;
    const told = failed ? { ok: false, error: messageOf(outcome.error) } : { ok: true };
    try {
      await this.#record('tool.result', failed ? 'fail' : 'complete', told);
    } catch (cause) {
      throw new GovOutcomeUnrecorded(outcome, cause);
    }
  }

  /** Records the refusal, then throws it. */
  async #refuse(decision: ToolDecision, approval: Approval | null): Promise<never> {
    const { evaluationId, approvalId } = decision;
    const status = approval === null ? decision.decision : `approval ${approval.status}`;
    await this.#record('tool.denied', 'refuse', { evaluationId, approvalId, status });
    const hint =
      approval?.status === 'pending' ? `; approve it with: gov approvals approve ${approvalId}` : '';
    throw new GovToolRefused(
      `${this.#call.tool.name}: ${status}: ${decision.reason}${hint}`,
      decision,
      approval,
    );
  }

  /** The approval once it is decided or has expired, or as it stands when the time to wait is over. */
  async #approval(approvalId: string): Promise<Approval> {
    const { approvalTimeoutMs = 0, signal } = this.#options;
    const untilMs = Date.now() + approvalTimeoutMs;
    for (let delayMs: number = limits.clientBackoffMs; ; delayMs = Math.min(delayMs * 2, 2000)) {
      const { body } = await this.#client.getApproval({ params: { approvalId }, signal });
      const leftMs = untilMs - Date.now();
      if (body.status !== 'pending' || leftMs <= 0) return body;
      await pause(Math.min(delayMs, leftMs), signal);
    }
  }

  /** Only where the service cannot be asked; what it refuses it refuses. */
  #opensOn(failure: unknown): boolean {
    const { failMode = 'closed' } = this.#options;
    if (failMode !== 'open' || this.#call.tool.annotations?.readOnlyHint !== true) return false;
    return isTransient(failure) || (failure instanceof GovApiError && failure.status >= 500);
  }

  async #record(eventType: string, action: string, metadata: Record<string, unknown>): Promise<void> {
    const { runId, actor, tool } = this.#call;
    const event: EventInput = {
      runId,
      eventType,
      actor,
      resource: { name: tool.name, type: 'tool' },
      action,
      timestamp: new Date().toISOString(),
      metadata: { ...metadata, toolCallId: this.#id },
    };
    await this.#client.createEvent({ body: event, idempotencyKey: `${eventType}-${this.#id}` });
  }
}

/** A text that can be recorded, whatever was thrown. */
function messageOf(error: unknown): string {
  let text = 'an error that cannot be shown';
  try {
    text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    // its toString throws
  }
  // what I-JSON cannot hold: lone surrogates, also those that the cut makes, and U+0000
  return text.slice(0, limits.actionChars).toWellFormed().replaceAll('\0', '\u{fffd}');
}
