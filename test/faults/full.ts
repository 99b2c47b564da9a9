/**
 * Fills the disk below a serving plane, keeps writing, proving and queueing jobs against it, frees space, and
 * checks that reads went on, the log stayed quiet, writing came back without a restart and nothing that was
 * acknowledged is lost. Needs root on Linux, for a tmpfs. `node test/faults/full.ts [seconds-while-full]`
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { planeInit } from '../../plane/data/init.ts';
import { fsck } from '../../src/host/data/fsck.ts';
import { ask, batchOf, eventsOf, serve, type Answer, type Serving } from './serving.ts';

const MiB = 1024 * 1024;

export interface FullReport {
  /** Events acknowledged before, while and after the disk was full. */
  readonly acknowledged: number;
  /** What was answered while the disk was full: `POST /proofs 503 STORAGE_FULL` → how often. */
  readonly answers: Readonly<Record<string, number>>;
  readonly failedReads: number;
  readonly logLinesPerSecond: number;
  /** Messages of those lines → how often. */
  readonly logged: Readonly<Record<string, number>>;
  /** CPU seconds per second while nothing was asked of the full plane. */
  readonly idleCpu: number;
  /** From freeing space to the first 201, milliseconds. */
  readonly healedAfterMs: number;
  readonly lost: number;
  readonly exit: number | string | null;
  readonly fsckProblems: number;
}

const batch = (count: number, text: string, runId = 'full') =>
  batchOf(
    runId,
    Array.from({ length: count }, () => text),
  );

/** Mounts a tmpfs; null where this process may not. The answer unmounts it. */
export function mountSmall(folder: string, MiBs: number): (() => void) | null {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${MiBs}m`, 'tmpfs', folder], { stdio: 'pipe' });
  } catch {
    return null;
  }
  return () => execFileSync('umount', ['-l', folder]);
}

/** Writes batches until one is refused; the ids of all events that were acknowledged. */
async function writeUntilRefused(plane: Serving, acknowledged: string[]): Promise<Answer> {
  for (;;) {
    const answer = await ask(plane, '/events/batch', { body: batch(100, 'x'.repeat(4000)) });
    if (answer.status !== 201) return answer;
    for (const { eventId } of answer.body.results as { eventId: string }[]) acknowledged.push(eventId);
  }
}

async function cpuOf(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100; // ticks of 10 ms
}

/** Asks for everything a client asks for, for some seconds, while the disk is full. */
async function press(plane: Serving, seconds: number, acknowledged: string[]) {
  const answers: Record<string, number> = {};
  let failedReads = 0;
  const note = (what: string, { status, body }: Answer): void => {
    const name = `${what} ${status}${status >= 400 ? ` ${body.code}` : ''}`;
    answers[name] = (answers[name] ?? 0) + 1;
  };
  const until = Date.now() + seconds * 1000;
  const events = async (): Promise<void> => {
    while (Date.now() < until) {
      const answer = await ask(plane, '/events/batch', { body: batch(20, 'y'.repeat(4000)) });
      if (answer.status === 201) for (const { eventId } of answer.body.results) acknowledged.push(eventId);
      note('POST /events/batch', answer);
      await wait(20);
    }
  };
  const proofs = async (): Promise<void> => {
    for (let at = 0; Date.now() < until; at += 1) {
      const body = { runId: 'small', ...(at % 2 === 0 ? { async: true } : {}) };
      note(at % 2 === 0 ? 'POST /proofs async' : 'POST /proofs', await ask(plane, '/proofs', { body }));
      await wait(50);
    }
  };
  const reads = async (): Promise<void> => {
    while (Date.now() < until) {
      for (const path of [
        '/events?runId=small',
        '/runs',
        '/events/count?runId=full',
        '/jobs',
        '/proofs',
        '/log/checkpoint',
      ]) {
        const answer = path === '/log/checkpoint' ? await textOf(plane, path) : await ask(plane, path);
        note(`GET ${path.split('?', 1)[0]}`, answer);
        if (answer.status !== 200) failedReads += 1;
      }
      note('GET /health', await ask(plane, '/health'));
      await wait(50);
    }
  };
  await Promise.all([events(), events(), proofs(), reads()]);
  return { answers, failedReads };
}

async function textOf({ baseUrl, key }: Serving, path: string): Promise<Answer> {
  const answer = await fetch(`${baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } });
  await answer.arrayBuffer();
  return { status: answer.status, body: { code: 'not JSON' } };
}

