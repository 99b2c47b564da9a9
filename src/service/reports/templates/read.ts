/**
 * Pages of leaves for templates: of one type, of a run, and events of the service itself, all below the tree size.
 * Proven by `test/service/reports/templates/`.
 */
import { recordDigests, readRecord, type ClearEvent } from '../../../core/events/run-entry.ts';
import { systemRun } from '../../../core/events/record.ts';
import { unkeptOf } from '../../../core/events/erased.ts';
import { isObject } from '../../../core/json/object.ts';
import { canonicalize, type Json, type JsonObject } from '../../../core/json/parse.ts';
import { openLeaf, type OpenLeaf } from '../../../core/decided/leaf.ts';
import { parseTimestamp } from '../../../core/time.ts';
import { rebuild } from '../../../core/events/record.ts';
import type { Disclosure } from '../../../core/events/disclosure.ts';
import type { IndexedLeaf, Leaf } from '../../../store/port/store.ts';
import { isIn, type Period } from './period.ts';
import type { ReportSource } from './source.ts';

const pageLeaves = 100;

interface LeafFilter {
  readonly type: IndexedLeaf;
  readonly runId?: string | null;
}

/** All leaves of a type below the tree size, from leaf `from` on. */
export async function* leavesOf(
  { reader, projectId, treeSize, breathe }: ReportSource,
  { type, runId = null }: LeafFilter,
  { from = 0, to = treeSize }: { readonly from?: number; readonly to?: number } = {},
): AsyncGenerator<OpenLeaf & { readonly leaf: Leaf }, void, undefined> {
  const filter = { type, beforeIndex: Math.min(to, treeSize), ...(runId === null ? {} : { runId }) };
  for (let after = from - 1; ;) {
    const page = { order: 'asc', limit: pageLeaves, after } as const;
    const leaves = await reader.leavesOf(projectId, filter, page);
    for (const leaf of leaves) yield { ...openLeaf(leaf), leaf };
    after = leaves.at(-1)?.index ?? after;
    if (leaves.length < pageLeaves) return;
    await breathe();
  }
}

/** Leaves of a type that the period has. `timeOf`: the time that the leaf states. */
export async function* leavesIn(
  source: ReportSource,
  wanted: LeafFilter,
  period: Period,
): AsyncGenerator<OpenLeaf & { readonly leaf: Leaf }, void, undefined> {
  for await (const open of leavesOf(source, wanted, period)) {
    if (isIn(period, open.index, statedMs(open.clear))) yield open;
  }
}

/** The time that a leaf states of itself; 0 for none. */
export function statedMs({ evaluatedAt, at, executedAt, prunedAt }: JsonObject): number {
  const text = evaluatedAt ?? at ?? executedAt ?? prunedAt;
  return typeof text === 'string' ? (parseTimestamp(text) ?? 0) : 0;
}

/** An event with what it disclosed. */
export interface ReadEvent {
  readonly index: number;
  readonly clear: ClearEvent;
  readonly serverMs: number;
  readonly leaf: Leaf;
  /** The disclosed members by name; erased ones are absent. */
  readonly members: ReadonlyMap<string, Json>;
  readonly metadata: JsonObject;
  /** Committed fields whose values are no longer stored. */
  readonly erased: number;
}

/** Null for a record that is not an event. */
export function readEvent(leaf: Leaf): ReadEvent | null {
  const clear = readRecord(leaf.record);
  if (clear === null) return null;
  const members =
    leaf.disclosures === null
      ? new Map<string, Json>()
      : rebuild(JSON.parse(leaf.disclosures) as Disclosure[]);
  const metadata = members.get('metadata');
  return {
    index: leaf.index,
    clear,
    serverMs: parseTimestamp(clear.serverTimestamp) ?? 0,
    leaf,
    members,
    metadata: isObject(metadata) ? metadata : {},
    erased: erasedFields(leaf),
  };
}

function erasedFields({ record, disclosures, erased, bounds }: Leaf): number {
  if (bounds !== undefined && erased === undefined) return 0;
  const digests = recordDigests(record) ?? [];
  const { erased: gone, missing } = unkeptOf(digests, { disclosures, erased: erased ?? null });
  return gone.length + missing.length;
}

/** Events of a run in order, below the tree size. `types`: only these. */
export async function* eventsOf(
  { reader, projectId, treeSize, breathe }: ReportSource,
  runId: string,
  { eventType, from = 0, to = treeSize }: { eventType?: string; from?: number; to?: number } = {},
): AsyncGenerator<ReadEvent, void, undefined> {
  const filter = { runId, ...(eventType === undefined ? {} : { eventType }) };
  const end = Math.min(to, treeSize);
  // events of the service are never pruned
  const fromIndex = runId === systemRun ? from : Math.max(from, await reader.prunedBelow(projectId));
  for (let after = fromIndex - 1; ;) {
    const page = { order: 'asc', limit: pageLeaves, after, fromIndex } as const;
    const leaves = await reader.events(projectId, filter, page);
    for (const leaf of leaves) {
      if (leaf.index >= end) return;
      const event = readEvent(leaf);
      if (event !== null) yield event;
    }
    after = leaves.at(-1)?.index ?? after;
    if (leaves.length < pageLeaves) return;
    await breathe();
  }
}

/** Events of the service itself in the period. */
export async function* systemEvents(
  source: ReportSource,
  period: Period,
  eventType?: string,
): AsyncGenerator<ReadEvent, void, undefined> {
  const range = { from: period.from, to: period.to, ...(eventType === undefined ? {} : { eventType }) };
  for await (const event of eventsOf(source, systemRun, range)) {
    if (isIn(period, event.index, event.serverMs)) yield event;
  }
}

const leavesAtOnce = 500;

/** All leaves of the period that are not pruned. The next page is read while this one is used. */
export async function* pagesOf(
  { reader, projectId, breathe }: ReportSource,
  { from, to, prunedBelow }: Period,
  { bodies }: { readonly bodies: boolean },
): AsyncGenerator<Leaf[], void, undefined> {
  const read = (at: number): Promise<Leaf[]> => {
    const range = { from: at, to: Math.min(to, at + leavesAtOnce) };
    return reader.leaves(projectId, 'audit', bodies ? range : { ...range, bodies: false });
  };
  let at = Math.max(from, prunedBelow);
  for (let coming = at < to ? read(at) : null; coming !== null;) {
    const leaves = await coming;
    at += leavesAtOnce;
    coming = at < to ? read(at) : null;
    coming?.catch(() => {}); // the error is thrown where the read is awaited
    yield leaves;
    await breathe();
  }
}

/** The name that a person, an agent or a resource is known by; null where it was erased or is missing. */
export function partyText(value: Json | undefined): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value;
  if (!isObject(value)) return canonicalize(value);
  const name = value['name'] ?? value['id'];
  if (typeof name === 'string') return name;
  return Object.keys(value).length === 0 ? null : canonicalize(value);
}

/** A text as it is, any other value as JSON; null for none. */
export function textOf(value: Json | undefined): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : canonicalize(value);
}

const eventEnding = '"type":"gov.event/1"}';
const typeForm = /"eventType":"([^"\\]*)","runId":"/;

/** The type of an event, found without parsing its record; null for another record. */
export function typeOf(record: string): string | null {
  if (!record.endsWith(eventEnding)) return null;
  return typeForm.exec(record)?.[1] ?? readRecord(record)?.eventType ?? null;
}
