/**
 * Applies a configuration to a plane that does not serve, and kills itself with SIGKILL before the N-th change of a
 * file that JavaScript asks for: `node test/plane/config/kill.ts DIR FILE N`. Prints how many there were where it lives.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';

const [dataDir = '', file = '', at = ''] = process.argv.slice(2);
const text = fs.readFileSync(file);
let steps = 0;
let isCounting = false;

/** Of the copy alone: what the store writes is another thread's, and its own tests'. */
const ofCopy = (name: unknown): boolean =>
  typeof name !== 'string' || name.startsWith(join(dataDir, 'config-bundle')) || name === dataDir;

for (const name of ['writeSync', 'fsyncSync', 'renameSync'] as const) {
  const real = fs[name] as (...rest: unknown[]) => unknown;
  fs[name] = ((...rest: unknown[]) => {
    if (isCounting && ofCopy(rest[0]) && ++steps === Number(at)) process.kill(process.pid, 'SIGKILL');
    return real(...rest);
  }) as never;
}
syncBuiltinESMExports();

const { withHeldConfig } = await import('../../../plane/config/direct.ts');
await withHeldConfig({ dataDir, env: {} }, async ({ held }) => {
  isCounting = true;
  await held.apply(text, { id: 'operator', type: 'operator' });
  isCounting = false;
});
process.stdout.write(`${steps}\n`);
