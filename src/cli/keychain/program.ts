/**
 * The program that talks to the keychain of the system, and nothing else: the native library may never return, and then
 * only the end of its process helps (`secrets.ts`). Arguments: get, set or delete, and the account. A secret comes from
 * standard input and goes to standard output. Exit 1: the keychain refused; 2: it has no such secret.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as Keyring from '@napi-rs/keyring';

const service = 'gov';

function talk([verb, account = '']: readonly string[]): number {
  const { Entry } = createRequire(import.meta.url)('@napi-rs/keyring') as typeof Keyring;
  // without `linux`, a machine without a Secret Service would use the kernel's keyring, which a reboot empties
  const entry = new Entry(service, account, { linux: { store: 'secret-service' } });
  if (verb === 'set') {
    entry.setPassword(readFileSync(0, 'utf8'));
    return 0;
  }
  if (verb === 'delete') return entry.deletePassword() ? 0 : 2;
  const secret = entry.getPassword();
  if (secret === null) return 2;
  process.stdout.write(secret);
  return 0;
}

try {
  process.exitCode = talk(process.argv.slice(2));
} catch (error) {
  process.stderr.write(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
