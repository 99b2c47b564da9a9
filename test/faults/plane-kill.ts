/**
 * Kills a serving plane with SIGKILL at random moments under eight writers, starts it again, repeats what was
 * not answered under the same keys, and checks that every acknowledged event is there, once, and that fsck
 * finds nothing. `node test/faults/plane-kill.ts [rounds] [seed]`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { planeInit } from '../../plane/data/init.ts';
import { fsck } from '../../src/host/data/fsck.ts';
import { ask, eventsOf, serve, type Serving } from './serving.ts';

const writers = 8;

export interface KillReport {
  readonly rounds: number;
  readonly acknowledged: number;
  /** Requests without an answer, repeated after the restart under the same key. */
  readonly repeated: number;
  readonly lost: number;
  readonly doubled: number;
  readonly fsckProblems: number;
}

interface Sent {
  readonly path: string;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly clientEventIds: readonly string[];
}

/** One event, or a batch now and then. */
function request(round: number, writer: number, step: number): Sent {
  const size = step % 3 === 2 ? 1 + ((writer * 7 + step) % 40) : 1;
  const clientEventIds = Array.from({ length: size }, (_, at) => `c:${round}:${writer}:${step}:${at}`);
  const events = clientEventIds.map((clientEventId, at) => ({
    runId: `run-${round}-${writer}`,
    eventType: 'tool.call',
    actor: { name: `writer ${writer}` },
    action: 'write',
    timestamp: '2026-03-01T09:30:00Z',
    metadata: { text: 'x'.repeat((at * 97 + step) % 2000) },
    clientEventId,
  }));
  const headers = { 'idempotency-key': `k:${round}:${writer}:${step}` };
  return size === 1
    ? { path: '/events', body: events[0], headers, clientEventIds }
    : { path: '/events/batch', body: { events }, headers, clientEventIds };
}

/** Sends a request and keeps what was acknowledged: client event id → event id. Throws where nothing came back. */
async function send(plane: Serving, sent: Sent, acknowledged: Map<string, string>): Promise<void> {
  let { status, body } = await ask(plane, sent.path, sent);
  // a busy machine sheds load: nothing was stored then
  for (; status === 503 && body.code === 'OVERLOADED'; { status, body } = await ask(plane, sent.path, sent)) {
    await wait(100);
  }
  if (status !== 201) throw new Error(`${sent.path}: ${status} ${JSON.stringify(body)}`);
  const ids: string[] =
    sent.path === '/events'
      ? [body.eventId]
      : body.results.map(({ eventId }: { eventId: string }) => eventId);
  for (const [at, clientEventId] of sent.clientEventIds.entries())
    acknowledged.set(clientEventId, ids[at] ?? '');
}

/** Writes until the plane is killed; answers the requests that no answer came for. */
async function writeAndKill(
  plane: Serving,
  { round, delayMs, acknowledged }: { round: number; delayMs: number; acknowledged: Map<string, string> },
): Promise<Sent[]> {
  const open: Sent[] = [];
  let killed = false;
  const callers = Array.from({ length: writers }, async (_, writer) => {
    for (let step = 0; ; step += 1) {
      const sent = request(round, writer, step);
      try {
        await send(plane, sent, acknowledged);
      } catch (error) {
        if (!killed) throw error;
        open.push(sent);
        return;
      }
    }
  });
  setTimeout(() => {
    killed = true;
    plane.child.kill('SIGKILL');
  }, delayMs);
  await Promise.all(callers);
  const end = await plane.ended;
  if (end !== 'SIGKILL') throw new Error(`the plane ended by itself with ${end}`);
  return open;
}

/** Compares what stands in the log with what was acknowledged. */
async function judge(plane: Serving, round: number, acknowledged: ReadonlyMap<string, string>) {
  const stored = new Map<string, string[]>();
  for (let writer = 0; writer < writers; writer += 1) {
    for (const { eventId, clientEventId } of await eventsOf(plane, `run-${round}-${writer}`)) {
      const key = clientEventId ?? eventId;
      stored.set(key, [...(stored.get(key) ?? []), eventId]);
    }
  }
  const lost = [...acknowledged].filter(([key, eventId]) => stored.get(key)?.includes(eventId) !== true);
  const doubled = [...stored].filter(([, eventIds]) => eventIds.length > 1);
  if (lost.length + doubled.length > 0)
    console.log({ round, lost: lost.slice(0, 5), doubled: doubled.slice(0, 5) });
  return { lost: lost.length, doubled: doubled.length };
}

/** `random`: in [0, 1). `tell`: a line per round. */
export async function killPlane(
  rounds: number,
  random: () => number,
  tell: (line: string) => void = () => undefined,
): Promise<KillReport> {
  const folder = mkdtempSync(join(tmpdir(), 'gov-planekill-'));
  const dataDir = join(folder, 'plane');
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
  const sum = { acknowledged: 0, repeated: 0, lost: 0, doubled: 0, fsckProblems: 0 };
  const all: (readonly [round: number, acknowledged: Map<string, string>])[] = [];
  let plane = await serve(dataDir);
  for (let round = 0; round < rounds; round += 1) {
    const acknowledged = new Map<string, string>();
    const delayMs = 200 + random() * 2800;
    const open = await writeAndKill(plane, { round, delayMs, acknowledged });
    plane = await serve(dataDir);
    for (const sent of open) await send(plane, sent, acknowledged);
    const { lost, doubled } = await judge(plane, round, acknowledged);
    const { found, problems } = await fsck({ dataDir, deep: round % 5 === 4 || round === rounds - 1 });
    if (found > 0) tell(JSON.stringify(problems.slice(0, 5)));
    sum.acknowledged += acknowledged.size;
    sum.repeated += open.length;
    sum.lost += lost;
    sum.doubled += doubled;
    sum.fsckProblems += found;
    all.push([round, acknowledged]);
    tell(
      `round ${round}: killed after ${Math.round(delayMs)} ms, ${acknowledged.size} acknowledged, ` +
        `${lost} lost, ${doubled} doubled, fsck found ${found}`,
    );
  }
  // what was written early must have outlived every later kill
  for (const [round, acknowledged] of all) {
    const { lost, doubled } = await judge(plane, round, acknowledged);
    sum.lost += lost;
    sum.doubled += doubled;
  }
  plane.child.kill('SIGTERM');
  const end = await plane.ended;
  if (end !== 0) throw new Error(`the plane ended with ${end} on SIGTERM`);
  rmSync(folder, { recursive: true });
  return { rounds, ...sum };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  let seed = Number(process.argv[3] ?? Date.now() % 2 ** 31);
  console.log(`seed ${seed}`);
  // Numerical Recipes’ generator: the same seed kills after the same times
  const random = (): number => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const report = await killPlane(Number(process.argv[2] ?? 10), random, (line) => console.log(line));
  console.log(report);
  if (report.lost + report.doubled + report.fsckProblems > 0) process.exitCode = 1;
}
