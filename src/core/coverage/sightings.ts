/**
 * Which reports are of one prompt, or of one call of a model, where several sources report it. A call of a model has the ids
 * that its service gave to the answer and to the request; a prompt has its text. Texts come again, and so do the ids of some
 * servers of models: the n-th report under a name is of the n-th fact, whichever source reports first. A call without an
 * id is compared with no other. Clients write these values. Tested by `test/core/coverage/sightings.test.ts`.
 */
import type { ReportSource } from '../../contract/coverage.ts';
import type { EventInput } from '../../contract/events.ts';
import { digestOf, isDigest } from '../json/digest.ts';
import { isObject } from '../json/object.ts';
import { isObservation, observedTypes } from './join.ts';
import { sourceOf } from './report.ts';

type Report = Pick<EventInput, 'eventType' | 'metadata'> & { readonly actor?: unknown };
type Metadata = Readonly<Record<string, unknown>>;

/** Attributes of telemetry with the id of an answer of a model. */
export const responseIds = [
  'gen_ai.response.id',
  'ai.response.id',
  'llm.response.id',
  'response_id',
] as const;

/** Where events have such ids, and those of the request: Claude Code names it in all that it records. */
const idMembers: readonly (readonly [member: string, names: readonly string[]])[] = [
  ['otel', [...responseIds, 'request_id']],
  ['extra', ['messageId', 'requestId', 'responseId']],
];

const text = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** Returns the names of a call of a model; an empty list for other events, and for a call without an id. */
export function modelNames({ eventType, metadata = {} }: Report): readonly string[] {
  if (factType(eventType, metadata) !== 'model.invoked') return [];
  const within = idMembers.flatMap(([member, names]) => {
    const values = metadata[member];
    return isObject(values) ? names.map((name) => values[name]) : [];
  });
  return [...new Set([metadata['modelResponseId'], ...within].filter(text))].map((id) => `model ${id}`);
}

/** Of an observation, the type that the event would have had. */
const factType = (eventType: string, { observed }: Metadata): unknown =>
  isObservation(eventType) ? observed : eventType;

/** Returns the hash of a text or of its digest; null where it was not kept. */
export function contentHash(content: unknown): string | null {
  if (isDigest(content)) return content.hash;
  return text(content) || (typeof content === 'object' && content !== null) ? digestOf(content).hash : null;
}

/** The hash of a prompt's words. Codex and Gemini CLI write them as the only part of a list, and a hook as a text. */
export function wordsHash(content: unknown): string | null {
  const [part, ...more]: readonly unknown[] = Array.isArray(content) ? content : [];
  const only = isObject(part) && more.length === 0 ? part['text'] : undefined;
  return contentHash(typeof only === 'string' ? only : content);
}

/** Names all prompts of users, and those of which a source kept no text: they are compared by their number. */
const [anyPrompt, withheld] = ['prompt', 'prompt without text'] as const;
const promptName = (hash: string | null): string => (hash === null ? anyPrompt : `prompt ${hash}`);

/** The n-th fact of a name. */
export interface Place {
  readonly name: string;
  readonly n: number;
}

/** The places of a report, and those at which a report of the same fact may stand. */
interface Places {
  readonly own: readonly Place[];
  readonly others: readonly Place[];
}

const nowhere: Places = { own: [], others: [] };

/** Reports of prompts and calls of models in a run. Memory: about 150 bytes a name. */
export class Sightings {
  /** By name, then by what reports each fact once: a source, or a kind of record of telemetry. */
  readonly #counts = new Map<string, Map<string, number>>();

