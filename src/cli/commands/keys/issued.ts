/** Keys as they are made: shown once, or written to a file that was made before. `test/cli/commands/keys/create.test.ts` proves it. */
import { resolve } from 'node:path';
import type { ApiKeyRecord } from '../../../contract/keys.ts';
import type { Invocation } from '../../program/command.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { parseDuration, readFlag } from '../../program/flags.ts';
import { safe } from '../../terminal/safe.ts';
import { refuseIdAlone, reserveSecretFile } from '../../context/secret-file.ts';
import { plainView } from '../../terminal/view.ts';

interface Issued {
  readonly key: string;
  readonly record: ApiKeyRecord;
}
type Call = Pick<Invocation, 'out' | 'io'>;

/** Makes the key and delivers it; the answer is that of `make`. */
export async function issueKey(
  { out, io }: Call,
  target: { readonly file: string | undefined; readonly force: boolean },
  make: () => Promise<Issued>,
): Promise<Issued> {
  refuseIdAlone(out, target.file);
  const path = target.file === undefined ? undefined : resolve(io.cwd, target.file);
  const file = path === undefined ? null : reserveSecretFile(path, target);
  const issued = await make().catch((cause: unknown) => {
    file?.cancel();
    throw cause;
  });
  const { key, record } = issued;
  try {
    file?.write(`${key}\n`);
  } catch (cause) {
    throw new CliError(exit.error, `key ${record.keyId} was made, and is lost: ${String(cause)}`, {
      code: 'WRITE_FAILED',
      next: [`gov keys revoke ${record.keyId}`],
      cause,
    });
  }
  const value = path === undefined ? { key, ...record } : { keyFile: path, ...record };
  if (out.isJson || out.format === 'yaml') {
    await out.one(path === undefined ? { key, record } : { keyFile: path, record }, plainView([]));
  } else {
    await out.one(value, plainView(Object.keys(value), 'keyId'));
  }
  if (path === undefined) await out.note(safe`the key is shown this once`);
  return issued;
}

/** RFC 3339 of a time to come: `90d`, a day, or itself; null for `never`. Errors: exit 2. */
export function expiryOf(text: string, now: number): string | null {
  if (text === 'never') return null;
  const ahead = parseDuration(text);
  if (ahead !== undefined && !/^[0-9]+$/.test(text)) return new Date(now + ahead).toISOString();
  const spec = { type: 'time', description: '' } as const;
  const time = String(readFlag({ flag: '--expires', spec, text, now }));
  if (Date.parse(time) > now) return time;
  throw usage(`--expires: expected a time to come, got ${JSON.stringify(text.slice(0, 64))}`);
}
