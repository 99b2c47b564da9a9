/**
 * Kills a writing process with SIGKILL at random moments, and checks after each round that everything that was
 * acknowledged is there, once, and that fsck finds nothing. `node test/faults/kill9.ts [rounds] [seed]`
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventIndex } from '../../src/core/id.ts';
import { readLosses } from '../../src/store/acked/losses.ts';
import { fsckStore } from '../../src/store/fsck/run.ts';
import { openStore, type SqliteStore } from '../../src/store/sqlite/store.ts';

const rounds = Number(process.argv[2] ?? 10);
let seed = Number(process.argv[3] ?? Date.now() % 2 ** 31);
const projectId = 'prj_kill';
const writer = fileURLToPath(new URL('./writer.ts', import.meta.url));

/** Numerical Recipes’ generator: the same seed kills at the same moments. */
const random = (): number => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;

/** Key → the answer that was acknowledged under it. */
async function writeAndKill(dataDir: string, round: number): Promise<Map<string, string>> {
  const child = spawn(process.execPath, [writer, dataDir, String(round)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const delayMs = 30 + random() * 1500;
  const chunks: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    chunks.push(text);
    timer ??= setTimeout(() => child.kill('SIGKILL'), delayMs);
  });
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    child.once('close', (...end) => resolve(end)),
  );
  if (signal !== 'SIGKILL') throw new Error(`the writer ended by itself with ${code}`);
  const lines = chunks.join('').split('\n').slice(1, -1); // what the kill cut off was not told
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]));
}

async function lost(store: SqliteStore, acknowledged: ReadonlyMap<string, string>): Promise<string[]> {
  const missing: string[] = [];
  for (const [key, body] of acknowledged) {
    const kept = await store.keptResponse(projectId, key);
    if (kept?.response.body !== body) missing.push(`answer ${key}`);
    for (const eventId of JSON.parse(body) as string[]) {
      const leaf = await store.leaf(projectId, eventIndex(eventId) ?? -1);
      if (leaf === null || !leaf.record.includes(`"eventId":"${eventId}"`)) missing.push(`event ${eventId}`);
    }
  }
  return missing;
}

const dataDir = mkdtempSync(join(tmpdir(), 'gov-kill9-'));
console.log(`seed ${seed}, ${rounds} rounds in ${dataDir}`);
let events = 0;
for (let round = 0; round < rounds; round += 1) {
  const acknowledged = await writeAndKill(dataDir, round);
  const store = openStore({ dataDir, clock: Date, randomBytes, reserveBytes: 0 });
  const missing = await lost(store, acknowledged);
  const { size } = await store.head(projectId, 'audit');
  const { audit_event: counted } = await store.totals(projectId);
  await store.close();
  const report = await fsckStore({ dataDir, deep: round % 5 === 4 || round === rounds - 1 });
  const told = [...acknowledged.values()].reduce(
    (sum, body) => sum + (JSON.parse(body) as string[]).length,
    0,
  );
  events += told;
  console.log(
    `round ${round}: ${told} events acknowledged, ${size} leaves, fsck ${report.ok ? 'ok' : 'BROKEN'}`,
  );
  const losses = readLosses(dataDir);
  if (missing.length > 0 || !report.ok || counted !== size - 1 || losses.length > 0) {
    console.log({
      losses,
      missing: missing.slice(0, 10),
      problems: report.problems.slice(0, 10),
      counted,
      size,
    });
    process.exit(1);
  }
}
rmSync(dataDir, { recursive: true });
console.log(`${events} acknowledged events over ${rounds} kills, none lost`);
