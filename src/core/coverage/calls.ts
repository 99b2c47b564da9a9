/**
 * What each source said of the tool calls of a run, from its events. A call is known by the id that its client gave it; a
 * call without an id is compared with no other. Clients write these values: one of an unexpected type counts as absent.
 * Tested by `test/core/coverage/judge.test.ts`.
 */
import type { ReportSource } from '../../contract/coverage.ts';
import { endingOf, endings, isFailure, type Ending } from '../../contract/endings.ts';
import { valuesAt } from '../events/bodies.ts';
import type { Fields } from '../events/links.ts';
import type { RunEvent } from '../events/run-entry.ts';
import { isObject } from '../json/object.ts';
import type { Json } from '../json/parse.ts';
import { parseTimestamp } from '../time.ts';
import { isOwnId, joinOf, observedType, type CallJoin } from './join.ts';
import { governs, namesDecision, sourceOf } from './report.ts';

/** What one source said of one call. */
export interface Sighting {
  /** The model asked for it, or a program was about to run it. */
  requested: boolean;
  /** It ran, and ended well or in a way that the source does not say. */
  ran: boolean;
  /** It ended well. */
  succeeded: boolean;
  /** It ended with an error: it ran, or was refused. */
  failed: boolean;
  /** Its program reports a refusal as an error. */
  mistakesRefusals: boolean;
  /** The client refused it. */
  refused: boolean;
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
  /** How it ended, as the source says that says most; null: none says. */
  ending: Ending | null;
  /** The oldest time that an event of the call has, stated or recorded; Unix milliseconds. */
  firstMs: number;
  /** The newest time that an event of the call has, and when it was recorded; Unix milliseconds. */
  lastMs: number;
  lastServerMs: number;
}

/** An event as coverage reads it. */
export interface ReadEvent {
  readonly index: number;
  readonly eventId: string;
  /** The type; of an observation, the type that the event would have had. */
  readonly type: string;
  readonly atMs: number;
  readonly serverMs: number;
  readonly source: ReportSource;
  readonly metadata: Readonly<Record<string, Json>>;
  readonly tool: string | null;
}

const members = [
  'toolCallId',
  'importer',
  'signal',
  'record',
  'scope',
  'timestampSource',
  'evaluationId',
  'recordedBy',
  'outcome',
  'ok',
  'observed',
  'tool',
  'extra',
  'otel',
  'completedType',
  'added',
] as const;
const wanted = new Set(['/resource', '/resource/name', ...members.map((member) => `/metadata/${member}`)]);

/** Reads an event; null if it is malformed. `fields`: its disclosed values, if they were parsed before. */
export function readEvent({ index, clear, disclosures }: RunEvent): ReadEvent | null {
  if (clear === null) return null;
  const fields: Fields = disclosures === null ? new Map() : valuesAt(disclosures, wanted);
  const metadata: Record<string, Json> = {};
  for (const member of members) {
    const value = fields.get(`/metadata/${member}`);
    if (value !== undefined) metadata[member] = value;
  }
  const { observed, tool } = metadata;
  const isObserved = clear.eventType === observedType && typeof observed === 'string';
  const named = isObserved ? tool : (fields.get('/resource/name') ?? fields.get('/resource'));
  return {
    index,
    eventId: clear.eventId,
    type: isObserved ? observed : clear.eventType,
    atMs: parseTimestamp(clear.timestamp) ?? 0,
    serverMs: parseTimestamp(clear.serverTimestamp) ?? 0,
    source: sourceOf(metadata),
    metadata,
    tool: typeof named === 'string' ? named : null,
  };
}

const callTypes = /^tool\.(?:call|result|denied|decision|call_blocked)$/;

/** The calls of a run, in the order of their first event. */
export class Calls {
  readonly #byId = new Map<string, CallFacts>();
  readonly #all = new Set<CallFacts>();
  /** As `CoverageRules`. */
  readonly #rules: number;

  constructor(rules: number) {
    this.#rules = rules;
  }

  get all(): readonly CallFacts[] {
    return [...this.#all];
  }

  /** Adds the next event of the run; returns the call that it is about, or null. */
  add(event: ReadEvent): CallFacts | null {
    const join = joinOf({ eventType: event.type, metadata: event.metadata });
    if (join !== null) this.#join(join);
    if (!callTypes.test(event.type)) return null;
    const call = this.#callOf(event);
    if (call === null) return null;
    const sighting = call.sightings.get(event.source) ?? unseen();
    call.sightings.set(event.source, sighting);
    if (event.type === 'tool.result' && this.#rules === 1) noteFirst(event.metadata, sighting);
    else note(event, call, { sighting, rules: this.#rules });
    call.tool ??= event.tool;
    call.firstMs = Math.min(call.firstMs, event.atMs, event.serverMs);
    call.lastMs = Math.max(call.lastMs, event.atMs);
    call.lastServerMs = Math.max(call.lastServerMs, event.serverMs);
    return call;
  }

  #callOf({ metadata, type, eventId, index }: ReadEvent): CallFacts | null {
    const { toolCallId: id } = metadata;
    const key = typeof id === 'string' && id !== '' ? id : null;
    const known = key === null ? undefined : this.#byId.get(key);
    if (known !== undefined) return known;
    // a result without an id belongs to a call that nothing names
    if (key === null && type !== 'tool.call' && type !== 'tool.denied') return null;
    const call: CallFacts = {
      id: isOwnId(key) ? key : null,
      eventId,
      index,
      tool: null,
      decision: null,
      isStopped: false,
      sightings: new Map(),
      ending: null,
      firstMs: Infinity,
      lastMs: 0,
      lastServerMs: 0,
    };
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
  call.lastMs = Math.max(call.lastMs, more.lastMs);
  call.lastServerMs = Math.max(call.lastServerMs, more.lastServerMs);
}

function noteEnding(call: CallFacts, ending: Ending): void {
  if (call.ending === null || endings.indexOf(ending) < endings.indexOf(call.ending)) call.ending = ending;
}

const sightingNames = [
  'requested',
  'ran',
  'succeeded',
  'failed',
  'mistakesRefusals',
  'refused',
] as const satisfies readonly (keyof Sighting)[];

const unseen = (): Sighting => ({
  requested: false,
  ran: false,
  succeeded: false,
  failed: false,
  mistakesRefusals: false,
  refused: false,
});

interface Noting {
  readonly sighting: Sighting;
  readonly rules: number;
}

/** Programs whose telemetry has a call that its user refused, or a tool that it lacks, as a call that failed. */
const mistaking = /^(?:claude_code|gemini_cli)\.|^(?:com\.anthropic\.claude_code|gemini-cli)\b/;

function note({ type, source, metadata }: ReadEvent, call: CallFacts, by: Noting): void {
  const { sighting } = by;
  const { scope, record } = metadata;
  if (source === 'otlp')
    sighting.mistakesRefusals ||= [scope, record].some((each) => mistaking.test(String(each)));
  switch (type) {
    case 'tool.call': {
      sighting.requested = true;
      const isDecided = namesDecision(metadata);
      // a call reaches the proxy after the hook allowed it, and does not run if the proxy refuses it
      if (isDecided && !(call.isStopped && source === 'hook')) call.decision = 'allowed';
      if (isDecided && source === 'mcp') call.isStopped = false;
      // telemetry reports a call when it has ended; a program that records one directly is about to run it
      if (source === 'otlp' || (governs(source) && !isDecided)) sighting.ran = true;
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
