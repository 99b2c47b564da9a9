/**
 * `npm run dev`: builds, then serves a data plane and a hosted service with the development issuer. When a
 * source file changes, it builds again and restarts both. Their data stays in `.dev/`. Delete that folder to
 * start again.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { join } from 'node:path';

const project = join(import.meta.dirname, '..');
const gov = join(project, 'dist/gov.cjs');
const servers = {
  plane: { data: join(project, '.dev/plane'), flags: [] },
  service: { data: join(project, '.dev/service'), flags: ['--dev-issuer'] },
};
type Noun = keyof typeof servers;
const nouns = Object.keys(servers) as Noun[];

/** Editors write a file in several steps, so a change waits for quiet. */
const quietMs = 200;

const run = (...args: string[]): ChildProcess =>
  spawn(process.execPath, args, { cwd: project, stdio: 'inherit' });

async function succeeds(...args: string[]): Promise<boolean> {
  const [code] = await once(run(...args), 'exit');
  return code === 0;
}

async function start(): Promise<ChildProcess[]> {
  for (const noun of nouns) {
    const { data } = servers[noun];
    if (!existsSync(data) && !(await succeeds(gov, noun, 'init', '--data', data))) return [];
  }
  return nouns.map((noun) => run(gov, noun, 'serve', '--data', servers[noun].data, ...servers[noun].flags));
}

/** `signal`: absent where the terminal sent it to the servers already; a second one ends them without a clean stop. */
async function stop(running: readonly ChildProcess[], signal?: 'SIGTERM'): Promise<void> {
  const alive = running.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  await Promise.all(
    alive.map((server) => {
      if (signal !== undefined) server.kill(signal);
      return once(server, 'exit');
    }),
  );
}

let running: ChildProcess[] = [];

/** Keeps the servers of the last successful build while a build fails. */
async function restart(): Promise<void> {
  if (!(await succeeds(join(project, 'scripts/build.ts')))) return;
  await stop(running, 'SIGTERM');
  running = await start();
}

let timer: NodeJS.Timeout | undefined;
let restarting = restart();
for (const folder of ['src', 'plane']) {
  watch(join(project, folder), { recursive: true }, () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      restarting = restarting.then(restart);
    }, quietMs);
  });
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await stop(running, signal === 'SIGTERM' ? signal : undefined);
    process.exit();
  });
}
