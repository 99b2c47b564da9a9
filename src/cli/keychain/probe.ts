/**
 * Whether the keychain of the system answers at all: it is asked for a secret that nobody stored. Apart from `secrets.ts`,
 * which every command loads. Tested by `test/cli/keychain/secrets.test.ts`.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Io } from '../terminal/io.ts';

const program = new URL('./program.ts', import.meta.url);

/** Returns why the keychain did not answer in time; null: it works. Never rejects. */
export function probeKeychain(env: Io['env'], timeoutMs: number): Promise<string | null> {
  const words = [fileURLToPath(program), 'get', 'no such account'];
  const options = { env: { ...env }, timeout: timeoutMs, killSignal: 'SIGKILL' } as const;
  return new Promise((resolve) => {
    execFile(process.execPath, words, options, (fault, _, stderr) => {
      // 2: it has no such secret
      if (fault === null || fault.code === 2) resolve(null);
      else if (fault.killed === true) resolve(`no answer within ${timeoutMs / 1000} s`);
      else resolve(stderr.trim() || fault.message);
    });
  });
}
