/**
 * Recording beside a running report, measured at a plane: p99 of single events alone and beside, stalls of the event
 * loop, and memory above its baseline. A report runs all the time: the next one begins when one ends.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '../../src/client/create.ts';
import { median, residentMb, type RunningPlane } from './harness.ts';
import { load } from './recorded.ts';

export interface Beside {
  /** p99 in milliseconds. */
  readonly alone: number;
  readonly beside: number;
  readonly reports: number;
  /** Longest stalls of the event loop in milliseconds. */
  readonly stallAlone: number;
  readonly stallBeside: number;
  /** MB. */
  readonly baseline: number;
  readonly most: number;
}

const rounds = 3;
const seconds = 10;

/** The plane runs with `loop-delay.ts`, which writes to `delayFile`. */
export async function besideReports(
  plane: RunningPlane,
  of: { readonly runId: string; readonly sample: readonly object[]; readonly folder: string },
  delayFile: string,
): Promise<Beside> {
  const client = createClient({ baseUrl: plane.baseUrl, apiKey: plane.apiKey, timeoutMs: 600_000 });
  const pid = plane.process.pid ?? 0;
  const bodies = join(of.folder, 'single.json');
  writeFileSync(bodies, JSON.stringify(of.sample.slice(0, 1000).map((event) => JSON.stringify(event))));
  const record = () =>
    load({
      port: Number(new URL(plane.baseUrl).port),
      path: '/api/v1/events',
      key: plane.apiKey,
      connections: 4,
      seconds,
      pauseMs: 10,
      bodies,
    });
  const makeReport = async (): Promise<void> => {
    const body = {
      reportTemplateId: 'run-evidence',
      formats: ['pdf', 'json', 'csv'] as ('pdf' | 'json' | 'csv')[],
      parameters: { startTime: startOf(360), endTime: startOf(-1), runId: of.runId },
    };
    const { executionId } = (await client.createExecution({ body })).body;
    for (;;) {
      const { status, errorSummary } = (await client.getExecution({ params: { executionId } })).body;
      if (status === 'completed') return;
      if (status !== 'queued' && status !== 'processing') throw new Error(`no report: ${errorSummary}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const baseline = residentMb(pid);
  let [most, reports] = [0, 0];
  const [alone, beside, stalls]: [number[], number[], { alone: number; beside: number }] = [
    [],
    [],
    { alone: 0, beside: 0 },
  ];
  for (let round = 0; round < rounds; round += 1) {
    await stallOf(pid, delayFile);
    alone.push((await record()).p99);
    stalls.alone = Math.max(stalls.alone, await stallOf(pid, delayFile));
    const recording = { isOver: false };
    const watching = setInterval(() => (most = Math.max(most, residentMb(pid))), 50);
    const reporting = (async () => {
      while (!recording.isOver) {
        await makeReport();
        reports += 1;
      }
    })();
    beside.push((await record()).p99);
    recording.isOver = true;
    await reporting;
    clearInterval(watching);
    stalls.beside = Math.max(stalls.beside, await stallOf(pid, delayFile));
  }
  return {
    alone: median(alone),
    beside: median(beside),
    reports,
    stallAlone: stalls.alone,
    stallBeside: stalls.beside,
    baseline,
    most,
  };
}

const startOf = (daysAgo: number): string => new Date(Date.now() - daysAgo * 86_400_000).toISOString();

/** The longest stall since the last call, in milliseconds. */
async function stallOf(pid: number, file: string): Promise<number> {
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(file) || readFileSync(file, 'utf8') === '')
    await new Promise((resolve) => setTimeout(resolve, 5));
  return (JSON.parse(readFileSync(file, 'utf8')) as { max: number }).max;
}
