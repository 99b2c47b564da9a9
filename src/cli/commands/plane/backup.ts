/**
 * `gov plane backup`: prints the copied files, and warns about the missing ones.
 * Tested by `test/cli/commands/plane/places.test.ts`.
 */
import { resolve } from 'node:path';
import type { Run } from '../../context/command.ts';
import { bytesText } from '../../../core/byte-size.ts';
import { startProgress } from '../../progress/show.ts';
import { safe } from '../../terminal/safe.ts';
import type { planeBackup as spec } from '../../specs/operate/plane.ts';
import { plainView } from '../../terminal/view.ts';
import { counted } from '../../terminal/numbers.ts';

export const run: Run<typeof spec> = async (call) => {
  const { flags, out, session, io, signal } = call;
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const { planeBackup } = await import('../../../../plane/data/backup.ts');
  const { withKeys } = flags;
  const progress = startProgress(call);
  const made = await planeBackup({
    dataDir,
    out: resolve(io.cwd, flags.out),
    withKeys,
    onProgress: ({ step, done, of }) => {
      signal.throwIfAborted();
      progress.at(step, { done, total: of, unit: 'bytes' });
    },
  }).finally(() => progress.stop());
  if (out.isHuman) {
    await out.lines([
      safe`${out.styles.green('✓')} copied and verified: ${counted(made.files.length, 'file')}, ${bytesText(made.bytes)}, in ${made.out}`,
      ...made.logs.map(
        (log) => safe`  ${log.tree.padEnd(8)}  ${counted(log.size, 'leaf', 'leaves')}  ${log.origin}`,
      ),
    ]);
  } else await out.one(made, plainView(['out', 'bytes', 'createdAt', 'withKeys']));
  if (made.removed.length > 0)
    await out.note(safe`removed parts of killed backups: ${made.removed.join(', ')}`);
  if (withKeys) {
    return out.warn(safe`the copy contains the plane’s keys: its readers can sign in the plane’s name`);
  }
  const left = made.left.filter((path) => path !== 'subjects.db').join(', ');
  if (made.left.includes('subjects.db')) {
    await out.warn(
      safe`not in the copy: subjects.db, the keys of subjects; keep only its newest copy: an older one makes erased values readable`,
    );
  }
  return out.warn(
    safe`not in the copy: ${left}; keep one copy of them apart: without keys/ nobody can serve this plane`,
  );
};
