/** Answers of the index for exports of events, from the naive lists of a log. */
import { growthOf, mapEntry } from '../../../src/core/completeness/entry.ts';
import { listProofs } from '../../../src/core/completeness/list-proof.ts';
import type { LogMap } from '../../../src/core/completeness/log-map.ts';
import type { MapKey } from '../../../src/core/completeness/map.ts';
import type { FilterAnswer, ListAnswer } from '../../../src/core/exports/answer.ts';
import type { JsonObject } from '../../../src/core/json/parse.ts';
import { pathText } from '../../../src/core/proofs/bundle.ts';
import { naiveLists, type NaiveList } from '../completeness/naive.ts';
import type { ProofLog } from '../proofs/log.ts';

export interface Exported {
  readonly filters: JsonObject;
  readonly rows: readonly number[];
  readonly treeSize: number;
  /** The map of the index leaf, and that leaf. */
  readonly map: LogMap;
  readonly index: number;
}

type Clear = Record<string, string>;
const clearOf = (log: ProofLog, index: number): Clear => JSON.parse(log.leaves[index]!.record) as Clear;

/** The leaves below `treeSize` that filters select. */
export function selected(log: ProofLog, filters: JsonObject, treeSize: number): number[] {
  const { runId, eventType, startTime, endTime } = filters as Clear;
  return log.leaves
    .slice(0, treeSize)
    .map(({ index }) => index)
    .filter((index) => {
      const clear = clearOf(log, index);
      const ms = Date.parse(clear['timestamp'] ?? '');
      return (
        clear['type'] === 'gov.event/1' &&
        (runId === undefined || clear['runId'] === runId) &&
        (eventType === undefined || clear['eventType'] === eventType) &&
        (startTime === undefined || ms >= Date.parse(startTime)) &&
        (endTime === undefined || ms <= Date.parse(endTime))
      );
    });
}

/** The answer of an honest service. */
export function answerOf(log: ProofLog, exported: Exported): FilterAnswer {
  const { filters, map, index } = exported;
  const lists = naiveLists(
    log.leaves.slice(0, map.size).map(({ record }) => record),
    map.fn,
  );
  const size = log.leaves.length;
  const leaf = { index, record: log.leaves[index]!.record, inclusion: pathText(log.path(index, size)) };
  const { runId, eventType, startTime, endTime } = filters as Clear;
  const at = { log, map, lists };
  if (runId !== undefined) return { index: leaf, lists: [ofRun(['run', runId], exported, at)] };
  if (eventType !== undefined) return { index: leaf, lists: [ofPlaces(['type', eventType], exported, at)] };
  const kind = (startTime ?? endTime) === undefined ? 'type' : 'day';
  const items = [...lists.values()].filter(({ key }) => key[0] === kind).map(({ key }) => key[1]!);
  const isNeeded = (name: string): boolean =>
    kind === 'type' ||
    ((startTime === undefined || name >= utc(startTime)) && (endTime === undefined || name <= utc(endTime)));
  return {
    index: leaf,
    names: { entry: entryOf([`${kind}s`], at), items },
    lists: items.filter(isNeeded).map((name) => ofPlaces([kind, name], exported, at)),
  };
}

const utc = (time: string): string => new Date(time).toISOString().slice(0, 10);

interface At {
  readonly log: ProofLog;
  readonly map: LogMap;
  readonly lists: ReadonlyMap<string, NaiveList>;
}

function entryOf(key: MapKey, { map }: At) {
  const { path, value } = map.path(key);
  return mapEntry(key, path, value);
}

function ofPlaces(key: MapKey, { rows }: Exported, at: At): ListAnswer {
  const items = at.lists.get(JSON.stringify(key))?.items ?? [];
  const others = items
    .filter(({ index }) => !rows.includes(index))
    .map(({ index, ms, clientMs }) => `${index} ${ms} ${clientMs}`);
  return { entry: entryOf(key, at), ...(others.length === 0 ? {} : { others }) };
}

function ofRun(key: MapKey, { rows, treeSize }: Exported, at: At): ListAnswer {
  const { log } = at;
  const items = at.lists.get(JSON.stringify(key))?.items ?? [];
  const entry = entryOf(key, at);
  const records = items
    .filter(({ index }) => index < treeSize && !rows.includes(index))
    .map(({ index }) => log.leaves[index]!.record);
  const n = items.filter(({ index }) => index < treeSize).length;
  const next = items[n];
  const proofs = listProofs(Buffer.concat(items.map(({ leaf }) => leaf)));
  const growth = next && {
    growth: growthOf(proofs, {
      n,
      whole: n > 0,
      index: next.index,
      leaf: next.leaf,
      inclusion: log.path(next.index, log.leaves.length),
    }),
  };
  return { entry: { ...entry, ...growth }, ...(records.length === 0 ? {} : { records }) };
}
