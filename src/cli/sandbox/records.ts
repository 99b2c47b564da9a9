/**
 * Events of source `kernel`: what `gov run --sandbox` saw below the client. `x.kernel.exec` is a program that started, with the
 * decision about it; nothing waited for that decision. `x.kernel.connect` is a connection through the proxy, which waited.
 * Tested by `test/cli/sandbox/run.test.ts`.
 */
import { randomBytes } from 'node:crypto';
import { basename } from 'node:path';
import type { Client } from '../../client/create.ts';
import type { EventInput } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import type { ToolDecision } from '../../contract/tools.ts';
import type { Policies } from './decide.ts';
import type { Target, Verdict } from './proxy.ts';
import type { StartedProgram } from './watch.ts';

const kernelSource = { recordedBy: 'kernel' } as const;

/** A changed policy counts for programs after so long. */
const keptMs = 5000;

export interface RecordedRun {
  readonly runId: string;
  readonly actor: EventInput['actor'];
  readonly now: () => number;
}

/** Sends events in their order, several at a time. */
export class KernelRecords {
  readonly #client: Client;
  readonly #policies: Policies;
  readonly #run: RecordedRun;
  /** Names the events of this sandbox, so that a repeated request records none twice. */
  readonly #id = randomBytes(8).toString('hex');
  /** Decisions about programs that started a moment ago with the same words: builds start one program again and again. */
  readonly #decided = new Map<string, { readonly decision: Promise<ToolDecision>; readonly atMs: number }>();
  #count = 0;
  #waiting: (StartedProgram | EventInput)[] = [];
  #sending: Promise<void> | null = null;
  /** The first failure. Nothing is sent after it. */
  failure: unknown = null;

  constructor(client: Client, policies: Policies, run: RecordedRun) {
    this.#client = client;
    this.#policies = policies;
    this.#run = run;
  }

  /** Records one event at once. Throws where that fails. */
  async record(
    eventType: string,
    action: string,
    metadata: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    await this.#client.createEvent({ body: this.#event({ eventType, action, metadata }) });
  }

  started(program: StartedProgram): void {
    this.#add(program);
  }

  /** Decides a connection, and records it with its decision. Throws where nobody decides. */
  async connect({ host, port }: Target): Promise<Verdict> {
    const { decision, allowed, reason, evaluationId } = await this.#policies.decide('connect', {
      host,
      port,
    });
    const metadata = { host, port, decision, decidedBy: evaluationId };
    this.#add(this.#event({ eventType: 'x.kernel.connect', action: 'connect', metadata }));
    return { allowed, reason };
  }

  /** Waits until all is sent. Throws the first failure. */
  async end(): Promise<void> {
    while (this.#sending !== null) await this.#sending;
    if (this.failure !== null) throw this.failure;
  }

  #event({
    eventType,
    action,
    metadata,
    ms = this.#run.now(),
    resource,
  }: {
    eventType: string;
    action: string;
    metadata: Readonly<Record<string, unknown>>;
    ms?: number;
    resource?: EventInput['resource'];
  }): EventInput {
    const { runId, actor } = this.#run;
    return {
      runId,
      eventType,
      actor,
      action,
      timestamp: new Date(ms).toISOString(),
      metadata: { ...kernelSource, ...metadata },
      clientEventId: `kernel-${this.#id}-${this.#count++}`,
      ...(resource === undefined ? {} : { resource }),
    };
  }

  #add(item: StartedProgram | EventInput): void {
    if (this.failure !== null) return;
    this.#waiting.push(item);
    this.#sending ??= this.#send().catch((cause: unknown) => {
      this.failure ??= cause;
      this.#waiting = [];
      this.#sending = null;
    });
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const some = this.#waiting.splice(0, limits.sandboxBatch);
      const events: EventInput[] = [];
      for (const item of some) events.push('eventType' in item ? item : await this.#ofProgram(item));
      const { body } = await this.#client.createEvents({ body: { events } });
      const refused = body.results.find(({ status }) => status === 'rejected');
      if (refused !== undefined)
        throw new Error(`an event was refused: ${refused.reason ?? 'no reason given'}`);
    }
    this.#sending = null;
  }

  #decisionOn(argv: readonly string[]): Promise<ToolDecision> {
    const key = JSON.stringify(argv);
    const nowMs = this.#run.now();
    const kept = this.#decided.get(key);
    if (kept !== undefined && nowMs - kept.atMs < keptMs) return kept.decision;
    if (this.#decided.size >= limits.sandboxBatch) this.#decided.clear();
    const decision = this.#policies.probe('exec', { argv });
    this.#decided.set(key, { decision, atMs: nowMs });
    return decision;
  }

  async #ofProgram({ ms, pid, ppid, path, argv, isCut }: StartedProgram): Promise<EventInput> {
    const { decision, matchedPolicies } = await this.#decisionOn([path, ...argv.slice(1)]);
    const metadata = {
      pid,
      ppid,
      path,
      argv,
      ...(isCut ? { cut: true } : {}),
      decision,
      ...(decision === 'allow' ? {} : { policies: matchedPolicies.map(({ policyId }) => policyId) }),
    };
    const name = basename(path).slice(0, limits.actionChars);
    return this.#event({
      eventType: 'x.kernel.exec',
      action: 'exec',
      metadata,
      ms,
      resource: { name: name === '' ? path : name, type: 'program' },
    });
  }
}
