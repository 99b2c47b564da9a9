/** Answers about a small log, as a service gives them. */
import { mapEntry } from '../../../src/core/completeness/entry.ts';
import { listProofs } from '../../../src/core/completeness/list-proof.ts';
import type { MapFunction } from '../../../src/core/completeness/map-function.ts';
import { hashText } from '../../../src/core/hash.ts';
import { type Answer, answerMediaType, type ShownItem } from '../../../src/core/proofs/answer.ts';
import { pathText } from '../../../src/core/proofs/bundle.ts';
import { formatTimestamp } from '../../../src/core/time.ts';
import { appendIndex, mapOf } from '../completeness/indexed.ts';
import { naiveLists } from '../completeness/naive.ts';
import { ProofLog, startMs } from './log.ts';

/** Events of two runs and types, a second apart; then an index leaf. */
export function indexed(fn?: MapFunction): { log: ProofLog; index: number; map: ReturnType<typeof mapOf> } {
  const log = new ProofLog();
  for (let at = 0; at < 12; at++) {
    log.record({ runId: `run-${at % 2}`, eventType: at % 3 === 0 ? 'tool.call' : 'agent.step' });
  }
  const map = mapOf(log.leaves, log.hashes, fn);
  return { log, index: appendIndex(log, map), map };
}

const newer = indexed();
const { log } = newer;
/** The server time of the event of leaf `at`. */
export const timeOf = (at: number): number => startMs + at * 1000 + 7;
export const text = (ms: number | null): string | null => (ms === null ? null : formatTimestamp(ms));

export interface Period {
  readonly since?: number | null;
  readonly until?: number | null;
}

export const itemsOf = (key: readonly string[], { log: of, map } = newer) => {
  const records = of.leaves.slice(0, map.size).map(({ record }) => record);
  return naiveLists(records, map.fn).get(JSON.stringify(key))?.items ?? [];
};

export const countIn = (key: readonly string[], { since = null, until = null }: Period): number =>
  itemsOf(key).filter(({ ms }) => (since === null || ms >= since) && (until === null || ms < until)).length;

function shownAt(key: readonly string[], position: number, of = newer): ShownItem {
  const items = itemsOf(key, of);
  const proofs = listProofs(Buffer.concat(items.map(({ leaf }) => leaf)));
  const item = items[position]!;
  const { leaf: _leaf, ...at } = item;
  const place = key[0] === 'run' ? { record: log.leaves[item.index]!.record } : at;
  return { position, inclusion: proofs.inclusion(position).map(hashText), ...place };
}

/** The answer as a service gives it; `lie` changes where the range lies. */
export function answer(
  key: readonly string[],
  period: Period = {},
  lie: { from?: number; to?: number } = {},
  of = newer,
): Answer {
  const { since = null, until = null } = period;
  const { log: own, index, map } = of;
  const { path, value } = map.path(key);
  const size = own.leaves.length;
  const times = itemsOf(key).map(({ ms }) => ms);
  const first = (ms: number): number => times.filter((time) => time < ms).length;
  const from = lie.from ?? (since === null ? 0 : first(since));
  const to = lie.to ?? Math.max(from, until === null ? times.length : first(until));
  const positions = [...new Set([from - 1, from, to - 1, to])].filter((at) => at >= 0 && at < times.length);
  const isWhole = value === null || (since === null && until === null);
  return {
    mediaType: answerMediaType,
    question: { key, since: text(since), until: text(until) },
    checkpoint: own.checkpoint(size),
    index: { index, record: own.leaves[index]!.record, inclusion: pathText(own.path(index, size)) },
    entry: mapEntry(key, path, value),
    ...(isWhole ? {} : { range: { from, to, items: positions.map((at) => shownAt(key, at, of)) } }),
  };
}
