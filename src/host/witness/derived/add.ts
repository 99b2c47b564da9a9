/**
 * A log that an index witness cannot reach: its records come as a file (`gov log entries`). Derived like any other, and cosigned
 * or refused for good. Proven by `test/host/witness/derived/operator.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import { listProofs, type ListProofs } from '../../../core/completeness/list-proof.ts';
import { isRecords, readEntries, wholeLog, type EntriesHead } from '../../../core/evidence/entries-file.ts';
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
  const file = await hashesIn(read());
  const { checkpoint: note } = file.head;
  const origin = originOf(note) ?? '';
  const known = store.logs().find((each) => each.origin === origin)?.size ?? 0;
  const request = { oldSize: known, proof: proofFrom(known, file), note };
  const decided = store.decide(request);
  if (decided.status !== 200) throw new GovError('VALIDATION_ERROR', decided.detail);
  const { size } = decided.checkpoint;
  const wanted = size - file.head.from;
  if (file.hashes.n !== wanted)
    throw new GovError(
      'VALIDATION_ERROR',
      `entries: expected the ${wanted} records of the checkpoint, got ${file.hashes.n}`,
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

interface EntriesRead {
  readonly head: EntriesHead;
  /** Of the records of the file. */
  readonly hashes: ListProofs;
}

async function hashesIn(bytes: AsyncIterable<Uint8Array>): Promise<EntriesRead> {
  const hashes: Buffer[] = [];
  let head = wholeLog('');
  for await (const part of readEntries(bytes)) {
    if (isRecords(part)) hashes.push(...part.map(leafHash));
    else head = part;
  }
  return { head, hashes: listProofs(Buffer.concat(hashes)) };
}

/** The consistency proof from the size that the witness knows. */
function proofFrom(known: number, { head, hashes }: EntriesRead): readonly Buffer[] {
  const { from, since, consistency } = head;
  if (from === 0) return known > 0 && known < hashes.n ? hashes.consistency(known) : [];
  if (since === known) return consistency;
  const flag = known === 0 ? 'without --since' : `--since ${known}`;
  throw new GovError(
    'VALIDATION_ERROR',
    `entries: this witness has cosigned ${known} records of the log, and the file continues ${since}: make it with gov log entries ${flag}`,
  );
}

/** The records [from, to). Throws VALIDATION_ERROR where the file begins later. */
async function* recordsOf(
  bytes: AsyncIterable<Uint8Array>,
  from: number,
  to: number,
): AsyncGenerator<readonly string[], void, undefined> {
  let at = 0;
  for await (const part of readEntries(bytes)) {
    if (isRecords(part)) {
      yield part.slice(Math.max(0, from - at), Math.max(0, to - at));
      at += part.length;
      continue;
    }
    at = part.from;
    if (at > from)
      throw new GovError(
        'VALIDATION_ERROR',
        `this witness has stored the derivation of ${from} records, and the file begins at ${at}: make it with gov log entries without --since`,
      );
  }
}
