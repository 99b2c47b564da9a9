/** The caller's own certificate, where a listener asks for one. `test/host/process/tls.test.ts` holds it. */
import { statSync } from 'node:fs';
import { usage } from '../program/exit.ts';
import { readText } from '../program/flags.ts';
import type { Io } from '../terminal/io.ts';

/**
 * PEM texts of the files that GOV_CLIENT_CERT and GOV_CLIENT_KEY name; undefined where neither is set. Errors: exit 2
 * for one without the other, a file that is missing, and a key that everybody may read.
 */
export function ownCertificate(env: Io['env']): { readonly cert: string; readonly key: string } | undefined {
  const [cert, key] = [env['GOV_CLIENT_CERT'] || undefined, env['GOV_CLIENT_KEY'] || undefined];
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) {
    throw usage('expected GOV_CLIENT_CERT and GOV_CLIENT_KEY together, got one of them');
  }
  const mode = statSync(key, { throwIfNoEntry: false })?.mode ?? 0;
  if (process.platform !== 'win32' && (mode & 0o006) !== 0) {
    throw usage(`${key}: everybody on this machine can read this key`, `chmod 600 ${key}`);
  }
  return { cert: readText(cert), key: readText(key) };
}
