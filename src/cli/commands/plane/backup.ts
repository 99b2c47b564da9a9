/** `gov plane backup`: what it wrote, and loudly what it left out. */
import { resolve } from 'node:path';
import type { Run } from '../../program/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { planeBackup as spec } from './operate-spec.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ flags, out, session, io }) => {
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const { planeBackup } = await import('../../../../plane/data/backup.ts');
  const { withKeys } = flags;
  const made = await planeBackup({ dataDir, out: resolve(io.cwd, flags.out), withKeys });
  if (out.isHuman) {
    const size = (made.bytes / 2 ** 20).toFixed(1);
    await out.lines([
      safe`${out.styles.green('✓')} copied and verified: ${made.files.length} files, ${size} MiB, in ${made.out}`,
      ...made.logs.map((log) => safe`  ${log.tree.padEnd(8)}  ${log.size} leaves  ${log.origin}`),
    ]);
  } else await out.one(made, plainView(['out', 'bytes', 'createdAt', 'withKeys']));
  if (made.removed.length > 0)
    await out.note(safe`removed what copies that were killed had left: ${made.removed.join(', ')}`);
  if (withKeys) {
    return out.warn(safe`the copy holds the plane’s keys: whoever reads it can sign in the plane’s name`);
  }
  const left = made.left.filter((path) => path !== 'subjects.db').join(', ');
  if (made.left.includes('subjects.db')) {
    await out.warn(
      safe`not in the copy: subjects.db, the keys of subjects; keep its newest copies alone: what was erased can be read as long as an older one is kept`,
    );
  }
  return out.warn(
    safe`not in the copy: ${left}; keep them apart, once: without keys/ nobody can serve this plane`,
  );
};
