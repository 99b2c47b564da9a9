/** `gov log compact`: rewrites the database. Tested by `test/store/sqlite/upkeep/rewrite.long.test.ts`. */
import { resolve } from 'node:path';
import type { Run } from '../../context/command.ts';
import { bytesText } from '../../../core/byte-size.ts';
import { startProgress } from '../../progress/show.ts';
import { safe } from '../../terminal/safe.ts';
import type { logCompact as spec } from '../../specs/prove/log.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async (call) => {
  const { flags, out, session, io } = call;
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const { compactLog } = await import('../../../host/data/compact.ts');
  const progress = startProgress(call);
  const compacted = await compactLog(dataDir, ({ done, of }) => {
    if (done === 0) progress.at('reading');
    else progress.at('writing', { done, total: of, unit: 'bytes' });
  }).finally(() => progress.stop());
  if (!out.isHuman) return out.one(compacted, plainView(Object.keys(compacted)));
  const { beforeBytes, afterBytes } = compacted;
  const sizes = `${bytesText(beforeBytes)} before, ${bytesText(afterBytes)} now`;
  return out.line(safe`${out.styles.green('✓')} rewritten: ${sizes}, in ${dataDir}`);
};
