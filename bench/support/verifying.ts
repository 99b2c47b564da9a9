/**
 * Time and memory of `gov proofs verify` of a file, from exec to exit. The floor is SHA-256 of the same bytes in a process
 * that reads them.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { alternate, entry, milliseconds } from './harness.ts';

interface Verifying {
  readonly file: string;
  /** The trust file. */
  readonly trust: string;
  readonly env: Readonly<Record<string, string>>;
  readonly rounds: number;
}

const hashing = `const h = require('node:crypto').createHash('sha256');
require('node:fs').createReadStream(process.argv[1], { highWaterMark: 1 << 20 }).on('data', (c) => h.update(c)).on('end', () => h.digest());`;

/** Medians in milliseconds, and the most memory of a verifying process (Linux). */
export async function verifyingFile({
  file,
  trust,
  env,
  rounds,
}: Verifying): Promise<{ floorMs: number; verifyMs: number; peakMb: number }> {
  let peakMb = 0;
  const run = (args: readonly string[], isMeasured: boolean) => () =>
    milliseconds(async () => {
      const child = spawn(process.execPath, args, { env, stdio: 'ignore' });
      const sample = setInterval(() => {
        if (isMeasured) peakMb = Math.max(peakMb, highMb(child.pid ?? 0));
      }, 10);
      const code = await new Promise((resolve) => child.once('exit', resolve));
      clearInterval(sample);
      if (code !== 0) throw new Error(`expected exit code 0, got ${String(code)}`);
    });
  const times = await alternate(
    {
      floor: run(['-e', hashing, file], false),
      verify: run([entry, 'proofs', 'verify', file, '--trust', trust], true),
    },
    rounds,
  );
  return { floorMs: times.floor, verifyMs: times.verify, peakMb };
}

/** Returns 0 where the process has ended. */
function highMb(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
