/**
 * A push through the spool: every batch is on the disk before it is sent, reading never waits for the service, and
 * what is not acknowledged stays for the next push. Proven by `test/cli/push/away.test.ts` and `test/cli/push/kill.test.ts`.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { usage } from '../program/exit.ts';
import { safe } from '../terminal/safe.ts';
import { Spool, type Position } from './spool.ts';
import { SpoolQueue } from './spool-queue.ts';
import { counted } from './count.ts';
import { explained, interrupted, transfer } from './transfer.ts';
import { planOf, type Work } from './work.ts';

export async function pushThroughSpool(work: Work, directory: string): Promise<void> {
  const { io, sources, report } = work;
  const spool = Spool.open(directory);
  try {
    const target = io.target();
    spool.requireTarget(target);
    const position = await resumedPosition(work, spool);
    const plan = planOf(work, position);
    const { lanes } = plan.batcher;
    const queue = new SpoolQueue(spool, lanes);
    if (queue.waitingEvents > 0) {
      await io.out.note(
        safe`sending first what was left in ${directory}: ${counted(queue.waitingEvents, 'event')}`,
      );
    }
    if (sources.length > 0) {
      spool.begin({
        id: randomUUID(),
        target,
        sources: sources.map(({ path }) => path ?? '-'),
        position: position ?? { source: 0, lanes: Array.from({ length: lanes }, () => -1) },
      });
    }
    const failure = await transfer(work, { queue, plan, inputRead: () => spool.end() });
    const waiting = queue.waitingEvents;
    const resume = `gov events push --resume --spool=${directory}`;
    const newest = spool.newest();
    const unread = newest === undefined || newest.ended ? [] : newest.sources;
    const sentences = [
      ...(io.signal.aborted ? [interrupted(report)] : []),
      ...(waiting > 0
        ? [safe`${counted(waiting, 'event')} safe in ${directory}; to send them: ${resume}`]
        : []),
      ...(unread.length > 0 && !unread.includes('-')
        ? [safe`the input was not read to its end; to go on: ${resume} ${unread.join(' ')}`]
        : []),
      ...(existsSync(spool.rejectedPath)
        ? [safe`events that were rejected are kept in ${spool.rejectedPath}`]
        : []),
    ];
    await report.finish({ dryRun: false, members: { spool: { directory, waiting } }, sentences });
    if (failure !== undefined)
      throw explained(failure, `what is in the spool is safe; to send it: ${resume}`);
  } finally {
    spool.close();
  }
}

/** Where an earlier session stopped reading the same files, behind the last where it did not stop. */
async function resumedPosition({ options, io, sources }: Work, spool: Spool): Promise<Position | undefined> {
  if (!options.resume || sources.length === 0) return undefined;
  const given = sources.map(({ path }) => path ?? '-');
  if (given.includes('-')) throw usage('--resume: expected files, got a pipe, which cannot be read again');
  const earlier = spool.newest();
  if (earlier === undefined) {
    await io.out.note(safe`${spool.directory} holds nothing to resume; the input is read from its beginning`);
    return undefined;
  }
  if (given.length !== earlier.sources.length || given.some((path, at) => path !== earlier.sources[at])) {
    throw usage(
      `--resume: expected the files of the session that stopped, ${earlier.sources.join(' ')}; got ${given.join(' ')}`,
      'leave --resume out to send what waits and then to read these files from the beginning',
    );
  }
  return earlier.ended ? { ...earlier.position, source: given.length } : earlier.position;
}
