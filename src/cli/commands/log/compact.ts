/** `gov log compact`: rewrites the database. Tested by `test/store/sqlite/upkeep/rewrite.long.test.ts`. */
import { resolve } from 'node:path';
import type { Run } from '../../program/command.ts';
import { bytesText } from '../../../core/byte-size.ts';
import { safe } from '../../terminal/safe.ts';
import type { logCompact as spec } from './spec.ts';
import { plainView } from '../../terminal/view.ts';

const tellEveryMs = 10_000;

export const run: Run<typeof spec> = async ({ flags, out, session, io }) => {
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const { compactLog } = await import('../../../host/data/compact.ts');
  let toldAt = performance.now();
  const compacted = await compactLog(dataDir, ({ done, of }) => {
    if (performance.now() - toldAt < tellEveryMs) return;
    toldAt = performance.now();
    const what = done === 0 ? `reading ${bytesText(of)}` : `wrote ${bytesText(done)} of ${bytesText(of)}`;
    void out.note(safe`${what}`);
  });
  if (!out.isHuman) return out.one(compacted, plainView(Object.keys(compacted)));
  const { beforeBytes, afterBytes } = compacted;
  const sizes = `${bytesText(beforeBytes)} before, ${bytesText(afterBytes)} now`;
  return out.line(safe`${out.styles.green('✓')} rewritten: ${sizes}, in ${dataDir}`);
};
