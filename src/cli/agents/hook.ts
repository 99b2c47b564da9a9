/**
 * `gov hook CLIENT`: what a client of agents runs at each moment of a session. Before a tool it asks the plane, records the
 * decision, and answers in the client's form; at other moments it records. A call runs only after a decision that is
 * durable in the log: anything else (input that cannot be read, a plane that is away, slow or full) blocks it, within
 * `limits.hookSeconds`. A crash here leaves no answer, which clients take as `gov agents install` tells them: block.
 *
 * A hook runs before each call, so this file loads little: it has its own bundle (`scripts/build.ts`), and sends its two
 * requests without the typed client. Tested by `test/cli/agents/hook.test.ts` against a real plane.
 */
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { GovApiError, GovNetworkError } from '../../client/errors.ts';
import { decidedApproval } from '../../client/sending/decided-approval.ts';
import { keepAnswer } from '../../client/sending/kept-answers.ts';
import { receiptedAnswer } from '../../client/receipts/receipted.ts';
import { isTransient, pause, retryDelayMs } from '../../client/retry.ts';
import { Connection, type Reply } from '../../client/transport.ts';
import { version } from '../../client/version.ts';
import { limits } from '../../contract/limits.ts';
import type { ToolCall, ToolDecision } from '../../contract/tools.ts';
import type { EventInput } from '../../contract/events.ts';
import type { AgentClient } from '../../core/agents/clients.ts';
import {
  blocked,
  complained,
  decided,
  goOn,
  warned,
  type HookAnswer,
} from '../../core/agents/hook-answer.ts';
import { callOf, linkEvent, reportEvent, rulingEvent } from '../../core/agents/hook-events.ts';
import { readHookInput, type HookedTool, type HookInput } from '../../core/agents/hook-input.ts';
import { receiptsFolder } from '../context/config.ts';
import { callFacts } from './facts.ts';
import { sessionsFolder } from './session-workspace.ts';
import { mayFailOpen, reach, type PlaneConnection } from './connection-file.ts';
import { isMcpName, mcpTool } from './mcp/proxied.ts';

export interface HookOptions {
  readonly client: AgentClient;
  /** Path of the file with address and key. */
  readonly config: string;
  /** `open`: the call runs if no decision is available. Needs an administrator's file too. */
  readonly fail: 'closed' | 'open';
  /** How long a call may wait for the decision of a person, in seconds; 0: not. The client waits longer. */
  readonly hold: number;
}

/** Paths of the operations. A test compares them with the contract. */
export const hookPaths = {
  evaluate: '/mcp/tools/evaluate',
  record: '/events',
  wait: '/approvals/{approvalId}/standing',
} as const;

/** Reads standard input, and writes the answer. Never throws. Returns the exit code. */
export async function hook(options: HookOptions, stdin: NodeJS.ReadStream = process.stdin): Promise<number> {
  const stop = AbortSignal.timeout(Math.max(1, Math.ceil((limits.hookSeconds - process.uptime()) * 1000)));
  const answer = await answerTo(options, { stdin, stop }).catch((cause: unknown) =>
    blocked(`the call did not run: ${messageOf(cause)}`),
  );
  stdin.destroy();
  return write(answer);
}

/** The client reads both to their end; a client that has gone gets nothing, and runs nothing. */
function write({ stdout, stderr, exitCode }: HookAnswer): number {
  try {
    if (stderr !== '') writeSync(2, stderr);
    if (stdout !== '') writeSync(1, stdout);
    return exitCode;
  } catch {
    return 2;
  }
}

async function answerTo(
  options: HookOptions,
  { stdin, stop }: { readonly stdin: NodeJS.ReadStream; readonly stop: AbortSignal },
): Promise<HookAnswer> {
  const bytes = await readAll(stdin, stop);
  if (typeof bytes === 'string') return blocked(`the call did not run: ${bytes}`);
  const input = readHookInput(options.client, bytes);
  if ('fault' in input) {
    return input.gates
      ? blocked(`the call did not run: ${input.fault}`)
      : complained(`not recorded: ${input.fault}`);
  }
  const { tool } = input;
  if (input.moment === 'call' && tool !== null) return ruled(input, tool, { options, stop });
  try {
    await new Plane(options.config, stop).record(reportEvent(input, { id: randomUUID(), nowMs: Date.now() }));
    return goOn;
  } catch (cause) {
    return complained(`${input.eventName} was not recorded: ${explain(cause, options)}`);
  }
}

/** Decides one call. An MCP tool first needs its server. */
function ruled(
  input: HookInput,
  tool: HookedTool,
  { options, stop }: { readonly options: HookOptions; readonly stop: AbortSignal },
): Promise<HookAnswer> | HookAnswer {
  const gate = new Gate(options, stop);
  if (tool.mcp === null || tool.isNamedApart || !isMcpName(tool.name)) return gate.rule(input, tool);
  const { client, cwd } = input;
  const mcp = mcpTool(options.config, { client, toolName: tool.name, cwd });
  if (mcp === null)
    return blocked(
      `the call did not run: ${tool.name} can mean tools of several MCP servers. Give the servers names without "__", then run: gov agents install`,
    );
  return gate.rule(input, { ...tool, mcp });
}

