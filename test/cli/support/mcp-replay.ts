/**
 * A server that replays its part of a capture: `node mcp-replay.ts CAPTURE`. It waits for each message of the client, whose
 * bytes must be those of the capture, before it sends what came after. Exit code 99: another message came.
 */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const lines = readFileSync(process.argv[2] ?? '', 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));
const arrived = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
for (const { dir, msg } of lines) {
  if (dir === 'server->client') process.stdout.write(`${JSON.stringify(msg)}\n`);
  if (dir !== 'client->server') continue;
  const { value } = await arrived.next();
  if (value !== JSON.stringify(msg)) {
    process.stderr.write(`expected ${JSON.stringify(msg)}, got ${String(value)}\n`);
    process.exit(99);
  }
}
process.exit((await arrived.next()).done === true ? 0 : 99);
