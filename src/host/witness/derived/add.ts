/**
 * A log that an index witness cannot reach: its records come as a file (`gov log entries`). Derived like any other, and cosigned
 * or refused for good. Proven by `test/host/witness/derived/operator.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import { listProofs } from '../../../core/completeness/list-proof.ts';
import { readEntries } from '../../../core/evidence/entries-file.ts';
import { leafHash } from '../../../core/merkle/tree.ts';
import { originOf } from '../../../core/note/witness.ts';
import type { Cosign, WitnessStore } from '../store.ts';
import { IndexLane } from './lane.ts';
import type { MapStores } from './map-store.ts';

interface Options {
  readonly store: WitnessStore;
  readonly maps: MapStores;
  readonly cosign: Cosign;
  readonly nowSeconds: number;
  /** Returns the bytes of the file, and may be called again. */
  readonly read: () => AsyncIterable<Uint8Array>;
}

/** Returns the signed note of the file with the cosignature. CONFLICT for a refused log, VALIDATION_ERROR. Attacker controlled. */
export async function addEntries({ store, maps, cosign, nowSeconds, read }: Options): Promise<string> {
  const { note, hashes } = await hashesIn(read());
  const origin = originOf(note) ?? '';
  const known = store.logs().find((each) => each.origin === origin)?.size ?? 0;
  const proof = known > 0 && known < hashes.n ? hashes.consistency(known) : [];
  const request = { oldSize: known, proof, note };
  const decided = store.decide(request);
  if (decided.status !== 200) throw new GovError('VALIDATION_ERROR', decided.detail);
  const { size } = decided.checkpoint;
  if (hashes.n !== size)
    throw new GovError(
      'VALIDATION_ERROR',
      `entries: expected the ${size} records of the checkpoint, got ${hashes.n}`,
    );
  const refusal = store.refusal(origin);
  if (refusal !== null) throw new GovError('CONFLICT', `the log is refused for good: ${refusal.detail}`);
  const lane = new IndexLane({
    records: ({ from, to }) => recordsOf(read(), from, to),
    store: maps.of(origin),
    refuse: async ({ index: leaf, detail }, signed) =>
      store.refuse(origin, { leaf, detail, note: signed, evidence: null }),
    failed: () => {}, // the answer says why
  });
  const target = { checkpoint: decided.checkpoint, note };
  let judged = await lane.judge(target);
  while (judged.kind === 'behind' && lane.isDeriving) judged = await lane.judge(target);
  await lane.stop();
  if (judged.kind === 'refused')
    throw new GovError('CONFLICT', `the log is refused for good: ${judged.detail}`);
  if (judged.kind === 'behind') throw new GovError('VALIDATION_ERROR', `entries: ${judged.detail}`);
  return note + (store.add(request, nowSeconds, cosign).lines ?? '');
}

async function hashesIn(bytes: AsyncIterable<Uint8Array>) {
  const hashes: Buffer[] = [];
  let note = '';
  for await (const part of readEntries(bytes)) {
    if (typeof part === 'string') note = part;
    else hashes.push(...part.map(leafHash));
  }
  return { note, hashes: listProofs(Buffer.concat(hashes)) };
}

async function* recordsOf(
  bytes: AsyncIterable<Uint8Array>,
  from: number,
  to: number,
): AsyncGenerator<readonly string[], void, undefined> {
  let at = 0;
  for await (const part of readEntries(bytes)) {
    if (typeof part === 'string') continue;
    yield part.slice(Math.max(0, from - at), Math.max(0, to - at));
    at += part.length;
  }
}
