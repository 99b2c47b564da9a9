/**
 * Derives the causal graph of a run from its events, one at a time in log order (contract F14, `docs/reference/causal-graphs.md`).
 * Actors have only outgoing edges and resources only incoming ones, so that a common party does not connect everything
 * with everything.
 *
 * Edges of one event, in this order: `contains` from its parent or the run; `causes` from causedBy, then from the model
 * event that requested the call; `produces` from a call to its result; `feeds` from results to the event that read them;
 * `sequence` from the previous event, if none of these edges enters the event; `produces` from its actor; the edge to its
 * resource; then the edges of earlier events that waited for this one. If the parent of an event never comes, the run
 * contains the event, with the last edges. Proven by `test/core/graphs/derivation.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { eventLinks, partyNodeId, type EventLinks, type Party } from '../events/links.ts';
import { runNodeId, type GraphSink } from './rows.ts';
import { hashText } from '../hash.ts';
import type { JsonObject } from '../json/parse.ts';
import type { ClearEvent, RunEvent } from '../events/run-entry.ts';
import { RunIndex } from '../events/run-index.ts';
import { ToolCalls } from '../events/tool-calls.ts';

/** Node types of the parties; a called agent has type agent. */
const partyType = {
  agent: 'agent',
  human: 'human',
  tool: 'tool',
  model: 'model',
  data: 'data',
  callee: 'agent',
} as const;

/** An entry of a map, with its key. */
const entryBytes = 150;

interface WaitingEdge {
  readonly event: number;
  readonly type: 'contains' | 'causes';
}

/**
 * Sends the graph of a run to `sink`. Memory: about 110 bytes an event with a clientEventId. References to later events
 * wait, at most `limits.graphPendingReferences`; further ones count as unresolved.
 */
export class GraphDerivation {
  readonly events = new RunIndex();
  readonly #runId: string;
  readonly #runNode: string;
  readonly #sink: GraphSink;
  readonly #clientIds = new Map<string, number>();
  readonly #calls = new ToolCalls();
  readonly #others = new Map<string, number>();
  readonly #waiting = new Map<string, WaitingEdge[]>();
  #waitingCount = 0;
  #unresolvedCount = 0;

  constructor(runId: string, sink: GraphSink) {
    this.#runId = runId;
    this.#runNode = runNodeId(runId);
    this.#sink = sink;
  }

  /** Adds the next event of the run. Throws STORAGE_FAULT for a malformed record. Cost: about 5 µs. */
  add(event: RunEvent): void {
    const { clear } = event;
    if (clear === null || clear.runId !== this.#runId) {
      throw new GovError(
        'STORAGE_FAULT',
        `expected an event record of run ${this.#runId} at leaf ${event.index}, got another; check the log with fsck`,
      );
    }
    const links = eventLinks(event);
    const self = this.events.add(event.index, clear.eventId);
    if (links.clientEventId !== null && !this.#clientIds.has(links.clientEventId)) {
      this.#clientIds.set(links.clientEventId, self);
    }
    this.#addNodes(event, clear, links);
    this.#unresolvedCount += links.unusable;
    this.#addContainment(self, links.parent);
    if (this.#addCauses(self, clear, links) === 0 && self > 0) this.#link(self - 1, self, 'sequence');
    this.#addParties(self, clear, links);
    this.#settle(self, clear.eventId, links.clientEventId);
    this.#remember(self, clear.eventType, links);
  }

  /**
   * Sends what the graph has after these events: where the parent of an event has not come, the run contains it. Returns the
   * number of references that name nothing yet. Later events can still be added.
   */
  end(sink: GraphSink = this.#sink): { readonly unresolved: number } {
    const orphans: number[] = [];
    for (const list of this.#waiting.values()) {
      for (const { event, type } of list) if (type === 'contains') orphans.push(event);
    }
    for (const event of orphans.sort((a, b) => a - b)) this.#linkRun(event, sink);
    return { unresolved: this.#unresolvedCount + this.#waitingCount };
  }

  /** About how many bytes it has in memory. */
  get bytes(): number {
    const entries = this.#clientIds.size + this.#calls.size + this.#others.size + this.#waitingCount;
    return this.events.bytes + entries * entryBytes;
  }

  /** Number of derived nodes that are not events. */
  get otherNodes(): number {
    return this.#others.size;
  }

  /** Returns the number of a derived node (`GraphSink`); null for an unknown id. */
  reference(nodeId: string): number | null {
    const event = this.events.find(nodeId);
    return event >= 0 ? event : (this.#others.get(nodeId) ?? null);
  }

  #addNodes(event: RunEvent, clear: ClearEvent, { action, actor, resource }: EventLinks): void {
    const dataCommitment = hashText(event.hash);
    if (this.events.length === 1) {
      this.#addOther(this.#runNode, 'run', dataCommitment, { runId: this.#runId });
    }
    const { eventId, eventType, timestamp } = clear;
    this.#sink.node(
      { id: eventId, index: event.index, type: 'event', dataCommitment },
      { eventType, action, timestamp, sequence: event.index },
    );
    for (const party of [actor, resource]) {
      if (party === null) continue;
      const { kind, id, name } = party;
      const data = { ...(id === null ? {} : { id }), ...(name === null ? {} : { name }) };
      this.#addOther(partyNodeId(party), partyType[kind], dataCommitment, data);
    }
  }

  #addOther(id: string, type: string, dataCommitment: string, data: JsonObject): void {
    if (this.#others.has(id)) return;
    this.#others.set(id, -1 - this.#others.size);
    this.#sink.node({ id, index: null, type, dataCommitment }, data);
  }

  #addContainment(self: number, parent: string | null): void {
    if (parent === null) {
      this.#linkRun(self);
      return;
    }
    const event = this.#resolve(parent);
    if (event !== null) this.#link(event, self, 'contains');
    else if (!this.#wait(parent, { event: self, type: 'contains' })) this.#linkRun(self);
  }

  /** Returns the number of edges from other events to this one. */
  #addCauses(self: number, clear: ClearEvent, links: EventLinks): number {
    const causes = new Set<number>();
    for (const reference of links.causes) {
      const cause = this.#resolve(reference);
      if (cause === null) this.#wait(reference, { event: self, type: 'causes' });
      else causes.add(cause);
    }
    const feeds = new Set<number>();
    for (const callId of links.toolResultIds) {
      const result = this.#calls.find(callId, 'answered');
      if (result === undefined) this.#unresolvedCount++;
      else feeds.add(result);
    }
    let call: number | undefined;
    if (links.toolCallId !== null && isCall(clear.eventType)) {
      const model = this.#calls.find(links.toolCallId, 'asked');
      if (model !== undefined) causes.add(model);
    } else if (links.toolCallId !== null && clear.eventType === 'tool.result') {
      call = this.#calls.find(links.toolCallId, 'called');
      if (call === undefined) this.#unresolvedCount++;
    }
    for (const cause of causes) this.#link(cause, self, 'causes');
    if (call !== undefined) this.#link(call, self, 'produces');
    for (const result of feeds) this.#link(result, self, 'feeds');
    return causes.size + feeds.size + (call === undefined ? 0 : 1);
  }

