/**
 * Benchmark of the offline verification of a proof of 1,000 events: the whole process from exec to exit. The
 * floor is `node -e 0`. `node bench/verify.ts [rounds]`
 */
import { spawnSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { alternate, discard, entry, milliseconds, report, scratch } from './support/harness.ts';
import { thousandEvents } from './support/thousand.ts';

const rounds = Number(process.argv[2] ?? 31);
const folder = scratch();
const { bundles, dataDir } = await thousandEvents();
const fileOf = (enclosed: keyof typeof bundles): string => {
  const file = join(folder, `${enclosed}.govproof.json`);
  writeFileSync(file, bundles[enclosed]);
  return file;
};
const files = { none: fileOf('none'), records: fileOf('records'), disclosed: fileOf('disclosed') };

const env = { PATH: process.env['PATH'], HOME: folder, XDG_CACHE_HOME: join(folder, 'cache') };
const run = (args: readonly string[]) => () =>
  milliseconds(() => {
    const done = spawnSync(process.execPath, args, { env, stdio: 'ignore' });
    if (done.status !== 0) throw new Error(`expected exit code 0, got ${done.status}`);
  });
const verify = (file: string) => run([entry, 'proofs', 'verify', file, '--trust', join(dataDir, 'trust')]);
const variants = {
  floor: run(['-e', '0']),
  none: verify(files.none),
  records: verify(files.records),
  disclosed: verify(files.disclosed),
};
for (const warm of Object.values(variants)) for (let time = 0; time < 3; time += 1) await warm();
const times = await alternate(variants, rounds);
const kib = (file: string): string => `${(statSync(file).size / 1024).toFixed(0)} KiB`;
const row = (name: 'none' | 'records' | 'disclosed', what: string) => ({
  ratio: `+${(times[name] - times.floor).toFixed(1)} ms`,
  figure: `${times[name].toFixed(1)} ms`,
  what: `${what}, ${kib(files[name])}`,
});
report(`gov proofs verify of a 1,000-event run, whole process, median of ${rounds} (reach: +60 ms)`, [
  { ratio: '', figure: `${times.floor.toFixed(1)} ms`, what: 'floor: node -e 0' },
  row('none', 'layers attested, no events enclosed'),
  row('records', 'every leaf and the graph recomputed'),
  row('disclosed', 'every field disclosed and recomputed'),
]);
discard(folder);
discard(join(dataDir, '..'));
