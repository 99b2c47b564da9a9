/** The index of a log in memory, as the service makes it, and bundles that carry it. */
import { growthOf, mapEntry, type MapEntry } from '../../../src/core/completeness/entry.ts';
import { draftIndex } from '../../../src/core/completeness/index-leaf.ts';
import { listProofs } from '../../../src/core/completeness/list-proof.ts';
import { LogMap } from '../../../src/core/completeness/log-map.ts';
import type { MapKey } from '../../../src/core/completeness/map.ts';
import { mapFunction, readMapped, type MapFunction } from '../../../src/core/completeness/map-function.ts';
import type { OtherDraft } from '../../../src/core/events/record.ts';
import { type Bundle, composeBundle, pathText } from '../../../src/core/proofs/bundle.ts';
import { shownLists } from '../../../src/core/proofs/completeness.ts';
import { readStatement } from '../../../src/core/proofs/statement.ts';
import { formatTimestamp } from '../../../src/core/time.ts';
import type { ProofLog } from '../proofs/log.ts';
import { naiveLists } from './naive.ts';

export function mapOf(
  records: readonly { readonly record: string }[],
  hashes: readonly Buffer[],
  fn: MapFunction = mapFunction,
): LogMap {
  const map = new LogMap(null, fn);
  records.forEach(({ record }, at) => map.add(hashes[at]!.toString('latin1'), readMapped(record, fn)));
  map.root();
  return map;
}

/** As the sequencer does. */
export const sealed = ({ record, timeAt }: OtherDraft, ms: number): string =>
  record.slice(0, timeAt) + formatTimestamp(ms) + record.slice(timeAt);

/** Appends the index leaf of a map, and returns its index. */
export function appendIndex(log: ProofLog, map: LogMap): number {
  const draft = draftIndex({ size: map.size, root: map.root(), keys: map.keys, ms: map.ms, fn: map.fn });
  return log.append({ ...draft, record: sealed(draft, Math.max(map.ms, 1)) });
}

/** What a map says of a key; `size`: S, and `shown`: how many items the proof has, for the proof that it went on. */
function entryOf(log: ProofLog, map: LogMap, key: MapKey, shown: { n: number; whole: boolean }): MapEntry {
  const { path, value } = map.path(key);
  const entry = mapEntry(key, path, value);
  if (value === null || value.n <= shown.n) return entry;
  const records = log.leaves.slice(0, map.size).map(({ record }) => record);
  const { items } = naiveLists(records).get(JSON.stringify(key))!;
  const next = items[shown.n]!;
  const proofs = listProofs(Buffer.concat(items.map(({ leaf }) => leaf)));
  const place = { index: next.index, leaf: next.leaf, inclusion: log.path(next.index, log.leaves.length) };
  return { ...entry, growth: growthOf(proofs, { ...shown, ...place }) };
}

/** The bundle with the index of the whole log, in a log that ends with it. `map`: another index. */
export function complete(log: ProofLog, bundle: Bundle, map = mapOf(log.leaves, log.hashes)): Bundle {
  const { mediaType: _, ...parts } = bundle;
  const index = appendIndex(log, map);
  const size = log.leaves.length;
  const statements = new Map(
    Object.entries(bundle.layerStatements).map(([name, text]) => [name, readStatement(text)!]),
  );
  const { evidence } = statements.get('event_integrity')!;
  const included = (at: number) => ({
    index: at,
    record: log.leaves[at]!.record,
    inclusion: pathText(log.path(at, size)),
  });
  return composeBundle({
    ...parts,
    proofLeaf: included(bundle.proofLeaf.index),
    proofCheckpoint: log.checkpoint(size),
    consistency: pathText(log.consistency(evidence.treeSize, size)),
    completeness: {
      index: included(index),
      entries: shownLists(evidence, statements).map(({ key, n, root }) =>
        entryOf(log, map, key, { n, whole: root !== null }),
      ),
    },
  });
}
