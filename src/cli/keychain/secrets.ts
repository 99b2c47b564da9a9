/**
 * Secrets in the keychain of the system: Keychain on macOS, Credential Manager on Windows, the Secret Service on Linux.
 * Each call is a process of its own that is killed after 3 s, since a keychain that waits for a person or a dead
 * session bus blocks its caller (a call takes 30 to 50 ms). Tested by `test/cli/keychain/secrets.test.ts`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CliError, exit } from '../program/exit.ts';
import type { Io } from '../terminal/io.ts';

type Variables = Io['env'];

const patienceMs = 3000;
const program = new URL('./program.ts', import.meta.url);

/** Says why gov uses no keychain here; null: it uses one. Costs two lookups of files at most. */
export function whyNoKeychain(env: Variables): string | null {
  if (['0', 'false', 'off'].includes(env['GOV_KEYCHAIN'] ?? '')) return 'GOV_KEYCHAIN is off';
  if (process.platform !== 'linux') return null;
  const runtime = env['XDG_RUNTIME_DIR'];
  const hasBus =
    Boolean(env['DBUS_SESSION_BUS_ADDRESS']) || (Boolean(runtime) && existsSync(join(runtime ?? '', 'bus')));
  return hasBus ? null : 'this session has no Secret Service';
}

/** Returns the secret of an account; null if the keychain has none. Errors: exit 4 if the keychain does not answer. */
export function readKeychain(env: Variables, account: string): string | null {
  const { code, stdout, reason } = call(env, ['get', account]);
  if (code === 0) return stdout;
  if (code === 2) return null;
  throw new CliError(exit.denied, `the keychain did not give the credential ${account}: ${reason}`, {
    code: 'KEYCHAIN_FAILED',
    hint: 'unlock the keychain, or set GOV_KEYCHAIN=0 and sign in again; scripts use GOV_API_KEY',
  });
}

/** Stores a secret. Returns why the keychain refused it; null: it is stored. */
export function writeKeychain(env: Variables, account: string, secret: string): string | null {
  const { code, reason } = call(env, ['set', account], secret);
  return code === 0 ? null : reason;
}

/** Removes a secret. A secret that is gone already is fine. Returns why the keychain refused; null: it is gone. */
export function removeFromKeychain(env: Variables, account: string): string | null {
  const { code, reason } = call(env, ['delete', account]);
  return code === 0 || code === 2 ? null : reason;
}

function call(env: Variables, args: readonly string[], input = '') {
  const { status, signal, stdout, stderr, error } = spawnSync(
    process.execPath,
    [fileURLToPath(program), ...args],
    { input, env, encoding: 'utf8', timeout: patienceMs, killSignal: 'SIGKILL' },
  );
  const refused = stderr?.trim() || error?.message || `ended by ${signal ?? `exit code ${status}`}`;
  const isLate = error !== undefined && 'code' in error && error.code === 'ETIMEDOUT';
  const reason = isLate ? `no answer within ${patienceMs / 1000} s` : refused;
  return { code: status, stdout, reason };
}
