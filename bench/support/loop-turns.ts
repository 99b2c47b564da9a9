/**
 * Preload of a measured server: how much CPU its main thread uses in one turn of the event loop, which other requests
 * wait for. CPU, not time, so that a busy machine does not change the figure. On SIGUSR2 it writes the turns since the
 * last signal to the file in `GOV_BENCH_TURNS`, as JSON: an array of milliseconds.
 */
import { writeFileSync } from 'node:fs';

let turns: number[] = [];
let last = process.threadCpuUsage();
const look = (): void => {
  const now = process.threadCpuUsage();
  turns.push((now.user + now.system - last.user - last.system) / 1000);
  last = now;
};
setInterval(look, 1).unref();
process.on('SIGUSR2', () => {
  writeFileSync(process.env['GOV_BENCH_TURNS'] ?? '', JSON.stringify(turns));
  turns = [];
});
