/**
 * Changes the keys of a plane that does not serve, and kills itself with SIGKILL before the N-th change of a file of
 * keys: `node test/plane/keys/rotate-kill.ts DIR rotate|retire N`. Prints how many there were where it lives.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';

const [dataDir = '', order = '', at = ''] = process.argv.slice(2);
let steps = 0;

const files = new Map<unknown, string>();
const { openSync } = fs;
fs.openSync = ((path: string, ...rest: [flags: string, mode?: number]) => {
  const file = openSync(path, ...rest);
  files.set(file, path);
  return file;
}) as never;

/** What the store does is its own tests'. */
const isOfKeys = (name: unknown): boolean =>
  [join(dataDir, 'keys'), join(dataDir, 'trust')].some((path) =>
    String(files.get(name) ?? name).startsWith(path),
  );

for (const name of ['writeSync', 'copyFileSync', 'renameSync'] as const) {
  const real = fs[name] as (...rest: unknown[]) => unknown;
  fs[name] = ((...rest: unknown[]) => {
    if (isOfKeys(rest[0]) && ++steps === Number(at)) {
      // what a copy that breaks off leaves
      if (name === 'copyFileSync') fs.writeFileSync(String(rest[1]), '', { mode: 0o600 });
      process.kill(process.pid, 'SIGKILL');
    }
    return real(...rest);
  }) as never;
}
syncBuiltinESMExports();

const { retireKeys, rotateKeys } = await import('../../../plane/keys/rotate.ts');
await (order === 'rotate' ? rotateKeys : retireKeys)(dataDir);
process.stdout.write(`${steps}\n`);
