/**
 * Sets the clock of a serving plane, as libfaketime lets it, by seconds to months and back, while eight writers record.
 * The plane must not follow a jump of more than `limits.clockJumpSeconds`: the log's times go on with the real time, health
 * and `gov.system` name the jump and its end, every acknowledged event is there, and fsck finds nothing. Needs Debian's
 * package `faketime`. `node test/faults/clock-jumps.ts [jumps] [seed]`
 */
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { planeInit } from '../../plane/data/init.ts';
import { limits } from '../../src/contract/limits.ts';
import { fsck } from '../../src/host/data/fsck.ts';
import { ask, batchOf, eventsOf, serve, type Serving } from './serving.ts';

const jumps = Number(process.argv[2] ?? 10);
let seed = Number(process.argv[3] ?? Date.now() % 2 ** 31);
/** Numerical Recipes’ generator: the same seed jumps by the same times. */
const random = (): number => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;

const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');
if (library === undefined) throw new Error('expected libfaketime, got none; install the package faketime');

/** Lengths in seconds: below the bound, around it, a day, a season. */
const lengths = [2, limits.clockJumpSeconds - 10, limits.clockJumpSeconds + 10, 3600, 86_400, 90 * 86_400];
/** How far the newest time of the log may be from the real time. */
const toleranceMs = (limits.clockJumpSeconds + 5) * 1000;

const folder = mkdtempSync(join(tmpdir(), 'gov-clock-'));
const offset = join(folder, 'offset');
const setClock = (seconds: number): void => writeFileSync(offset, `${seconds < 0 ? '' : '+'}${seconds}\n`);

/** Records with eight writers for the given time. Returns the ids of acknowledged events. */
async function write(plane: Serving, runId: string, ms: number): Promise<string[]> {
  const ids: string[] = [];
  const end = performance.now() + ms;
  const writer = async (): Promise<void> => {
    while (performance.now() < end) {
      const { status, body } = await ask(plane, '/events/batch', { body: batchOf(runId, ['a', 'b']) });
      // a busy machine sheds load: nothing was stored then
      if (status === 503 && (body as { code: string }).code === 'OVERLOADED') continue;
      if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
      ids.push(...(body.results as { eventId: string }[]).map(({ eventId }) => eventId));
    }
  };
  await Promise.all(Array.from({ length: 8 }, writer));
  return ids;
}

/** Server time of the newest event, Unix milliseconds. */
async function newestTime(plane: Serving): Promise<number> {
  const [eventId] = await write(plane, 'clock', 1);
  const { body: found } = await ask(plane, `/events/${eventId}`);
  return Date.parse((found as { serverTimestamp: string }).serverTimestamp);
}

async function jumpReasons(plane: Serving): Promise<string[]> {
  const { body } = await ask(plane, '/health');
  return ((body as { reasons?: string[] }).reasons ?? []).filter((reason) => reason.startsWith('clock_skew'));
}

const problems: string[] = [];
const check = (holds: boolean, problem: string): void => {
  if (!holds) problems.push(problem);
};

console.log(`seed ${seed}, ${jumps} jumps`);
const dataDir = join(folder, 'plane');
await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
setClock(0);
const plane = await serve(dataDir, {
  env: {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: offset,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  },
});
let acknowledged = 0;
let followed = 0;
for (let at = 0; at < jumps; at += 1) {
  const seconds = lengths[at % lengths.length]! * (random() < 0.5 ? -1 : 1);
  const runId = `jump-${at}`;
  const writing = write(plane, runId, 4000);
  await wait(1000);
  setClock(seconds);
  await wait(1500);
  const isJump = Math.abs(seconds) > limits.clockJumpSeconds;
  const aheadMs = (await newestTime(plane)) - Date.now();
  const reasons = await jumpReasons(plane);
  check(
    Math.abs(aheadMs) <= toleranceMs,
    `jump of ${seconds} s: the log is ${aheadMs} ms from the real time`,
  );
  check(reasons.length === (isJump ? 1 : 0), `jump of ${seconds} s: health says ${JSON.stringify(reasons)}`);
  setClock(0);
  const ids = await writing;
  const after = await jumpReasons(plane);
  check(after.length === 0, `after a jump of ${seconds} s: health still says ${JSON.stringify(after)}`);
  const stored = new Set((await eventsOf(plane, runId)).map(({ eventId }) => eventId));
  const lost = ids.filter((id) => !stored.has(id)).length;
  check(lost === 0 && stored.size === ids.length, `jump of ${seconds} s: ${lost} lost of ${ids.length}`);
  acknowledged += ids.length;
  if (isJump) followed += 1;
  console.log(
    `jump ${at}: ${seconds} s, log ${aheadMs} ms from the real time, ${ids.length} events, ${lost} lost`,
  );
}
const { body: system } = await ask(plane, '/events?runId=gov.system&limit=1000');
const named = (type: string): number =>
  (system as { events: { eventType: string }[] }).events.filter(({ eventType }) => eventType === type).length;
check(named('clock.jumped') === followed, `${followed} jumps, gov.system has ${named('clock.jumped')}`);
check(named('clock.corrected') === followed, `${followed} ends, gov.system has ${named('clock.corrected')}`);
plane.child.kill('SIGTERM');
check((await plane.ended) === 0, 'the plane did not end with 0');
const { problems: found } = await fsck({ dataDir, deep: true });
check(found.length === 0, `fsck: ${JSON.stringify(found.slice(0, 5))}`);
console.log({ jumps, acknowledged, problems });
if (problems.length > 0) process.exitCode = 1;
else rmSync(folder, { recursive: true });
