/** `gov log entries`: the records of the log below its newest checkpoint, as a file. Tested by `test/docs/index-witness.test.ts`. */
import { createWriteStream, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Client } from '../../../client/create.ts';
import { limits } from '../../../contract/limits.ts';
import { logEntries } from '../../../client/log-entries.ts';
import { unverifiedHead } from '../../../core/note/checkpoint.ts';
import { entriesHead, wholeLog } from '../../../core/evidence/entries-file.ts';
import { parseHash } from '../../../core/hash.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { counted } from '../../terminal/numbers.ts';
import { safe } from '../../terminal/safe.ts';
import { plainView } from '../../terminal/view.ts';
import type { logEntries as spec } from '../../specs/prove/log.ts';

export const run: Run<typeof spec> = async ({ flags, io, out, session, signal }) => {
  const client = await session.client();
  const note = String((await client.getCheckpoint()).body);
  const { size } = unverifiedHead(note);
  const { since = 0 } = flags;
  if (since > size)
    throw usage(`--since: expected at most the ${size} records of the newest checkpoint, got ${since}`);
  const from = Math.max(0, since - limits.entriesOverlap);
  const head =
    from === 0
      ? wholeLog(note)
      : { checkpoint: note, from, since, consistency: await pathFrom(client, since, size) };
  const path = resolve(io.cwd, flags.out);
  const lines = async function* (): AsyncGenerator<string, void, undefined> {
    yield entriesHead(head);
    for await (const records of logEntries(client, { from, to: size }))
      yield records.map((record) => `${record}\n`).join('');
  };
  await pipeline(lines, createWriteStream(path, { mode: 0o600 }), { signal });
  const written = { file: flags.out, records: size - from, sizeBytes: statSync(path).size };
  if (!out.isHuman) return out.one(written, plainView(Object.keys(written)));
  return out.note(
    safe`wrote ${counted(written.records, 'record')} (${counted(written.sizeBytes, 'byte')}) to ${flags.out}`,
  );
};

/** The consistency proof between two sizes; empty where there is none to show. */
async function pathFrom(
  client: Pick<Client, 'getLogConsistency'>,
  from: number,
  to: number,
): Promise<readonly Buffer[]> {
  if (from === to) return [];
  const { body } = await client.getLogConsistency({ query: { from: String(from), to: String(to) } });
  return (body.proofs[0]?.path ?? []).flatMap((text) => parseHash(text) ?? []);
}
