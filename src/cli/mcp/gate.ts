/**
 * The gate of an MCP proxy: each tool call is decided by the plane and its start is durable before the call is forwarded
 * (`governedInvoke`); its outcome is recorded after. It fails closed: a call whose decision, definition or record cannot be
 * had is answered here, and the server never sees it. Tested by `test/cli/commands/mcp/stdio.test.ts`.
 */
import type { Client } from '../../client/create.ts';
import { GovApiError } from '../../client/errors.ts';
import {
  GovOutcomeUnrecorded,
  governedInvoke,
  GovToolRefused,
  type GovernedCall,
} from '../../client/governed.ts';
import { limits } from '../../contract/limits.ts';
import type { ContentCapture } from '../../contract/projects.ts';
import type { JsonObject } from '../../core/json/canonical.ts';
import { isObject } from '../../core/json/object.ts';
import { asksUser, needsApproval, notRun } from '../../core/mcp/answer.ts';
import { hintsOf } from '../../core/mcp/definition.ts';
import type { CallMessage } from '../../core/mcp/message.ts';
import { shellWord } from '../../core/shell-word.ts';
import { standingAfterLists, type ToolState, type ToolListRequest } from './listing.ts';
import { captured, describeRun, type Run } from './outcome.ts';
import type { Pins } from './pins.ts';
import { codexTurn, runOf, traceOf, type Headers } from './trace.ts';

export interface GateOptions {
  readonly client: Client;
  readonly pins: Pins;
  /** The name of the server in policies: the operator's word, not the server's. */
  readonly server: string;
  /** The run of all calls; default: the one that the client's trace context names. */
  readonly runId?: string | undefined;
  /** The session of the client that started the proxy. */
  readonly session?: string | undefined;
  readonly actor?: string | undefined;
  readonly policyIds?: readonly string[];
  readonly content: ContentCapture;
  readonly warn: (text: string) => void;
}

/** What the two sides say of themselves; none of it is checked. */
export interface Peers {
  readonly client?: { readonly name: string; readonly version?: string | undefined } | undefined;
  readonly server?: { readonly name: string; readonly version?: string | undefined } | undefined;
  readonly protocolVersion?: string | undefined;
}

export interface CallContext {
  readonly peers: Peers;
  readonly headers?: Headers;
  readonly listing: ToolListRequest;
  /** The client has cancelled the call. */
  readonly signal: AbortSignal;
  /** The call waits for a person: messages after it need not wait. */
  readonly onHold?: () => void;
}

const clientInfo = 'io.modelcontextprotocol/clientInfo';
/** Claude Code names the model's own call here, so that all sources of one call join. */
const toolUseId = 'claudecode/toolUseId';
/** The source of the proxy's events in coverage. */
const recordedBy = 'mcp';

export class Gate {
  readonly #options: GateOptions;
  /** Tells calls of this process from those of another one, where the client gives them no id. */
  readonly #instance = crypto.randomUUID().slice(0, 8);
  readonly #recording = new Set<Promise<unknown>>();

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /** Calls that run, and outcomes that are not recorded yet. */
  get open(): number {
    return this.#recording.size;
  }

  /**
   * Runs `forward` if the call may run. Returns the proxy's own answer to a call that did not run; null if it was forwarded,
   * or cancelled before that. Never rejects. Resolves when the outcome is recorded.
   */
  call(call: CallMessage, context: CallContext, forward: () => Promise<Run>): Promise<string | null> {
    const deciding = this.#decide(call, context, forward).finally(() => this.#recording.delete(deciding));
    this.#recording.add(deciding);
    return deciding;
  }

  /** Resolves when all outcomes are recorded, or at the limit. Returns how many are not. */
  async flush(): Promise<number> {
    const late = new Promise<void>((resolve) => {
      setTimeout(resolve, limits.mcpFlushSeconds * 1000).unref();
    });
    await Promise.race([Promise.all(this.#recording), late]);
    return this.#recording.size;
  }

  async #decide(
    call: CallMessage,
    context: CallContext,
    forward: () => Promise<Run>,
  ): Promise<string | null> {
    if (call.answered === 'refused') {
      return notRun(call, 'not run: the question about its approval was not answered with accept.');
    }
    const { server, client, pins, warn } = this.#options;
    const { signal, listing, onHold } = context;
    let standing: ToolState;
    try {
      standing = await standingAfterLists(call.name, { pins, listing, signal });
    } catch (cause) {
      return signal.aborted
        ? null
        : notRun(call, undecided(`the pins of ${server} could not be read`, cause));
    }
    if (standing.is === 'changed' || standing.is === 'hidden') {
      await this.#recordRefused(call, context, standing);
      return notRun(call, refusedText(server, call.name, standing));
    }
    try {
      await governedInvoke<Run>(client, this.#governed(call, context, standing), forward, {
        invocationId: crypto.randomUUID(),
        // a client that asks its user waits itself
        holdMostMs: asksUser(call) ? 0 : limits.mcpHoldSeconds * 1000,
        ...(onHold === undefined ? {} : { onHold }),
        signal,
        record: {
          toolCallId: this.#toolCallId(call),
          resourceType: 'mcp_tool',
          recordedBy,
          metadata: this.#metadata(call, context, standing),
          result: (run) => describeRun(run, this.#options.content),
        },
      });
      return null;
    } catch (failure) {
      if (failure instanceof GovOutcomeUnrecorded) {
        warn(`${call.name} ran, but its outcome could not be recorded: ${reason(failure.cause)}`);
        return null;
      }
      if (failure instanceof GovToolRefused) return refusal(call, failure);
      return signal.aborted
        ? null
        : notRun(call, undecided('no decision, or no record of its start', failure));
    }
  }

  /** The call does not run, recorded or not. */
  async #recordRefused(call: CallMessage, context: CallContext, standing: RefusedTool): Promise<void> {
    const { client, warn } = this.#options;
    const { tool, runId, actor } = this.#governed(call, context, standing);
    const event = {
      runId,
      eventType: 'tool.denied',
      actor,
      resource: { name: tool.name, type: 'mcp_tool' },
      action: 'refuse',
      timestamp: new Date().toISOString(),
      metadata: {
        recordedBy,
        ...this.#metadata(call, context, standing),
        toolCallId: this.#toolCallId(call),
        ...('pinned' in standing ? { pinnedHash: standing.pinned } : {}),
        status: standing.is === 'changed' ? 'definition changed' : 'not listed',
      },
    };
    await client
      .createEvent({ body: event })
      .catch((cause: unknown) =>
        warn(`a refused call of ${tool.name} could not be recorded: ${reason(cause)}`),
      );
  }

  #governed(call: CallMessage, { peers, headers }: CallContext, standing: ToolState): GovernedCall {
    const { server, runId, session, policyIds = [], actor } = this.#options;
    const definition = 'definition' in standing ? standing.definition : undefined;
    const version = peers.server?.version?.slice(0, limits.toolNameChars);
    const hints = definition === undefined ? {} : hintsOf(definition.definition);
    const toolCallId = clientsId(call.meta);
    return {
      tool: {
        name: call.name,
        server,
        ...(version === undefined || version === '' ? {} : { version }),
        ...(definition === undefined ? {} : { schemaHash: definition.hash }),
        ...(Object.keys(hints).length === 0 ? {} : { annotations: hints }),
      },
      arguments: call.arguments,
      runId: runId ?? runOf(call.meta, headers, session) ?? `mcp:${server}:${this.#instance}`,
      actor: actor ?? actorOf(call.meta, peers),
      source: 'mcp',
      ...(toolCallId === undefined ? {} : { toolCallId }),
      ...(policyIds.length === 0 ? {} : { policyIds: [...policyIds] }),
    };
  }

