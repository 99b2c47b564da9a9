/** The caller's client certificate, for mutual TLS. Tested by `test/host/process/tls.test.ts`. */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { usage } from '../program/exit.ts';
import { readText } from '../program/flags.ts';
import type { Io } from '../terminal/io.ts';

/**
 * Returns the PEM texts of the files that GOV_CLIENT_CERT and GOV_CLIENT_KEY name; undefined if neither is set. Errors:
 * exit 2 for one without the other, a missing file, and a key that every user can read.
 */
export function ownCertificate({
  env,
  cwd,
}: Pick<Io, 'env' | 'cwd'>): { readonly cert: string; readonly key: string } | undefined {
  const [cert, key] = [env['GOV_CLIENT_CERT'] || undefined, env['GOV_CLIENT_KEY'] || undefined];
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) {
    throw usage('expected GOV_CLIENT_CERT and GOV_CLIENT_KEY together, got one of them');
  }
  const mode = statSync(resolve(cwd, key), { throwIfNoEntry: false })?.mode ?? 0;
  if (process.platform !== 'win32' && (mode & 0o006) !== 0) {
    throw usage(`${key}: expected a private key, got a file that every user can read`, `chmod 600 ${key}`);
  }
  return { cert: readText(cert, cwd), key: readText(key, cwd) };
}