/** Decides one call. */
class Gate {
  readonly #options: HookOptions;
  readonly #stop: AbortSignal;

  constructor(options: HookOptions, stop: AbortSignal) {
    this.#options = options;
    this.#stop = stop;
  }

  async rule(input: HookInput, tool: HookedTool): Promise<HookAnswer> {
    const { client } = this.#options;
    let decision: ToolDecision | undefined;
    try {
      const plane = new Plane(this.#options.config, this.#stop);
      const call = callOf(input, tool, callFacts(input, tool, plane.place));
      decision = await plane.evaluate(call);
      if (await this.#isDecided(plane, decision)) decision = await plane.evaluate(call);
      const stamp = { id: decision.evaluationId, nowMs: Date.now() };
      await plane.link(input);
      await plane.record(rulingEvent(input, { tool, decision }, stamp));
      return decided(client, decision);
    } catch (cause) {
      const why = explain(cause, this.#options);
      if (decision?.allowed === false) {
        const { stdout, exitCode } = decided(client, decision);
        return { stdout, stderr: `gov: the refusal was not recorded: ${why}\n`, exitCode };
      }
      return this.#undecided(cause, why);
    }
  }

  /** Waits for the person, where the client waits for this hook: whether the person has decided. */
  async #isDecided(plane: Plane, decision: ToolDecision): Promise<boolean> {
    const { client, hold } = this.#options;
    if (hold === 0 || client === 'cursor' || decision.approvalId === null) return false;
    const wait = decision.obligations.find(({ type }) => type === 'wait_for_approval')?.params ?? {};
    const { holdSeconds } = wait;
    const seconds = Math.min(hold, typeof holdSeconds === 'number' ? holdSeconds : 0);
    return seconds > 0 && plane.waitFor(decision.approvalId, seconds);
  }

  /** No decision is available, or it could not be recorded. */
  #undecided(cause: unknown, why: string): HookAnswer {
    const { client, fail } = this.#options;
    if (fail === 'closed') return blocked(`the call did not run: ${why}`);
    // a refusal of the server is an answer, and opens nothing
    if (cause instanceof GovApiError && !isTransient(cause) && cause.status < 500)
      return blocked(`the call did not run: ${why}`);
    if (mayFailOpen()) return warned(client, `gov lets this call run without a decision: ${why}`);
    return blocked(
      `the call did not run: ${why} --fail open changes nothing here: it needs "allowFailOpen": true in /etc/gov/agents.json, owned by root.`,
    );
  }
}

/** The requests of a hook. */
class Plane {
  readonly #connection: Connection;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #credential: Pick<PlaneConnection, 'key' | 'pin'>;
  readonly #startedIn: PlaneConnection['startedIn'];
  #stop: AbortSignal;
  readonly #receipts: string;
  /** Its address, and the folder that keeps the workspaces of sessions. */
  readonly place: { readonly baseUrl: string; readonly sessions: string };

