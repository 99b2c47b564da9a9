/**
 * Two clients that send batches of 16 MB until stdin ends, in a process of their own. `texts`: 500 events of one
 * text; `values`: of 190 small values each; `keyed`: texts, each batch with an `Idempotency-Key`; `graphs`: replays of 20,000 nodes.
 * `node bench/support/large-writer.ts URL KEY SHAPE`
 */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';

const [, , baseUrl = '', apiKey = '', shape = ''] = process.argv;
const timestamp = new Date().toISOString();
const text = 'The quick brown fox jumps over the lazy dog. '.repeat(740);
const small = Array.from({ length: 190 }, (_, at) => `${'x'.repeat(70)}${at}`);
const events = Array.from({ length: 500 }, (_, at) => ({
  runId: `large-${at % 20}`,
  eventType: 'tool.call',
  actor: { name: 'agent', role: 'agent' },
  action: 'do',
  timestamp,
  metadata: shape === 'values' ? { list: small, at } : { text, at },
}));
const nodes = Array.from({ length: 20_000 }, (_, at) => ({
  id: `n${at}`,
  type: 'step',
  data: { text: text.slice(0, 80) },
}));
const edges = nodes.slice(1).map(({ id }, at) => ({ source: `n${at}`, target: id, type: 'caused' }));
const [path, sent] =
  shape === 'graphs'
    ? ['/replay/causal-graph', { runId: 'large', nodes, edges }]
    : ['/events/batch', { events }];
const body = Buffer.from(JSON.stringify(sent));
const still = { isWriting: true };
const counts = { stored: 0, refused: 0 };

async function write(): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  while (still.isWriting) {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'content-length': body.length,
      ...(shape === 'keyed' ? { 'idempotency-key': randomUUID() } : {}),
    };
    const status = await new Promise<number>((resolve, reject) => {
      const made = request(`${baseUrl}${path}`, { method: 'POST', agent, headers }, (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode ?? 0));
      });
      made.once('error', reject);
      made.end(body);
    });
    if (status === 201 || status === 202) counts.stored += 1;
    else counts.refused += 1;
  }
}

process.stdin.once('end', () => (still.isWriting = false)).resume();
await Promise.all([write(), write()]);
console.log(
  `${counts.stored} requests of ${(body.length / 1e6).toFixed(1)} MB stored, ${counts.refused} refused`,
);
process.exit(0);
