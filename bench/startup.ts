/**
 * Benchmark of startup: the version, a command that stops before its first network request, the first frame of a screen,
 * and a plane that listens on an empty store. The floor is `node -e 0` of the same Node. The screen has a terminal of
 * `script` (util-linux), whose own start is part of its figure.
 */
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import {
  alternate,
  discard,
  entry,
  milliseconds,
  report,
  scratch,
  screenFlags,
  startPlane,
} from './support/harness.ts';

const home = scratch();
const env = { PATH: process.env['PATH'], HOME: home, XDG_CACHE_HOME: join(home, 'cache') };
const spawned = (args: readonly string[]) => () =>
  milliseconds(() => spawnSync(process.execPath, args, { env, stdio: 'ignore' }));

const screened = await startPlane();
/** Until the title is on the terminal; the plane's answer comes later. */
async function firstFrame(): Promise<number> {
  const command = [process.execPath, ...screenFlags, entry, 'top'].map((word) => `'${word}'`).join(' ');
  const { baseUrl: GOV_BASE_URL, apiKey: GOV_API_KEY } = screened;
  const start = performance.now();
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: { ...env, TERM: 'xterm-256color', GOV_BASE_URL, GOV_API_KEY },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const ms = await new Promise<number>((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += String(chunk);
      if (text.includes('gov top')) resolve(performance.now() - start);
    });
    child.once('error', reject);
    child.once('close', () => reject(new Error(`expected a screen, got ${text}`)));
  });
  child.stdin.end('q');
  await ended;
  return ms;
}

const variants = {
  floor: spawned(['-e', '0']),
  version: spawned([entry, '--version']),
  // has no context, so it reads flags and configuration and then stops
  command: spawned([entry, 'events', 'list', '--run', 'r']),
  screen: firstFrame,
};
for (const warm of Object.values(variants)) await warm();
const times = await alternate(variants, 41);
await screened.stop();
discard(join(screened.dataDir, '..'));

const planes: number[] = [];
for (let round = 0; round < 7; round += 1) {
  const plane = await startPlane();
  planes.push(plane.startedInMs);
  await plane.stop();
  discard(join(plane.dataDir, '..'));
}
const listening = planes.toSorted((a, b) => a - b)[3] ?? NaN;
const beyond = (ms: number) => `+${(ms - times.floor).toFixed(1)} ms`;
report('start-up (median of 41; plane: median of 7)', [
  { ratio: '', figure: `${times.floor.toFixed(1)} ms`, what: 'floor: node -e 0' },
  {
    ratio: beyond(times.version),
    figure: `${times.version.toFixed(1)} ms`,
    what: 'gov --version            (reach: +10 ms)',
  },
  {
    ratio: beyond(times.command),
    figure: `${times.command.toFixed(1)} ms`,
    what: 'a command before network (reach: +25 ms)',
  },
  {
    ratio: beyond(times.screen),
    figure: `${times.screen.toFixed(1)} ms`,
    what: 'first frame of gov top   (reach: +160 ms)',
  },
  { ratio: '', figure: `${listening.toFixed(0)} ms`, what: 'plane listening, empty store (reach: 250 ms)' },
]);
discard(home);
