/**
 * Benchmark of startup: the version, a command that stops before its first network request, and a plane that
 * listens on an empty store. The floor is `node -e 0` of the same Node.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { alternate, discard, entry, milliseconds, report, scratch, startPlane } from './support/harness.ts';

const home = scratch();
const env = { PATH: process.env['PATH'], HOME: home, XDG_CACHE_HOME: join(home, 'cache') };
const spawned = (args: readonly string[]) => () =>
  milliseconds(() => spawnSync(process.execPath, args, { env, stdio: 'ignore' }));

const variants = {
  floor: spawned(['-e', '0']),
  version: spawned([entry, '--version']),
  // has no context, so it reads flags and configuration and then stops
  command: spawned([entry, 'events', 'list', '--run', 'r']),
};
for (const warm of Object.values(variants)) await warm();
const times = await alternate(variants, 41);

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
  { ratio: '', figure: `${listening.toFixed(0)} ms`, what: 'plane listening, empty store (reach: 250 ms)' },
]);
discard(home);
