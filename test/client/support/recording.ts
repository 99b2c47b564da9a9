/**
 * A process that records: `recording.ts BASEURL SPOOL HOW`. It prints `saved N` after event N is in the spool, or on disk
 * only by the end of the process. The tests start it on what is built.
 */
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import type * as Library from '../../../src/client/index.ts';

const [baseUrl = '', spool = '', how = 'saved'] = process.argv.slice(2);
const built = pathToFileURL(join(import.meta.dirname, '../../../dist/client.js')).href;
const { createClient, EventRecorder } = (await import(built)) as typeof Library;

const client = createClient({ baseUrl, apiKey: 'k', env: {}, retries: 0 });
const where = spool === '' ? {} : { spool };
const recorder = await EventRecorder.open(client, { ...where, batchSize: 5, lingerMs: 60_000 });
const event = (n: number) => ({
  runId: 'r',
  eventType: 'step',
  actor: 'a',
  action: 'b',
  timestamp: new Date().toISOString(),
  metadata: { n, pid: process.pid },
});

if (how === 'saved') {
  for (let n = 0; ; n += 1) {
    recorder.record(event(n));
    await recorder.saved();
    process.stdout.write(`saved ${n}\n`);
  }
}
for (let n = 0; n < 12; n += 1) recorder.record(event(n));
// `end`: nothing else keeps the process alive
if (how === 'exit') process.exit(0);
