/**
 * What each source said of the tool calls of a run, from its events. A call is known by the id that its client gave it.
 * Tested by `test/core/coverage/judge.test.ts`.
 */
import type { ReportSource } from '../../contract/coverage.ts';
import { endingOf, endings, isFailure, type Ending } from '../../contract/endings.ts';
import { digestOf, isDigest } from '../json/digest.ts';
import { isObject } from '../json/object.ts';
import type { Json } from '../json/parse.ts';
import { clientFacts, clientOf, kindOf } from './clients.ts';
import { isOwnId, joinOf, type CallJoin } from './join.ts';
import type { ReadEvent } from './read-event.ts';
import { governs, namesDecision } from './report.ts';
import type { CallReport } from './same.ts';

/** What one source said of one call. */
export interface Sighting {
  /** The model asked for it, or a program was about to run it. */
  requested: boolean;
  /** It ran, and ended well or in a way that the source does not say. */
  ran: boolean;
  /** Telemetry reports it, which it does when a call has ended. Its result says how; without one it ran. */
  started: boolean;
  /** It ended well. */
  succeeded: boolean;
  /** It ended with an error: it ran, or was refused. */
  failed: boolean;
  /** Its program reports a refusal as an error. */
  mistakesRefusals: boolean;
  /** The client refused it. */
  refused: boolean;
}

/** What one event says of what a call does. */
export interface NotedReport extends CallReport {
  readonly source: ReportSource;
  /** The event names the decision about the call. */
  readonly decides: boolean;
}

export interface CallFacts {
  id: string | null;
  readonly eventId: string;
  readonly index: number;
  tool: string | null;
  /** The policies allowed it, or denied it; null: nothing decided. */
  decision: 'allowed' | 'denied' | null;
  /** The MCP proxy refused it. The client reports this refusal as a call that ended. */
  isStopped: boolean;
  readonly sightings: Map<ReportSource, Sighting>;
  /** From rules 4 on. */
  readonly reports: NotedReport[];
  /** How it ended, as the source says that says most; null: none says. */
  ending: Ending | null;
  /** The oldest time that an event of the call has, stated or recorded; Unix milliseconds. */
  firstMs: number;
  /** The oldest time that an event of the call states; Unix milliseconds. */
  startMs: number;
  /** The newest time that an event of the call has, and when it was recorded; Unix milliseconds. */
  lastMs: number;
  lastServerMs: number;
  /** How long it lasted, as a source says; 0: none does. */
  durationMs: number;
}

/** A call of which nothing is known yet. */
export const newCall = (
  id: string | null,
  { eventId, index }: Pick<ReadEvent, 'eventId' | 'index'>,
): CallFacts => ({
  id,
  eventId,
  index,
  tool: null,
  decision: null,
  isStopped: false,
  sightings: new Map(),
  reports: [],
  ending: null,
  firstMs: Infinity,
  startMs: Infinity,
  lastMs: 0,
  lastServerMs: 0,
  durationMs: 0,
});

const callTypes = /^tool\.(?:call|result|denied|decision|call_blocked)$/;

/** The calls of a run, in the order of their first event. */
export class Calls {
  readonly #byId = new Map<string, CallFacts>();
  readonly #all = new Set<CallFacts>();
  /** What the plane says of the calls that it decided, by evaluation. */
  readonly #evaluated = new Map<Json, Pick<CallReport, 'callHash' | 'argumentsHash'>>();
  /** Results that name no call: their sources and tools. */
  readonly #unnamedResults = new Map<ReportSource, Set<string | null>>();
  /** As `CoverageRules`. */
  readonly #rules: number;

  constructor(rules: number) {
    this.#rules = rules;
  }

