/**
 * Shared parts of the benchmarks: medians of alternated variants, so that a noisy minute affects all of them,
 * and a table with the ratio in its first column. Nothing here asserts, because people read the figures.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const projectRoot = fileURLToPath(new URL('../..', import.meta.url));
export const entry = join(projectRoot, 'dist/gov.cjs');
const launcher = readFileSync(join(projectRoot, 'bin/gov'), 'utf8');
const flagsIn = (line: RegExp): string[] => {
  const [, flags] = line.exec(launcher) ?? [];
  if (flags === undefined) throw new Error(`expected ${line} in bin/gov`);
  return flags.split(' ');
};
/** The Node flags that bin/gov gives a server. */
export const servingFlags = flagsIn(/ set -- (--.+heap.+) "\$root/);
/** Those that it gives a screen. */
export const screenFlags = flagsIn(/ set -- (--max-semi-space-size=4) "\$root/);
export const dataRoot = process.env['GOV_DATA'] ?? join(projectRoot, '../shared/data');

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? NaN)
    : ((sorted[middle - 1] ?? NaN) + (sorted[middle] ?? NaN)) / 2;
}

export const percentile = (values: readonly number[], p: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * p))] ?? NaN;

/** Runs each variant once per round, for `rounds` rounds. Returns the median of each. */
export async function alternate<Name extends string>(
  variants: Readonly<Record<Name, () => number | Promise<number>>>,
  rounds: number,
): Promise<Record<Name, number>> {
  const names = Object.keys(variants) as Name[];
  const samples = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) samples[name].push(await variants[name]());
  }
  return Object.fromEntries(names.map((name) => [name, median(samples[name])])) as Record<Name, number>;
}

export const milliseconds = async (work: () => unknown): Promise<number> => {
  const start = process.hrtime.bigint();
  await work();
  return Number(process.hrtime.bigint() - start) / 1e6;
};

/** Prints a table: the ratio first, then the figure, then its description. */
export function report(
  title: string,
  rows: readonly { ratio: string; figure: string; what: string }[],
): void {
  console.log(`\n${title}`);
  const width = (key: 'ratio' | 'figure') => Math.max(...rows.map((row) => row[key].length));
  for (const row of rows) {
    console.log(
      `  ${row.ratio.padStart(width('ratio'))}  ${row.figure.padStart(width('figure'))}  ${row.what}`,
    );
  }
}

export const share = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(0)} %`;

export const scratch = (): string => mkdtempSync(join(tmpdir(), 'gov-bench-'));
export const discard = (folder: string): void => rmSync(folder, { recursive: true, force: true });

/** Installs a peer below bench/.peers on first use. Returns the folder to require from. */
export function peer(name: string): string {
  const folder = join(projectRoot, 'bench/.peers');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(folder, 'node_modules', name))) {
    const install = [
      'install',
      '--prefix',
      folder,
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
    ];
    const done = spawnSync('npm', [...install, name], { stdio: ['ignore', 'inherit', 'inherit'] });
    if (done.status !== 0) throw new Error(`could not install ${name}: is the npm registry reachable?`);
  }
  return folder;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

export interface RunningPlane {
  readonly process: ChildProcess;
  readonly dataDir: string;
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly startedInMs: number;
  stop(): Promise<void>;
}

/** Starts `gov plane serve` as a user does, on a free port, in a new or given data directory. */
export async function startPlane(
  options: {
    dataDir?: string;
    node?: readonly string[];
    /** Members of `plane.json`. */
    settings?: Readonly<Record<string, unknown>>;
  } = {},
): Promise<RunningPlane> {
  const dataDir = options.dataDir ?? join(scratch(), 'plane');
  const env = {
    ...process.env,
    GOV_CONFIG_DIR: join(dataDir, '..', 'config'),
    XDG_CACHE_HOME: join(tmpdir(), 'gov-bench-cache'),
    GOV_METRICS_LISTEN: 'off',
    GOV_LOG_LEVEL: 'warn',
  };
  if (!existsSync(join(dataDir, 'plane.json'))) {
    const made = spawnSync(process.execPath, [entry, 'plane', 'init', '--data', dataDir], {
      env,
      encoding: 'utf8',
    });
    if (made.status !== 0) throw new Error(`plane init failed: ${made.stderr}`);
  }
  if (options.settings !== undefined) {
    const file = join(dataDir, 'plane.json');
    const settings = JSON.parse(readFileSync(file, 'utf8')) as object;
    writeFileSync(file, JSON.stringify({ ...settings, ...options.settings }));
  }
  rmSync(join(dataDir, 'run.json'), { force: true });
  const port = await freePort();
  const start = performance.now();
  const args = [
    ...servingFlags,
    ...(options.node ?? []),
    entry,
    'plane',
    'serve',
    '--data',
    dataDir,
    '--listen',
    `127.0.0.1:${port}`,
  ];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const baseUrl = `http://127.0.0.1:${port}/api/v1`;
  while (!(await answers(`${baseUrl}/health/live`))) {
    if (child.exitCode !== null) throw new Error(`the plane stopped with ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  return {
    process: child,
    dataDir,
    baseUrl,
    apiKey: readFileSync(join(dataDir, 'local.key'), 'utf8').trim(),
    startedInMs: performance.now() - start,
    stop: async () => {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await gone;
    },
  };
}

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    (response) => response.ok,
    () => false,
  );

/** Resident memory of a process in MB (Linux). */
export function residentMb(pid: number): number {
  const kb = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kb ?? NaN) / 1024;
}

/** User and system CPU seconds of a process so far (Linux). */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** CPU microseconds of all threads of a process so far, in the kernel's own resolution (Linux). Threads that ended are absent. */
export function cpuMicroseconds(pid: number): number {
  const folder = `/proc/${pid}/task`;
  const nanoseconds = readdirSync(folder).map((thread) =>
    Number(readFileSync(join(folder, thread, 'schedstat'), 'utf8').split(' ')[0]),
  );
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1000;
}
