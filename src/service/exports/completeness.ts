/**
 * What the index of the log says of the filters of an export (`src/core/exports/answer.ts`): the lists that have all rows, and
 * their items that no row has. Null where it says nothing: the log has no index yet, events were pruned, or the answer
 * would be larger than verifiers read. Proven by `test/service/exports/completeness.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { MapEntry } from '../../core/completeness/entry.ts';
import type { MapKey } from '../../core/completeness/map.ts';
import { dayOf, mapFunction } from '../../core/completeness/map-function.ts';
import { readRecord } from '../../core/events/run-entry.ts';
import type { FilterAnswer } from '../../core/exports/answer.ts';
import { excludes, isAsked, isDayIn, isIn, periodOf } from '../../core/exports/filters.ts';
import type { RowLists } from '../../core/exports/row-lists.ts';
import type { JsonObject } from '../../core/json/parse.ts';
import { leafHash } from '../../core/merkle/tree.ts';
import { parseTimestamp } from '../../core/time.ts';
import type { TaskContext } from '../call/work.ts';
import { runEvents } from '../events/run-stream.ts';

/** An answer without the index leaf, whose inclusion follows from a later checkpoint. */
export interface AnswerParts extends Omit<FilterAnswer, 'index'> {
  readonly leafIndex: number;
}

interface ExportedRows {
  readonly projectId: string;
  readonly treeSize: number;
  readonly asked: JsonObject;
  /** The lists of all rows. */
  readonly rows: RowLists;
}

/** STORAGE_FAULT where the tables of the log lack a leaf of the list of a run. */
export async function answerParts(context: TaskContext, exported: ExportedRows): Promise<AnswerParts | null> {
  const { plan } = exported.rows;
  const isPruned = (await context.reader.prunedBelow(exported.projectId)) > 0;
  if (plan.kind === 'run') return ofRun(context, exported, { key: plan.key, isPruned });
  return isPruned ? null : ofPlaces(context, exported);
}

async function ofRun(
  context: TaskContext,
  { projectId, treeSize, asked, rows }: ExportedRows,
  { key, isPruned }: { key: MapKey; isPruned: boolean },
): Promise<AnswerParts | null> {
  const records: string[] = [];
  const items = [];
  // where leaves were pruned, only a list with its first event is known to be whole
  let hasFirst = !isPruned;
  let bytes = 0;
  if (key[0] === 'run' && (isPruned || excludes(rows.plan, asked))) {
    const range = { fromSeq: 0, beforeIndex: treeSize, bodies: false };
    for await (const events of runEvents(context, { projectId, runId: key[1] ?? '' }, range)) {
      for (const { record, clear } of events) {
        if (clear === null) return null;
        hasFirst ||= clear.runSeq === 0;
        if (isAsked(clear, asked)) continue;
        bytes += record.length;
        records.push(record);
        items.push({ at: clear.runSeq, item: leafHash(record).toString('latin1') });
      }
      if (bytes > limits.exportAnswerBytes) return null;
    }
  }
  if (!hasFirst) return null;
  const own = rows.whole('', items);
  const list = { key, what: 'leaves', n: own?.n ?? 0, root: own?.value().root ?? null };
  const listed = await context.host.listed({ treeSize, lists: [list] });
  const entry = listed?.entries[0];
  if (listed === null || entry === undefined) return null;
  return { leafIndex: listed.leafIndex, lists: [{ entry, ...(records.length === 0 ? {} : { records }) }] };
}

/** Leaves may be stored in between; then the map is asked again. */
const attempts = 8;

async function ofPlaces(context: TaskContext, exported: ExportedRows): Promise<AnswerParts | null> {
  const places = new Places(context, exported);
  await places.readTo(exported.treeSize);
  for (let attempt = 0; attempt < attempts && !places.isTooLarge; attempt++) {
    const names = [...places.names];
    const keys = places.keysOf(names);
    const listed = await context.host.listed({ treeSize: exported.treeSize, lists: [], keys });
    if (listed === null || listed.fn !== mapFunction) return null;
    await places.readTo(listed.size);
    if (places.at !== listed.size || places.names.size !== names.length) continue;
    return places.isTooLarge
      ? null
      : { leafIndex: listed.leafIndex, ...places.answer(names, listed.entries) };
  }
  return null;
}

