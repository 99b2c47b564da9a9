/**
 * Looks for what a false index leaves out, as evidence that anybody verifies. The log itself has to show its map: it is asked
 * for each run with events between the index leaf before and the false one, without a new index leaf. Where its answer
 * contradicts an event in the signed tree, both make an evidence file. Null where the log does not answer, or where it left
 * out something else than events of a run. Proven by `test/host/witness/derived/operator.test.ts`.
 */
import type { Client } from '../../../client/create.ts';
import { inclusionFromTiles, logEntries } from '../../../client/log-entries.ts';
import type { FalseIndex } from '../../../core/completeness/derive.ts';
import { readIndex } from '../../../core/completeness/index-leaf.ts';
import { keyOfText, readMapped } from '../../../core/completeness/map-function.ts';
import { verifyEvidence } from '../../../core/evidence/file.ts';
import { indexOmissionText } from '../../../core/evidence/index-omission.ts';
import { openTrustedCheckpoint, type Trust } from '../../../core/note/checkpoint.ts';
import { readAnswer } from '../../../core/proofs/answer.ts';
import { pathText } from '../../../core/proofs/bundle.ts';
import { formatTimestamp } from '../../../core/time.ts';

type Source = Pick<Client, 'getTile' | 'askLog'>;

interface LastEvent {
  readonly index: number;
  readonly record: string;
}

export async function omissionOf(client: Source, fault: FalseIndex, trust: Trust): Promise<string | null> {
  const last = new Map<string, LastEvent>();
  let throughMs = 0;
  let index = fault.since;
  for await (const records of logEntries(client, { from: fault.since, to: fault.index + 1 })) {
    for (const record of records) {
      const [run] = readMapped(record).event === null ? [] : readMapped(record).items;
      if (run !== undefined) last.set(keyOfText(run.text)[1] ?? '', { index, record });
      if (index === fault.index) throughMs = readIndex(record)?.throughMs ?? 0;
      index += 1;
    }
  }
  for (const [runId, event] of last) {
    const { bytes } = await client.askLog({ query: { runId, until: formatTimestamp(throughMs) } });
    const text = await contradiction(client, bytes, { event, trust });
    if (text !== null) return text;
  }
  return null;
}

/** The evidence, if the answer contradicts the event. */
async function contradiction(
  client: Source,
  answer: Uint8Array,
  { event, trust }: { readonly event: LastEvent; readonly trust: Trust },
): Promise<string | null> {
  const { checkpoint, index, entry } = readAnswer(answer);
  const { size } = openTrustedCheckpoint(checkpoint, trust).checkpoint;
  if (event.index >= size) return null;
  const { path } = await inclusionFromTiles(client, { index: event.index, size });
  const leaf = { ...event, inclusion: pathText(path) };
  const text = indexOmissionText({ checkpoint, index, entry, leaf });
  return verifyEvidence(Buffer.from(text), trust).verified ? text : null;
}
