/** What the command line bounds is the main thread's; a thread has the heap that it is started with. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const youngMiB = 6;

/** The largest young generation, in MiB, of a thread that is started with `youngMiB` below what `bin/gov` gives a server. */
async function youngOfThread(before: string): Promise<number> {
  const thread = `
    const { getHeapSpaceStatistics } = require('node:v8');
    let kept = [];
    let most = 0;
    for (let at = 0; at < 2e6; at++) {
      kept.push({ at: [at] });
      if (kept.length > 100_000) kept = [];
      if (at % 10_000 > 0) continue;
      const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
      most = Math.max(most, young.space_size);
    }
    require('node:worker_threads').parentPort.postMessage(most / 1024 / 1024);`;
  const source = `
    import { Worker } from 'node:worker_threads';
    import { boundThreadsAlone } from '${new URL('../../../src/host/process/thread-heaps.ts', import.meta.url).href}';
    ${before}
    const resourceLimits = { maxYoungGenerationSizeMb: ${youngMiB} };
    const options = { eval: true, execArgv: [], resourceLimits };
    new Worker(${JSON.stringify(thread)}, options).on('message', (most) => console.log(most));`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--max-semi-space-size=16',
    '--input-type=module',
    '-e',
    source,
  ]);
  return Number(stdout);
}

describe('the young generation of a thread', () => {
  it('the young generation of a thread is limited by the options of the thread', async () => {
    expect(await youngOfThread('boundThreadsAlone();')).toBeLessThanOrEqual(youngMiB);
  });

  it('the young generation of a thread without own options follows the command line', async () => {
    expect(await youngOfThread('')).toBeGreaterThan(2 * youngMiB);
  });
});
