/** `gov log compact`: writes the database anew. `test/store/sqlite/upkeep/rewrite.long.test.ts` proves it. */
import { resolve } from 'node:path';
import type { Run } from '../../program/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { logCompact as spec } from './spec.ts';
import { plainView } from '../../terminal/view.ts';

const tellEveryMs = 10_000;
const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);

export const run: Run<typeof spec> = async ({ flags, out, session, io }) => {
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const { compactLog } = await import('../../../host/data/compact.ts');
  let toldAt = performance.now();
  const compacted = await compactLog(dataDir, ({ done, of }) => {
    if (performance.now() - toldAt < tellEveryMs) return;
    toldAt = performance.now();
    const what =
      done === 0 ? `reading ${mebibytes(of)} MiB` : `wrote ${mebibytes(done)} of ${mebibytes(of)} MiB`;
    void out.note(safe`${what}`);
  });
  if (!out.isHuman) return out.one(compacted, plainView(Object.keys(compacted)));
  const { beforeBytes, afterBytes } = compacted;
  const sizes = `${mebibytes(beforeBytes)} MiB before, ${mebibytes(afterBytes)} MiB now`;
  return out.line(safe`${out.styles.green('✓')} written anew: ${sizes}, in ${dataDir}`);
};
