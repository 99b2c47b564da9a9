/**
 * Preload of a measured server: how long its event loop stalls (`monitorEventLoopDelay`, milliseconds). On SIGUSR2 it
 * writes what it saw since the last signal to the file in `GOV_BENCH_DELAY`, as JSON.
 */
import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  process.on('SIGUSR2', () => {
    const seen = { p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 };
    delay.reset();
    writeFileSync(process.env['GOV_BENCH_DELAY'] ?? '', JSON.stringify(seen));
  });
}