/**
 * `folder`: an empty mounted file system of about 240 MiB. `takeAll`: another program takes what the plane let
 * go of its reserve.
 */
export async function fillDisk(
  folder: string,
  { seconds, takeAll }: { seconds: number; takeAll: boolean },
): Promise<FullReport> {
  const dataDir = join(folder, 'plane');
  const ballast = join(folder, 'ballast');
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
  writeFileSync(ballast, Buffer.alloc(100 * MiB));
  const plane = await serve(dataDir);
  const acknowledged: string[] = [];
  const small = await ask(plane, '/events/batch', { body: batch(20, 'small', 'small') });
  if (small.status !== 201) throw new Error(`the first batch: ${JSON.stringify(small.body)}`);
  // a job that is due when the disk is full
  await ask(plane, '/proofs', { body: { runId: 'small', async: true } });
  const refused = await writeUntilRefused(plane, acknowledged);
  if (refused.body.code !== 'STORAGE_FULL') throw new Error(JSON.stringify(refused.body));
  if (takeAll) takeRest(join(folder, 'rest'));
  const linesBefore = plane.log().length;
  const pressed = await press(plane, seconds, acknowledged);
  const cpuBefore = await cpuOf(plane.child.pid ?? 0);
  await wait(3000);
  const idleCpu = ((await cpuOf(plane.child.pid ?? 0)) - cpuBefore) / 3;
  const lines = plane.log().slice(linesBefore);
  const logged: Record<string, number> = {};
  for (const line of lines) {
    const { msg, err } = JSON.parse(line) as { msg: string; err?: { message: string } };
    const name = err === undefined ? msg : `${msg}: ${err.message}`;
    logged[name] = (logged[name] ?? 0) + 1;
  }
  const freedAt = Date.now();
  rmSync(ballast);
  for (let status = 0; status !== 201; await wait(20)) {
    if (Date.now() - freedAt > 30_000) throw new Error('writing did not come back in 30 s');
    const answer = await ask(plane, '/events/batch', { body: batch(1, 'after') });
    status = answer.status;
    if (status === 201) acknowledged.push(answer.body.results[0].eventId);
  }
  const healedAfterMs = Date.now() - freedAt;
  const stored = new Set((await eventsOf(plane, 'full')).map(({ eventId }) => eventId));
  plane.child.kill('SIGTERM');
  const exit = await plane.ended;
  const { found } = await fsck({ dataDir, deep: true });
  return {
    acknowledged: acknowledged.length,
    ...pressed,
    logLinesPerSecond: lines.length / (seconds + 3),
    logged,
    idleCpu,
    healedAfterMs,
    lost: acknowledged.filter((eventId) => !stored.has(eventId)).length,
    exit,
    fsckProblems: found,
  };
}

/** Takes the space that is left, but for some pages: so a small write may fit and the next one not. */
export function takeRest(path: string, freeBytes = 0): void {
  try {
    writeFileSync(path, Buffer.alloc(200 * MiB));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
  truncateSync(path, statSync(path).size - freeBytes);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const takeAll of [true, false]) {
    const folder = mkdtempSync(join(tmpdir(), 'gov-full-'));
    const unmount = mountSmall(folder, 240);
    if (unmount === null) throw new Error('expected root on Linux, with the right to mount a tmpfs');
    try {
      const report = await fillDisk(folder, { seconds: Number(process.argv[2] ?? 10), takeAll });
      console.log({ takeAll, ...report });
      const broken = report.lost + report.failedReads + report.fsckProblems;
      if (broken > 0 || report.exit !== 0) process.exitCode = 1;
    } finally {
      unmount();
      rmSync(folder, { recursive: true });
    }
  }
}
