/**
 * A push through the spool: every batch is on disk before it is sent, and reading never waits for the service. Batches
 * without an acknowledgement stay for the next push.
 * Tested by `test/cli/push/away.test.ts` and `test/cli/push/kill.long.test.ts`.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { limits } from '../../contract/limits.ts';
import { shellWord } from '../../core/shell-word.ts';
import { usage } from '../program/exit.ts';
import { safe } from '../terminal/safe.ts';
import { type Finding, ReceiptKeeper } from '../../client/sending/keeper.ts';
import { Spool, type Position } from '../../client/sending/spool.ts';
import { SpoolQueue } from '../../client/sending/spool-queue.ts';
import { counted } from '../terminal/numbers.ts';
import { explained, interrupted, transfer } from './transfer.ts';
import { planOf, type PushWork } from './work.ts';

export async function pushThroughSpool(work: PushWork, directory: string): Promise<void> {
  const { io, sources, report } = work;
  const spool = Spool.open(directory);
  try {
    const target = io.target();
    spool.requireTarget(target);
    const position = await resumedPosition(work, spool);
    const plan = planOf(work, position);
    const { lanes } = plan.batcher;
    const queue = new SpoolQueue(spool, lanes, (batch) => work.pushed?.queued(batch));
    if (queue.waitingEvents > 0) {
      await io.out.note(
        safe`sending the events left in ${directory} first: ${counted(queue.waitingEvents, 'event')}`,
      );
    }
    const begin = (): void =>
      spool.begin({
        id: randomUUID(),
        target,
        sources: sources.map(({ path }) => path ?? '-'),
        position: position ?? { source: 0, lanes: Array.from({ length: lanes }, () => -1) },
      });
    if (sources.length > 0) begin();
    const keeper = new ReceiptKeeper({
      spool,
      target,
      client: await io.openLog(),
      now: io.now,
      resend: (batch) => {
        if (!spool.isBegun) begin();
        queue.again(batch);
        if (sources.length === 0) spool.end();
      },
      tell: (finding) => tellFinding(finding, work),
    });
    const failure = await transfer(work, { queue, plan, inputRead: () => spool.end() });
    await keeper.close(failure === undefined ? limits.heldCloseMs : 0);
    const waiting = queue.waitingEvents;
    const resume = `gov events push --resume --spool=${shellWord(directory)}`;
    const newest = spool.newest();
    const unread = newest === undefined || newest.ended ? [] : newest.sources;
    const sentences = [
      ...(io.signal.aborted ? [interrupted(report)] : []),
      ...(waiting > 0
        ? [safe`${counted(waiting, 'event')} safe in ${directory}; to send them: ${resume}`]
        : []),
      ...(unread.length > 0 && !unread.includes('-')
        ? [safe`the input was not read to its end; to continue: ${resume} ${unread.join(' ')}`]
        : []),
      ...(existsSync(spool.rejectedPath) ? [safe`rejected events are in ${spool.rejectedPath}`] : []),
    ];
    await report.finish({ dryRun: false, members: { spool: { directory, waiting } }, sentences });
    if (failure !== undefined)
      throw explained(failure, `the events in the spool are safe; to send them: ${resume}`);
  } finally {
    spool.close();
  }
}

function tellFinding(finding: Finding, { io }: PushWork): void {
  if (finding.kind === 'unchecked') return;
  void io.out.warn(
    finding.kind === 'lost'
      ? safe`the log lost ${counted(finding.events, 'event')} that it had acknowledged; gov sends them again, and gov receipts check shows the receipts`
      : safe`the log does not begin with a tree that it showed before; gov receipts check writes the evidence`,
  );
}

/** Returns where an earlier session stopped reading the same files; the end of the last file if it did not stop. */
async function resumedPosition(
  { options, io, sources }: PushWork,
  spool: Spool,
): Promise<Position | undefined> {
  if (!options.resume || sources.length === 0) return undefined;
  const given = sources.map(({ path }) => path ?? '-');
  if (given.includes('-')) throw usage('--resume: expected files, got a pipe, which cannot be read again');
  const earlier = spool.newest();
  if (earlier === undefined) {
    await io.out.note(safe`${spool.directory} has nothing to resume; reading the input from its beginning`);
    return undefined;
  }
  if (given.length !== earlier.sources.length || given.some((path, at) => path !== earlier.sources[at])) {
    throw usage(
      `--resume: expected the files of the stopped session, ${earlier.sources.join(' ')}; got ${given.join(' ')}`,
      'leave out --resume to send the waiting events and then read these files from the beginning',
    );
  }
  return earlier.ended ? { ...earlier.position, source: given.length } : earlier.position;
}
