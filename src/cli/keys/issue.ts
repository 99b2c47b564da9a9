/**
 * Issues an API key: shows it once, or writes it to a file made beforehand.
 * Tested by `test/cli/commands/keys/create.test.ts`.
 */
import { resolve } from 'node:path';
import type { ApiKeyRecord } from '../../contract/keys.ts';
import { shellWord } from '../../core/shell-word.ts';
import type { Invocation } from '../context/command.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { parseDuration, readFlag } from '../program/flags.ts';
import { safe } from '../terminal/safe.ts';
import { refuseOpenPlace, reserveSecretFile, type SecretPlace } from '../context/secret-file.ts';
import { plainView } from '../terminal/view.ts';

interface IssuedKey {
  readonly key: string;
  readonly record: ApiKeyRecord;
}
type Call = Pick<Invocation, 'out' | 'io'>;

/** Makes the key and delivers it. Returns the result of `make`. */
export async function issueKey(
  { out, io }: Call,
  target: SecretPlace,
  make: () => Promise<IssuedKey>,
): Promise<IssuedKey> {
  refuseOpenPlace(out, target);
  const path = target.out === undefined ? undefined : resolve(io.cwd, target.out);
  const file = path === undefined ? null : reserveSecretFile(path, target);
  const issued = await make().catch((cause: unknown) => {
    file?.cancel();
    throw cause;
  });
  const { key, record } = issued;
  try {
    file?.write(`${key}\n`);
  } catch (cause) {
    throw new CliError(exit.error, `key ${record.keyId} was made and is lost: ${String(cause)}`, {
      code: 'WRITE_FAILED',
      next: [`gov keys revoke ${shellWord(record.keyId)}`],
      cause,
    });
  }
  const value = path === undefined ? { key, ...record } : { keyFile: path, ...record };
  if (out.isJson || out.format === 'yaml') {
    await out.one(path === undefined ? { key, record } : { keyFile: path, record }, plainView([]));
  } else {
    await out.one(value, plainView(Object.keys(value), 'keyId'));
  }
  if (path === undefined) await out.note(safe`gov shows the key only this once`);
  return issued;
}

/** Returns RFC 3339 text of a future time: from `90d`, a day, or itself; null for `never`. Errors: exit 2. */
export function expiryOf(text: string, now: number): string | null {
  if (text === 'never') return null;
  const ahead = parseDuration(text);
  if (ahead !== undefined && !/^[0-9]+$/.test(text)) return new Date(now + ahead).toISOString();
  const spec = { type: 'time', description: '' } as const;
  const time = String(readFlag({ flag: '--expires', spec, text, now }));
  if (Date.parse(time) > now) return time;
  throw usage(`--expires: expected a future time, got ${JSON.stringify(text.slice(0, 64))}`);
}
