/** `gov log recover`: a new log of the same project, and what it follows. */
import { resolve } from 'node:path';
import type { Run } from '../../program/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { logRecover as spec } from '../plane/operate-spec.ts';
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
        safe`  follows ${origin}: ${size} leaves are left of ${lastKnownCheckpoint?.size ?? size}`,
    ),
  ]);
  const { hasSubjectKeys } = made.archive;
  await out.warn(
    safe`no erasure reaches the archive ${args.from}: for people whose data has to go there, ${hasSubjectKeys ? 'delete its subjects.db (then nothing about anybody can be read, and all can be verified), or all of it' : 'delete it'}`,
  );
  return out.note(safe`next: gov plane serve --data ${flags.data}; keep ${args.from} as the archive`);
};
