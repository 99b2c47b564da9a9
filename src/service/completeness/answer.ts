/**
 * What the map of a log says of one key, in all or in a period of server time. Proven by
 * `test/service/completeness/ask.engines.test.ts`.
 */
import { mapEntry, type MapEntry } from '../../core/completeness/entry.ts';
import { listProofs } from '../../core/completeness/list-proof.ts';
import type { ListValue } from '../../core/completeness/map.ts';
import { hashText } from '../../core/hash.ts';
import type { AnswerRange, ShownItem } from '../../core/proofs/answer.ts';
import type { IndexQuestion, TaskContext } from '../call/work.ts';
import type { KeptMap } from './kept-map.ts';
import { listItems, placeItems, type ListItems } from './list-items.ts';
import { indexMismatch } from './mismatch.ts';

/** The entry of the key, and for a period the range of its list. STORAGE_FAULT where the tables have another list. */
export async function answerOf(
  context: TaskContext,
  { projectId, kept, ask }: { projectId: string; kept: KeptMap; ask: IndexQuestion },
): Promise<{ readonly entry: MapEntry; readonly range?: AnswerRange }> {
  const { path, value } = await kept.path(context, ask.key);
  const entry = mapEntry(ask.key, path, value);
  if (value === null || (ask.sinceMs === null && ask.untilMs === null)) return { entry };
  const outer = outerRange(value, ask);
  if (outer !== null) return { entry, range: { ...outer, items: [] } };
  const of = { key: ask.key, value, below: kept.map.size, fn: kept.map.fn };
  const isOfLeaves = ask.key[0] === 'run';
  const items = await (isOfLeaves ? listItems(context, projectId, of) : placeItems(context, projectId, of));
  const proofs = listProofs(items.hashes);
  if (proofs.n !== value.n || hashText(proofs.root()) !== value.root)
    throw indexMismatch(`the list ${ask.key.join(' ')}`, value.last);
  const from = ask.sinceMs === null ? 0 : firstFrom(items, ask.sinceMs);
  const to = Math.max(from, ask.untilMs === null ? value.n : firstFrom(items, ask.untilMs));
  const shown: ShownItem[] = [];
  for (const position of new Set([from - 1, from, to - 1, to])) {
    if (position < 0 || position >= value.n) continue;
    const inclusion = proofs.inclusion(position).map(hashText);
    shown.push({
      position,
      inclusion,
      ...(await placeOf(context, projectId, { items, position, isOfLeaves })),
    });
  }
  return { entry, range: { from, to, items: shown } };
}

/** The range where the first and last times of the list decide; null where its items must be read. */
function outerRange(
  { n, firstMs, lastMs }: ListValue,
  { sinceMs, untilMs }: IndexQuestion,
): { from: number; to: number } | null {
  if (untilMs !== null && untilMs <= firstMs) return { from: 0, to: 0 };
  if (sinceMs !== null && sinceMs > lastMs) return { from: n, to: n };
  const isAll = (sinceMs === null || sinceMs <= firstMs) && (untilMs === null || untilMs > lastMs);
  return isAll ? { from: 0, to: n } : null;
}

/** Returns the first position at a time or later, or the count of the list if every time is earlier. Times never decrease. */
function firstFrom({ times }: ListItems, ms: number): number {
  const found = times.findIndex((time) => time >= ms);
  return found === -1 ? times.length : found;
}

async function placeOf(
  { reader }: TaskContext,
  projectId: string,
  { items, position, isOfLeaves }: { items: ListItems; position: number; isOfLeaves: boolean },
): Promise<Pick<ShownItem, 'index' | 'ms' | 'clientMs' | 'record'>> {
  const [index = -1, ms = 0] = [items.indexes[position], items.times[position]];
  const clientMs = items.clientTimes?.[position];
  if (!isOfLeaves) return { index, ms, ...(clientMs === undefined ? {} : { clientMs }) };
  const leaf = await reader.leaf(projectId, index);
  if (leaf === null) throw indexMismatch('a record of the run', index);
  return { record: leaf.record };
}
