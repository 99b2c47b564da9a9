/**
 * A real process with a real spool is killed at any moment, again and again, and run again until it ends. Its service
 * is a process-wide file that survives, as the real one would: it keeps answers by idempotency key.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Folder } from './harness.ts';
import { event, ndjson, numbers } from './service.ts';

const child = fileURLToPath(new URL('./child.ts', import.meta.url));
let folder: Folder;
beforeEach(() => (folder = new Folder()));
afterEach(() => folder.remove());

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stderr: string;
}

/** Runs the child, and kills it when it has told that many steps. */
function runChild(words: readonly string[], killAfterSteps: number | null, ulimit?: number): Promise<Ended> {
  const node = [process.execPath, child, folder.path, ...words];
  const command =
    ulimit === undefined ? node : ['/bin/sh', '-c', `ulimit -f ${ulimit}; exec "$0" "$@"`, ...node];
  return new Promise((resolve, reject) => {
    const running = spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] });
    let steps = 0;
    let stderr = '';
    running.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
    running.stdout.on('data', (text: Buffer) => {
      steps += text.toString().split('\n').length - 1;
      if (killAfterSteps !== null && steps >= killAfterSteps) running.kill('SIGKILL');
    });
    running.on('error', reject);
    running.on('close', (code, signal) => resolve({ code, signal, stderr }));
  });
}

interface LedgerLine {
  readonly key: string;
  readonly runs: readonly string[];
  readonly n: readonly number[];
}
const ledger = (): LedgerLine[] => {
  const path = join(folder.path, 'ledger');
  if (!existsSync(path)) return [];
  const text = readFileSync(path, 'utf8');
  // the last line may be torn by the kill; a real service would not have committed it
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
};

describe('a push that is killed at any moment', () => {
  it.each([[1], [3]])(
    'a push killed at any moment records every event once and each run in order (concurrency %i)',
    { timeout: 120_000 },
    async (concurrency) => {
      const count = 1260;
      folder.write('in.ndjson', ndjson(numbers(count).map((n) => event(n))));
      let kills = 0;
      for (let attempt = 0; ; attempt++) {
        // every step of a run is a place to die: from the first to more than there are
        const { code, signal, stderr } = await runChild(
          ['in.ndjson', String(concurrency)],
          1 + ((attempt * 7) % 23),
        );
        if (signal === 'SIGKILL') kills += 1;
        else {
          expect(stderr).toBe('');
          expect(code).toBe(0);
          break;
        }
        expect(attempt).toBeLessThan(200);
      }
      expect(kills).toBeGreaterThan(3);
      const lines = ledger();
      expect(new Set(lines.map(({ key }) => key)).size).toBe(lines.length);
      const recorded = lines.flatMap(({ n }) => n);
      expect(recorded.toSorted((a, b) => a - b)).toEqual(numbers(count));
      for (const run of numbers(3)) {
        const own = recorded.filter((n) => n % 3 === run);
        expect(own).toEqual(own.toSorted((a, b) => a - b));
      }
    },
  );

  it('a push on a full disk reports it and loses no queued event', { timeout: 60_000 }, async () => {
    folder.write('in.ndjson', ndjson(numbers(400).map((n) => event(n))));
    // the service is away, so that everything would have to stay in the spool: 8 blocks of at most 1 KiB
    const { code, stderr } = await runChild(['in.ndjson', '1', 'away'], null, 8);
    expect(code).toBe(1);
    expect(stderr).toMatch(/EFBIG/);
    expect((await runChild(['in.ndjson', '1'], null)).code).toBe(0);
    expect(ledger().flatMap(({ n }) => n)).toEqual(numbers(400));
  });
});