  get all(): readonly CallFacts[] {
    return [...this.#all];
  }

  /** Makes a call the same as another one, which keeps its place. */
  unite(call: CallFacts, other: CallFacts): void {
    merge(call, other);
    call.id ??= other.id;
    this.#all.delete(other);
  }

  /** Whether a result that names no call may be that of this one. */
  mayHaveResult({ sightings, tool }: CallFacts): boolean {
    return sightings.keys().some((source) => {
      const tools = this.#unnamedResults.get(source);
      return tools?.has(tool) === true || tools?.has(null) === true;
    });
  }

  /** Adds the next event of the run; returns the call that it is about, or null. */
  add(event: ReadEvent): CallFacts | null {
    const join = joinOf({ eventType: event.type, metadata: event.metadata });
    if (join !== null) this.#join(join);
    const { evaluationId } = event.metadata;
    if (event.type === 'tool.evaluated' && evaluationId !== undefined && !this.#evaluated.has(evaluationId))
      this.#evaluated.set(evaluationId, hashesIn(event.metadata));
    if (!callTypes.test(event.type)) return null;
    const call = this.#callOf(event);
    if (call === null) {
      const tools = this.#unnamedResults.get(event.source) ?? new Set();
      this.#unnamedResults.set(event.source, tools.add(event.tool));
      return null;
    }
    const sighting = call.sightings.get(event.source) ?? unseen();
    call.sightings.set(event.source, sighting);
    if (event.type === 'tool.result' && this.#rules === 1) noteFirst(event.metadata, sighting);
    else note(event, call, { sighting, rules: this.#rules });
    if (this.#rules > 3) call.reports.push(this.#reportOf(event));
    call.tool ??= event.tool;
    noteTimes(call, event);
    return call;
  }

  #reportOf(event: ReadEvent): NotedReport {
    const { type, source, metadata } = event;
    // a recording may have a result without the call that says which tool it is of
    const tool = type === 'tool.result' && metadata['callHash'] === undefined ? null : spacedTool(event);
    const decides =
      governs(source) && (type === 'tool.denied' || (type === 'tool.call' && namesDecision(metadata)));
    const client = clientOf(event);
    const evaluated = decides ? this.#evaluated.get(metadata['evaluationId'] ?? null) : undefined;
    const kind = tool === null ? null : kindOf(client, tool);
    return { source, decides, client, tool, kind, ...(evaluated ?? hashesIn(metadata)) };
  }

  #callOf({ metadata, type, eventId, index }: ReadEvent): CallFacts | null {
    const { toolCallId: id } = metadata;
    const key = typeof id === 'string' && id !== '' ? id : null;
    const known = key === null ? undefined : this.#byId.get(key);
    if (known !== undefined) return known;
    // a result without an id belongs to a call that nothing names
    if (key === null && type !== 'tool.call' && type !== 'tool.denied') return null;
    const call = newCall(isOwnId(key) ? key : null, { eventId, index });
    if (key !== null) this.#byId.set(key, call);
    this.#all.add(call);
    return call;
  }

  /**
   * Makes two calls one, which telemetry reported under two ids. It says nothing about calls that others reported, and two
   * tools are two calls.
   */
  #join({ from, to, isCopy, run }: CallJoin): void {
    const call = this.#byId.get(from);
    const other = this.#byId.get(to);
    if (call === undefined || call === other || !isOfTelemetry(call) || !isSameTool(call, other)) return;
    this.#byId.set(from, other ?? call);
    this.#byId.set(to, other ?? call);
    if (other === undefined) call.id = isOwnId(to) ? to : null;
    else merge(other, call);
    // the call is in the other run
    if (other !== undefined || (isCopy && run !== null)) this.#all.delete(call);
  }
}

const isOfTelemetry = ({ sightings, decision }: CallFacts): boolean =>
  decision === null && [...sightings.keys()].every((source) => source === 'otlp');

const isSameTool = ({ tool }: CallFacts, other?: CallFacts): boolean =>
  tool === null || (other?.tool ?? null) === null || tool === other?.tool;

/** Adds what is known of one call to another. */
function merge(call: CallFacts, more: CallFacts): void {
  for (const [source, sighting] of more.sightings) {
    const known = call.sightings.get(source) ?? unseen();
    call.sightings.set(source, known);
    for (const name of sightingNames) known[name] ||= sighting[name];
  }
  call.tool ??= more.tool;
  call.decision ??= more.decision;
  call.isStopped ||= more.isStopped;
  if (more.ending !== null) noteEnding(call, more.ending);
  call.firstMs = Math.min(call.firstMs, more.firstMs);
  call.startMs = Math.min(call.startMs, more.startMs);
  call.lastMs = Math.max(call.lastMs, more.lastMs);
  call.lastServerMs = Math.max(call.lastServerMs, more.lastServerMs);
  call.reports.push(...more.reports);
  call.durationMs ||= more.durationMs;
}

/** Notes when a call was reported. */
export function noteTimes(call: CallFacts, { atMs, serverMs, metadata }: ReadEvent): void {
  call.firstMs = Math.min(call.firstMs, atMs, serverMs);
  call.startMs = Math.min(call.startMs, atMs);
  call.lastMs = Math.max(call.lastMs, atMs);
  call.lastServerMs = Math.max(call.lastServerMs, serverMs);
  const durationMs = Number(metadata['durationMs'] ?? 0);
  if (durationMs > 0) call.durationMs ||= durationMs;
}

/** The telemetry of Claude Code names every MCP tool so (measured: 2.1.332). */
const unnamedMcp = 'mcp_tool';

/**
 * The hooks of Codex join the namespace of a tool and its name; its telemetry and recordings have them apart (measured: 0.171.0):
 * `collaborationspawn_agent`. Its own namespace is in no name.
 */
function spacedTool({ tool, metadata: { otel, extra } }: ReadEvent): string | null {
  if (tool === unnamedMcp) return null;
  const ofRecording = isObject(extra) ? extra['namespace'] : undefined;
  const space = isObject(otel) ? otel['tool_namespace'] : ofRecording;
  const isJoined = typeof space === 'string' && space !== 'functions' && !space.startsWith('mcp_');
  return tool !== null && isJoined ? `${space}${tool}` : tool;
}

/** Telemetry has a digest in place of arguments; a recording has them. */
function hashesIn({ callHash, argumentsHash, arguments: given }: ReadEvent['metadata']) {
  const ofArguments = isDigest(given) ? given.hash : isObject(given) ? digestOf(given).hash : null;
  return {
    callHash: typeof callHash === 'string' ? callHash : null,
    argumentsHash: typeof argumentsHash === 'string' ? argumentsHash : ofArguments,
  };
}

function noteEnding(call: CallFacts, ending: Ending): void {
  if (call.ending === null || endings.indexOf(ending) < endings.indexOf(call.ending)) call.ending = ending;
}

const sightingNames = [
  'requested',
  'ran',
  'started',
  'succeeded',
  'failed',
  'mistakesRefusals',
  'refused',
] as const satisfies readonly (keyof Sighting)[];

export const unseen = (): Sighting => ({
  requested: false,
  ran: false,
  started: false,
  succeeded: false,
  failed: false,
  mistakesRefusals: false,
  refused: false,
});

interface Noting {
  readonly sighting: Sighting;
  readonly rules: number;
}

function note(event: ReadEvent, call: CallFacts, by: Noting): void {
  const { type, source, metadata } = event;
  const { sighting, rules } = by;
  if (source === 'otlp') sighting.mistakesRefusals ||= mistakesRefusals(metadata);
  switch (type) {
    case 'tool.call': {
      sighting.requested = true;
      const isDecided = namesDecision(metadata);
      // a call reaches the proxy after the hook allowed it, and does not run if the proxy refuses it
      if (isDecided && !(call.isStopped && source === 'hook')) call.decision = 'allowed';
      if (isDecided && source === 'mcp') call.isStopped = false;
      // telemetry reports a call when it has ended; a program that records one directly is about to run it
      if (source === 'otlp') sighting[rules > 3 ? 'started' : 'ran'] = true;
      else if (governs(source) && !isDecided) sighting.ran = true;
      break;
    }
    case 'tool.result':
      noteEnd(metadata, call, by);
      break;
    case 'tool.denied':
      sighting.requested = true;
      if (source === 'mcp') [call.decision, call.isStopped] = ['denied', true];
      else if (governs(source)) call.decision ??= 'denied';
      break;
    case 'tool.decision':
      sighting.requested = true;
      break;
    default: // tool.call_blocked
      sighting.requested = true;
      sighting.refused = true;
      if (governs(source)) call.decision ??= 'denied';
  }
}

const mistaking = [...clientFacts.values()].flatMap(({ telemetry, mistakesRefusals: mistakes }) =>
  telemetry !== undefined && mistakes === true ? [telemetry] : [],
);

/** Whether the program has a refusal as an error in its telemetry. */
const mistakesRefusals = ({ scope, record }: ReadEvent['metadata']): boolean =>
  mistaking.some((pattern) => pattern.test(String(scope)) || pattern.test(String(record)));

/** By the first rules. */
function noteFirst({ outcome, ok, extra }: ReadEvent['metadata'], sighting: Sighting): void {
  if (outcome === 'refused' || isRefusal(extra)) sighting.refused = true;
  else if (outcome === 'error' || ok === false) sighting.failed = true;
  else sighting.ran = true;
}

function noteEnd(metadata: ReadEvent['metadata'], call: CallFacts, { sighting, rules }: Noting): void {
  const stated = endingOf(metadata['outcome']);
  const said = isRefusal(metadata['extra']) && stated !== 'denied' ? 'refused' : stated;
  const ending = said ?? (metadata['ok'] === false ? 'error' : metadata['ok'] === true ? 'ok' : 'unknown');
  noteEnding(call, ending);
  if (ending === 'refused' || ending === 'denied') sighting.refused = true;
  else if (isFailure(ending)) sighting.failed = true;
  else {
    sighting.ran = true;
    sighting.succeeded ||= ending === 'ok' || rules === 2;
  }
}

/** Transcripts say of a result that the client refused the call. */
function isRefusal(extra: Json | undefined): boolean {
  if (!isObject(extra)) return false;
  const { permissionDecision: decided, blocked } = extra;
  const decision = isObject(decided) ? decided['decision'] : undefined;
  return blocked === true || (typeof decision === 'string' && !/^(?:accept|allow|approve)/.test(decision));
}
