/**
 * The process that `kill.test.ts` kills: `child.ts FOLDER FILE LANES [away]` pushes through FOLDER/spool to a service
 * whose memory is FOLDER/ledger, and writes a line to standard output at each step.
 */
import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { Sink } from '../../../src/client/sending/deliver.ts';
import type { JsonObject } from '../../../src/core/json/parse.ts';
import { Folder, push } from './harness.ts';
import { unreachable } from './service.ts';

const [path = '', file = '', lanes = '1', away] = process.argv.slice(2);
const ledger = join(path, 'ledger');
const step = (): void => void process.stdout.write('step\n');

function known(): Set<string> {
  if (!existsSync(ledger)) return new Set();
  const text = readFileSync(ledger, 'utf8');
  // what a kill tore was not committed
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  truncateSync(ledger, Buffer.byteLength(whole));
  return new Set(
    whole
      .split('\n')
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { key: string }).key),
  );
}
const keys = known();

const service: Sink = {
  async push({ key, events }) {
    step();
    if (away === 'away') throw unreachable();
    await new Promise((resolve) => setImmediate(resolve));
    const replayed = keys.has(key);
    const n = events.map((event) => ((event as JsonObject)['metadata'] as JsonObject)['n']);
    if (!replayed) appendFileSync(ledger, `${JSON.stringify({ key, n })}\n`);
    keys.add(key);
    step();
    return { results: events.map(() => ({ eventId: 'evt_x', status: 'accepted' as const })), replayed };
  },
};

const folder = Object.assign(Object.create(Folder.prototype) as Folder, { path });
const { code, failure } = await push(
  { files: [file], spool: join(path, 'spool'), resume: true, batchSize: 7, concurrency: Number(lanes) },
  { folder, service },
);
if (failure !== '') process.stderr.write(`${failure}\n`);
process.exitCode = code;
