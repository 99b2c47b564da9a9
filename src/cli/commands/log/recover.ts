/**
 * `gov log recover`: starts new logs of the same project, and prints which logs they follow.
 * Tested by `test/plane/data/recover.test.ts`.
 */
import { resolve } from 'node:path';
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { logRecover as spec } from '../../specs/prove/log.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, io }) => {
  const { planeRecover } = await import('../../../../plane/data/recover.ts');
  const made = await planeRecover({
    from: resolve(io.cwd, args.from),
    dataDir: resolve(io.cwd, flags.data),
    reason: flags.reason,
  });
  if (!out.isHuman) return out.one(made, plainView(Object.keys(made)));
  await out.lines([
    safe`${out.styles.green('✓')} new logs in ${made.dataDir}, epoch ${made.epoch}`,
    safe`  ${made.origin}`,
    safe`  ${made.meteringOrigin}`,
    ...made.previous.map(
      ({ origin, size, lastKnownCheckpoint }) =>
        safe`  follows ${origin}: ${size} leaves of ${lastKnownCheckpoint?.size ?? size} are left`,
    ),
  ]);
  const { hasSubjectKeys } = made.archive;
  await out.warn(
    safe`erasures do not reach the archive ${args.from}; to erase people’s data there, ${hasSubjectKeys ? 'delete its subjects.db (then no data about people is readable, and everything still verifies), or the whole archive' : 'delete it'}`,
  );
  return out.note(
    safe`next: gov plane serve --data ${shellWord(flags.data)}; keep ${args.from} as the archive`,
  );
};