  /** Counts a report. Returns its places; none for other events. */
  add(report: Report): Places {
    const { eventType, metadata = {}, actor } = report;
    const channel = channelOf(metadata);
    const place = (name: string): Place => ({ name, n: this.#count(name, channel) });
    if (factType(eventType, metadata) === 'prompt.submitted') {
      const hash = wordsHash(metadata['content']);
      const said = hash === null ? [] : [place(promptName(hash))];
      // recordings have the prompts that an agent gives to its subagents; telemetry reports none of them
      const isOfAgent = channel === 'transcript' && isObject(actor) && actor['role'] === 'agent';
      if (isOfAgent) return { own: said, others: said };
      const any = place(anyPrompt);
      if (hash === null) return { own: [any, place(withheld)], others: [any] };
      return { own: [...said, any], others: [...said, { name: withheld, n: any.n }] };
    }
    const own = modelNames(report).map(place);
    return own.length === 0 ? nowhere : { own, others: own };
  }

  #count(name: string, channel: string): number {
    const counts = this.#counts.get(name) ?? new Map<string, number>();
    this.#counts.set(name, counts);
    const n = (counts.get(channel) ?? 0) + 1;
    counts.set(channel, n);
    return n;
  }

  /** How often another source than this one reported a name. */
  countOfOthers(name: string, source: ReportSource): number {
    const counts = [...(this.#counts.get(name) ?? [])];
    return Math.max(0, ...counts.map(([channel, n]) => (channel.split(' ', 1)[0] === source ? 0 : n)));
  }

  /** How often another source reported a prompt with this content, by its hash; null: with any. */
  promptsOfOthers(hash: string | null, source: ReportSource): number {
    return this.countOfOthers(promptName(hash), source);
  }

  /** Whether another source has reported the fact of one of these places. */
  isOfOther(places: readonly Place[], source: ReportSource): boolean {
    return places.some(({ name, n }) => this.countOfOthers(name, source) >= n);
  }

  /** Keeps at most this many names: the newest, and the number of prompts. */
  trim(most: number): void {
    for (const name of this.#counts.keys()) {
      if (this.#counts.size <= most) break;
      if (name !== anyPrompt && name !== withheld) this.#counts.delete(name);
    }
  }
}

/** What the sources of a run say of its calls of models. */
export interface ModelCalls {
  readonly calls: number;
  /** Calls that two sources or more report. */
  readonly confirmed: number;
  readonly sources: readonly { readonly source: ReportSource; readonly calls: number }[];
}

/** Counts calls of models, each once. `events`: of one run, in the order of recording. Cost: once over the events. */
export function modelCalls(events: readonly (Report & { readonly clientEventId?: unknown })[]): ModelCalls {
  const sightings = new Sightings();
  const copies = lateCopies(events);
  const calls: { readonly sources: Set<ReportSource>; isCall: boolean }[] = [];
  const byPlace = new Map<string, (typeof calls)[number]>();
  for (const event of events) {
    const { eventType, metadata = {}, clientEventId } = event;
    if (factType(eventType, metadata) !== 'model.invoked') continue;
    const places = sightings.add(event).own.map(({ name, n }) => `${n} ${name}`);
    let call = places.map((place) => byPlace.get(place)).find((each) => each !== undefined);
    if (call === undefined) calls.push((call = { sources: new Set(), isCall: false }));
    for (const place of places) byPlace.set(place, call);
    call.sources.add(sourceOf(metadata));
    call.isCall ||= eventType === 'model.invoked' && !copies.has(clientEventId);
  }
  const counted = calls.filter(({ isCall }) => isCall).map(({ sources }) => [...sources]);
  const bySource = Map.groupBy(counted.flat(), (source) => source);
  return {
    calls: counted.length,
    confirmed: counted.filter((sources) => sources.length > 1).length,
    sources: [...bySource]
      .map(([source, each]) => ({ source, calls: each.length }))
      .toSorted((a, b) => (a.source < b.source ? -1 : 1)),
  };
}

/** The clientEventIds of calls of models that telemetry reported twice, as a later span showed (`event.completed`). */
function lateCopies(events: readonly Report[]): ReadonlySet<unknown> {
  const copies = events.filter(({ eventType, metadata = {} }) => {
    const { importer, added } = metadata;
    const isOfReceiver = eventType === 'event.completed' && importer === 'otlp';
    return isOfReceiver && isObject(added) && added['readAs'] === observedTypes['model.invoked'];
  });
  return new Set(copies.map(({ metadata }) => metadata?.['completes']));
}

/** Telemetry may report a fact by a span and by several log records. */
function channelOf(metadata: Metadata): string {
  const source = sourceOf(metadata);
  if (source !== 'otlp') return source;
  return [source, metadata['signal'], metadata['record']].filter(text).join(' ');
}
