/** `gov log entries`: the records of the log below its newest checkpoint, as a file. Tested by `test/docs/index-witness.test.ts`. */
import { createWriteStream, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { logEntries } from '../../../client/log-entries.ts';
import { parseCheckpoint } from '../../../core/note/checkpoint.ts';
import { entriesHead } from '../../../core/evidence/entries-file.ts';
import { splitNote } from '../../../core/note/signed.ts';
import type { Run } from '../../context/command.ts';
import { counted } from '../../terminal/numbers.ts';
import { safe } from '../../terminal/safe.ts';
import { plainView } from '../../terminal/view.ts';
import type { logEntries as spec } from '../../specs/prove/log.ts';

export const run: Run<typeof spec> = async ({ flags, io, out, session, signal }) => {
  const client = await session.client();
  const note = String((await client.getCheckpoint()).body);
  const { size } = parseCheckpoint(splitNote(note).text);
  const path = resolve(io.cwd, flags.out);
  const lines = async function* (): AsyncGenerator<string, void, undefined> {
    yield entriesHead(note);
    for await (const records of logEntries(client, { from: 0, to: size }))
      yield records.map((record) => `${record}\n`).join('');
  };
  await pipeline(lines, createWriteStream(path, { mode: 0o600 }), { signal });
  const written = { file: flags.out, records: size, sizeBytes: statSync(path).size };
  if (!out.isHuman) return out.one(written, plainView(Object.keys(written)));
  return out.note(
    safe`wrote ${counted(size, 'record')} (${counted(written.sizeBytes, 'byte')}) to ${flags.out}`,
  );
};