  /** `config`: path of the file with address and key. Errors: exit 2, naming the file. */
  constructor(config: string, stop: AbortSignal) {
    const { baseUrl, key, ca, proxy, pin, startedIn } = reach(config);
    this.#credential = { key, pin };
    this.#startedIn = startedIn;
    this.place = { baseUrl, sessions: sessionsFolder(config) };
    this.#receipts = receiptsFolder(config);
    this.#connection = new Connection({
      baseUrl,
      ca,
      env: proxy === null ? {} : { HTTP_PROXY: proxy, HTTPS_PROXY: proxy },
    });
    this.#stop = stop;
    this.#headers = {
      accept: 'application/json, application/problem+json',
      'content-type': 'application/json',
      'user-agent': `gov/${version} hook`,
    };
  }

  async evaluate(call: ToolCall): Promise<ToolDecision> {
    const decision = await this.#post(hookPaths.evaluate, call);
    // without these two members it is not an answer of gov
    if (typeof decision?.allowed === 'boolean' && typeof decision.evaluationId === 'string') return decision;
    throw new GovNetworkError('INVALID_RESPONSE', 'expected a decision, got another answer');
  }

  /** Below `gov run --sandbox`, records where the decisions of the session are. */
  async link(input: HookInput): Promise<void> {
    const event = this.#startedIn === null ? null : linkEvent(input, this.#startedIn);
    if (event !== null) await this.#post(hookPaths.record, event);
  }

  async record(event: EventInput): Promise<void> {
    await this.#post(hookPaths.record, event);
    this.#connection.close();
  }

  /**
   * Waits until the approval is decided: true; or until the time is over, or the plane is gone: false. What follows has the
   * time of a hook again.
   */
  async waitFor(approvalId: string, seconds: number): Promise<boolean> {
    const untilMs = Date.now() + seconds * 1000;
    const path = hookPaths.wait.replace('{approvalId}', encodeURIComponent(approvalId));
    this.#stop = AbortSignal.timeout((seconds + limits.hookSeconds) * 1000);
    try {
      const ask = async (waitSeconds: number): Promise<unknown> => {
        const { text } = await this.#exchange({
          method: 'GET',
          path: `${path}?waitSeconds=${waitSeconds}`,
          headers: this.#headers,
          timeoutMs: (waitSeconds + limits.hookSeconds) * 1000,
        });
        return membersIn(text)['status'];
      };
      return (await decidedApproval(ask, { untilMs, signal: this.#stop })) !== 'pending';
    } catch {
      return false; // the refusal says how to go on
    } finally {
      this.#stop = AbortSignal.timeout(limits.hookSeconds * 1000);
    }
  }

  async #post(path: string, body: ToolCall | EventInput): Promise<ToolDecision | null> {
    const bytes = Buffer.from(JSON.stringify(body));
    const headers = { ...this.#headers, 'idempotency-key': randomUUID() };
    const timeoutMs = limits.hookSeconds * 1000;
    const reply = await this.#exchange({ method: 'POST', path, headers, body: bytes, timeoutMs });
    const answer = JSON.parse(reply.text) as ToolDecision; // checked by the caller
    const receipted = receiptedAnswer(reply.headers, answer);
    if (receipted !== null) keepAnswer(this.#receipts, receipted);
    return answer;
  }

  /** Sends a request, and again where that may help. */
  async #exchange(request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: Uint8Array;
    readonly timeoutMs: number;
  }): Promise<{ readonly text: string; readonly headers: Reply['headers'] }> {
    const { key, pin } = this.#credential;
    const bound = {
      method: request.method,
      target: this.#connection.fullPath(request.path),
      idempotencyKey: request.headers['idempotency-key'],
      body: request.body ?? new Uint8Array(),
    };
    for (let attempt = 0; ; attempt += 1) {
      try {
        const token = pin === null ? key : pin.tokenFor(bound);
        const reply = await this.#connection.exchange({
          ...request,
          headers: { ...request.headers, authorization: `Bearer ${token}` },
          body: request.body,
          maxBytes: limits.hookAnswerBytes,
          signal: this.#stop,
        });
        pin?.requireProven(reply, token);
        const { status, headers, bytes } = reply;
        const text = Buffer.from(bytes).toString();
        if (status !== 200 && status !== 201) throw new GovApiError(status, membersIn(text), headers);
        return { text, headers };
      } catch (failure) {
        const delayMs = retryDelayMs(failure, attempt, Math.random());
        if (delayMs === null || attempt >= retries) throw failure;
        await pause(delayMs, this.#stop);
      }
    }
  }
}

/** A plane that restarts is back within a second. */
const retries = 2;

/** The members of an object. */
function membersIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {}; // the status says what happened
  }
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** Says what happened and what to do. */
function explain(cause: unknown, { config }: HookOptions): string {
  if (cause instanceof GovApiError) {
    const field = cause.errors[0];
    const where = field === undefined ? '' : ` (${field.pointer}: ${field.detail})`;
    const status = `the plane answered ${cause.status} ${cause.code}: ${cause.detail}${where}.`;
    if (cause.status === 401 || cause.status === 403)
      return `${status} Its key is named in ${config}: make a new one with gov agents install.`;
    return cause.status >= 500 ? `${status} See gov plane doctor.` : status;
  }
  if (isTimeout(cause))
    return `no answer of the plane within ${limits.hookSeconds} s. See gov plane status; the address is in ${config}.`;
  if (cause instanceof GovNetworkError && cause.code === 'UNPROVEN_ANSWER')
    return `${cause.message}: ${cause.hint ?? ''}. The pinned keys are named in ${config}.`;
  if (cause instanceof GovNetworkError)
    return `${cause.message}. Start the plane with gov plane serve; its address is in ${config}.`;
  const hint =
    cause instanceof Error && 'hint' in cause && typeof cause.hint === 'string' ? ` ${cause.hint}` : '';
  return `${messageOf(cause)}.${hint}`;
}

const isTimeout = (cause: unknown): boolean =>
  (cause instanceof Error && cause.name === 'TimeoutError') ||
  (cause instanceof GovNetworkError && cause.code === 'TIMEOUT');

/** Returns all of standard input, or why not. */
async function readAll(stdin: NodeJS.ReadStream, stop: AbortSignal): Promise<Uint8Array | string> {
  const chunks: Buffer[] = [];
  let size = 0;
  const close = (): unknown => stdin.destroy();
  stop.addEventListener('abort', close, { once: true });
  try {
    for await (const chunk of stdin as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > limits.hookInputBytes)
        return `expected at most ${limits.hookInputBytes} bytes on standard input, got more. Use smaller arguments.`;
    }
  } catch (cause) {
    if (!stop.aborted) return `standard input could not be read: ${messageOf(cause)}.`;
  } finally {
    stop.removeEventListener('abort', close);
  }
  if (stop.aborted) return `standard input did not end within ${limits.hookSeconds} s.`;
  return Buffer.concat(chunks, size);
}