const leavesAtOnce = 500;

/** The items of lists of places that no row has, read from the leaves. */
class Places {
  readonly #context: TaskContext;
  readonly #exported: ExportedRows;
  /** The names of all types or days of the leaves that were read; one empty text for a single type. */
  readonly names: Set<string>;
  readonly #others = new Map<string, string[]>();
  #bytes = 0;
  /** The leaves below it are read, or every event of them is a row. */
  at: number;

  constructor(context: TaskContext, exported: ExportedRows) {
    this.#context = context;
    this.#exported = exported;
    const { rows, asked, treeSize } = exported;
    const { kind } = rows.plan;
    this.names = new Set(kind === 'type' ? [''] : kind === 'types' ? rows.names : []);
    this.at = excludes(rows.plan, asked) ? 0 : treeSize;
  }

  get isTooLarge(): boolean {
    return this.#bytes > limits.exportAnswerBytes || this.names.size > limits.exportLists;
  }

  /** Reads the leaves below `end`. Cost: 5 µs for each. */
  async readTo(end: number): Promise<void> {
    const { reader, breathe } = this.#context;
    while (this.at < end && !this.isTooLarge) {
      const range = { from: this.at, to: Math.min(end, this.at + leavesAtOnce), bodies: false } as const;
      const leaves = await reader.leaves(this.#exported.projectId, 'audit', range);
      for (const { index, record } of leaves) this.#add(index, record);
      this.at = range.to;
      await breathe();
    }
  }

  #add(index: number, record: string): void {
    const clear = readRecord(record);
    if (clear === null) return;
    const { rows, asked, treeSize } = this.#exported;
    const { plan } = rows;
    if (plan.kind === 'type' && clear.eventType !== plan.key[1]) return;
    const clientMs = parseTimestamp(clear.timestamp) ?? 0;
    const name = plan.kind === 'type' ? '' : plan.kind === 'types' ? clear.eventType : dayOf(clientMs);
    this.names.add(name);
    const period = periodOf(asked);
    if (plan.kind === 'days' && !isDayIn(name, period)) return;
    if (index < treeSize && isIn(clientMs, period)) return;
    const item = `${index} ${parseTimestamp(clear.serverTimestamp) ?? 0} ${clientMs}`;
    const others = this.#others.get(name) ?? [];
    others.push(item);
    this.#others.set(name, others);
    this.#bytes += item.length + 3;
  }

  /** The lists of these names that the export needs. */
  #needed(names: readonly string[]): readonly string[] {
    const { rows, asked } = this.#exported;
    const period = periodOf(asked);
    return rows.plan.kind === 'days' ? names.filter((day) => isDayIn(day, period)) : names;
  }

  /** Keys of the list of names, and of the lists that the export needs. */
  keysOf(names: readonly string[]): MapKey[] {
    const { plan } = this.#exported.rows;
    if (plan.kind === 'run' || plan.kind === 'type') return [plan.key];
    const kind = plan.kind === 'types' ? 'type' : 'day';
    return [[plan.kind], ...this.#needed(names).map((name) => [kind, name])];
  }

  /** The answer from the entries of `keysOf`. */
  answer(names: readonly string[], entries: readonly MapEntry[]): Omit<AnswerParts, 'leafIndex'> {
    const isOne = this.#exported.rows.plan.kind === 'type';
    const [first, ...rest] = entries;
    const lists = (isOne ? entries : rest).map((entry, at) => {
      const others = this.#others.get(this.#needed(names)[at] ?? '');
      return { entry, ...(others === undefined ? {} : { others }) };
    });
    return isOne || first === undefined ? { lists } : { names: { entry: first, items: names }, lists };
  }
}