  #toolCallId({ meta, id }: CallMessage): string {
    return clientsId(meta) ?? `mcp:${this.#instance}:${JSON.parse(id)}`.slice(0, limits.actionChars);
  }

  #metadata(
    call: CallMessage,
    { peers, headers }: CallContext,
    standing: ToolState,
  ): Record<string, unknown> {
    const { server, content } = this.#options;
    const revision = call.meta['io.modelcontextprotocol/protocolVersion'] ?? peers.protocolVersion;
    const traceId = traceOf(call.meta, headers);
    return {
      via: 'gov mcp proxy',
      server: { name: server, ...(peers.server === undefined ? {} : { claimed: peers.server }) },
      requestId: call.id.slice(0, limits.actionChars),
      ...(typeof revision === 'string' ? { protocolVersion: revision.slice(0, 64) } : {}),
      ...(traceId === undefined ? {} : { traceId }),
      definition: standing.is,
      ...('definition' in standing ? { definitionHash: standing.definition.hash } : {}),
      ...captured({ arguments: call.arguments }, content),
    };
  }
}

/** The id by which the hook of the client names the call; undefined where the client gives none. */
function clientsId(meta: JsonObject): string | undefined {
  const given = meta[toolUseId] ?? codexTurn(meta)?.callId;
  return typeof given === 'string' && given !== '' ? given.slice(0, limits.actionChars) : undefined;
}

function actorOf(meta: JsonObject, { client }: Peers): GovernedCall['actor'] {
  const info = meta[clientInfo];
  const name = isObject(info) && typeof info['name'] === 'string' ? info['name'] : client?.name;
  return { name: (name ?? '').slice(0, limits.partyNameChars) || 'mcp client', role: 'agent' };
}

type RefusedTool = ToolState & { readonly is: 'changed' | 'hidden' };

function refusedText(server: string, tool: string, standing: RefusedTool): string {
  if ('missing' in standing)
    return `not run: ${server} ${standing.missing}. ${tool} is pinned, so it runs only under a definition that the server lists.`;
  if (!('pinned' in standing))
    return `not run: ${server} has not listed a tool ${tool} in this session. List the tools (tools/list), and call one of them.`;
  const { pinned, definition } = standing;
  return (
    `not run: the definition of ${tool} of ${server} has changed: pinned ${pinned}, now ${definition.hash}. ` +
    `A person reads the change with gov mcp list ${shellWord(server)}, and accepts it with gov mcp pin ${shellWord(server)} ${shellWord(tool)}.`
  );
}

function refusal(call: CallMessage, { decision, approvalStatus, message }: GovToolRefused): string {
  const { evaluationId, approvalId, reason: why } = decision;
  if (decision.decision === 'escalate' && approvalId !== null && approvalStatus !== 'denied')
    return needsApproval(call, { approvalId, reason: why });
  if (decision.allowed) return notRun(call, `not run: ${message} (decision ${evaluationId})`);
  return notRun(call, `blocked: ${why} (decision ${evaluationId})`);
}

/** A used-up quota is named alone: what could not be read or recorded because of it does not help. */
const undecided = (what: string, cause: unknown): string =>
  cause instanceof GovApiError && cause.code === 'QUOTA_EXCEEDED'
    ? `not run: the quota of events or decisions is used up: ${cause.detail.slice(0, 400)}. See it with gov usage show.`
    : `not run: ${what}: ${reason(cause)}`;

/** Why a decision is missing; a service's own text may be long. */
function reason(cause: unknown): string {
  const hint = cause instanceof GovApiError && cause.status === 401 ? ' Check the key of the proxy.' : '';
  const text = cause instanceof Error ? cause.message : String(cause);
  return `${text.slice(0, 400)}.${hint}`;
}