  #addParties(self: number, clear: ClearEvent, { actor, resource }: EventLinks): void {
    const event = clear.eventId;
    if (actor !== null) {
      const source = partyNodeId(actor);
      this.#sink.edge({ source, target: event, type: 'produces' }, this.#others.get(source) ?? -1, self);
    }
    if (resource !== null) {
      const target = partyNodeId(resource);
      const type = resourceEdge(resource, clear.eventType);
      this.#sink.edge({ source: event, target, type }, self, this.#others.get(target) ?? -1);
    }
  }

  /** Adds the edges that waited for this event. */
  #settle(self: number, ...ids: readonly (string | null)[]): void {
    if (this.#waiting.size === 0) return;
    const drawn = new Set<string>();
    for (const id of ids) {
      const list = id === null ? undefined : this.#waiting.get(id);
      if (id === null || list === undefined) continue;
      this.#waiting.delete(id);
      this.#waitingCount -= list.length;
      for (const { event, type } of list) {
        const key = `${type} ${event}`;
        if (drawn.has(key)) continue;
        drawn.add(key);
        this.#link(self, event, type);
      }
    }
  }

  #remember(self: number, eventType: string, links: EventLinks): void {
    for (const callId of links.toolCallIds) this.#calls.set(callId, 'asked', self);
    if (links.toolCallId === null) return;
    if (isCall(eventType)) this.#calls.set(links.toolCallId, 'called', self);
    else if (eventType === 'tool.result') this.#calls.set(links.toolCallId, 'answered', self);
  }

  /** Resolves an eventId or a clientEventId of this run. */
  #resolve(reference: string): number | null {
    const event = reference.startsWith('evt_') ? this.events.find(reference) : -1;
    return event >= 0 ? event : (this.#clientIds.get(reference) ?? null);
  }

  #wait(reference: string, waiting: WaitingEdge): boolean {
    if (this.#waitingCount >= limits.graphPendingReferences || reference.length > limits.identifierChars) {
      this.#unresolvedCount++;
      return false;
    }
    const list = this.#waiting.get(reference);
    if (list === undefined) this.#waiting.set(reference, [waiting]);
    else list.push(waiting);
    this.#waitingCount++;
    return true;
  }

  #link(source: number, target: number, type: string): void {
    const edge = { source: this.events.idAt(source), target: this.events.idAt(target), type };
    this.#sink.edge(edge, source, target);
  }

  #linkRun(event: number, sink = this.#sink): void {
    const edge = { source: this.#runNode, target: this.events.idAt(event), type: 'contains' };
    sink.edge(edge, -1, event);
  }
}

/** A refused call is also a call that a model requested. */
const isCall = (eventType: string): boolean => eventType === 'tool.call' || eventType === 'tool.call_blocked';

function resourceEdge({ kind }: Party, eventType: string): string {
  if (kind !== 'data') return 'calls';
  return eventType === 'memory.write' || eventType === 'data.write' ? 'produces' : 'consumes';
}
