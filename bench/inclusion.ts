/**
 * Benchmark of an inclusion proof in a log of ten million leaves, from tiles as the store keeps them (8 KiB
 * blobs read by key from SQLite). The floor reads the same tiles without hashing.
 */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { inclusionPlan, inclusionProof, TileCache, TileEdge } from '../src/core/merkle/tile.ts';
import { leafHash, verifyInclusion } from '../src/core/merkle/tree.ts';
import { discard, percentile, report, scratch } from './support/harness.ts';

const leaves = Number(process.argv[2] ?? 10_000_000);
const folder = scratch();
const db = new Database(join(folder, 'tiles.db'));
db.pragma('journal_mode = WAL');
db.exec('CREATE TABLE tile (level INTEGER, n INTEGER, hashes BLOB, PRIMARY KEY (level, n)) STRICT');
const put = db.prepare(
  'INSERT INTO tile VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET hashes = excluded.hashes',
);
const get = db.prepare('SELECT hashes FROM tile WHERE level = ? AND n = ?').pluck();

const edge = TileEdge.from(0, () => Buffer.alloc(0));
const step = 100_000;
const save = db.transaction(() => {
  for (const tile of edge.changed()) put.run(tile.level, tile.index, tile.hashes);
});
for (let at = 0; at < leaves; at += step) {
  const hashes: Buffer[] = [];
  for (let index = at; index < Math.min(at + step, leaves); index += 1)
    hashes.push(leafHash(`leaf ${index}`));
  edge.append(hashes);
  save();
  edge.settle();
}
const root = edge.root();
const read = (level: number, index: number): Uint8Array => get.get(level, index) as Buffer;

const cache = new TileCache();
const floor: number[] = [];
const ours: number[] = [];
for (let round = 0; round < 2000; round += 1) {
  const index = Math.floor(Math.random() * leaves);
  let start = performance.now();
  for (const tile of inclusionPlan(index, leaves)) read(tile.level, tile.index);
  floor.push(performance.now() - start);
  start = performance.now();
  const path = inclusionProof(index, leaves, read, { cache });
  ours.push(performance.now() - start);
  if (!verifyInclusion({ index, size: leaves, leaf: leafHash(`leaf ${index}`), path, root })) {
    throw new Error(`the proof of leaf ${index} does not verify`);
  }
}
const row = (values: number[], what: string, ratio: string) => ({
  ratio,
  figure: `${percentile(values, 0.5).toFixed(3)} ms, p99 ${percentile(values, 0.99).toFixed(3)} ms`,
  what,
});
report(`inclusion proof, ${leaves} leaves, random index (reach: 1 ms)`, [
  row(floor, 'floor: read the planned tiles', ''),
  row(ours, 'plan, read, compute', `${(percentile(ours, 0.5) / percentile(floor, 0.5)).toFixed(1)} x`),
]);
discard(folder);
