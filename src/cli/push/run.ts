/**
 * `gov events push`: reads events, or recordings of other programs, and records them in batches. With a spool every batch
 * is on disk before it is sent, and reading never waits for the service.
 *
 * Repeating a command records nothing twice: gov remembers what it recorded of a file (`pushed.ts`), and the content of a
 * file alone decides its batches, so the same command gives the same idempotency keys. After a failure, unsent events are in the spool, or the same command sends them again. A
 * record that cannot be read is rejected alone. A pipe is read to its end whatever happens, so that its writer lives on. Tested by `test/cli/push/run.test.ts`.
 */
import { exit, failureOf } from '../program/exit.ts';
import { safe } from '../terminal/safe.ts';
import { PushProgress } from './progress.ts';
import { MemoryQueue, type BatchQueue } from '../../client/sending/queue.ts';
import { PushedFiles } from './pushed.ts';
import { readSources } from './reader.ts';
import { counted } from '../terminal/numbers.ts';
import { FileReport } from './file-report.ts';
import { Report } from './report.ts';
import { drain, findSources, isPipe, type InputSource } from './source.ts';
import { explained, interrupted, transfer } from './transfer.ts';
import { planOf, type PushIo, type PushOptions, type PushWork } from './work.ts';

export type { PushIo, PushOptions } from './work.ts';

/** Pushes. Returns exit code 0 or 9; throws any other outcome after the summary. */
export async function eventsPush(options: PushOptions, io: PushIo): Promise<number> {
  const { sources, others } = findSources(options.files, {
    cwd: io.cwd,
    folders: options.from !== undefined,
  });
  const totalBytes = totalBytesOf(sources, options);
  const progress = new PushProgress(options.dryRun ? 'checking' : 'sending', {
    totalBytes,
    progress: io.progress,
  });
  const isFolder = others.length > 0 || sources.some(({ isFound }) => isFound === true);
  const files = isFolder ? new FileReport(io.out, others) : undefined;
  const report = new Report(io.out, { progress, tell: io.tell, files });
  const pushed =
    options.dryRun || options.from !== undefined
      ? undefined
      : new PushedFiles({
          directory: io.stateDirectory,
          target: io.target,
          unsure: (source, why) => {
            void io.out.note(
              safe`${source}: ${why}, so gov cannot know which lines were recorded; it sends all, and the service recognises a clientEventId and, for 24 hours, a batch`,
            );
          },
        });
  const work: PushWork = { options, io, sources, progress, report, pushed };
  try {
    await pushAll(work);
  } catch (failure) {
    await readToEnd(work, failure);
    throw failure;
  }
  return report.rejected > 0 && options.failOn === 'rejected' ? exit.partial : exit.ok;
}

/** Null if the size is unknown, and for one recording, which is read whole before its first event. */
function totalBytesOf(sources: readonly InputSource[], { from }: PushOptions): number | null {
  if (from !== undefined && sources.length === 1) return null;
  return sources.reduce<number | null>(
    (sum, { size }) => (sum === null || size === null ? null : sum + size),
    0,
  );
}

async function pushAll(work: PushWork): Promise<void> {
  const { options } = work;
  if (options.dryRun) await dryRun(work);
  else if (options.spool === undefined) await pushFromMemory(work);
  else {
    const { pushThroughSpool } = await import('./spooled.ts');
    await pushThroughSpool(work, options.spool);
  }
}

/** A full disk must not end the program before the pipe. A wrong command ends at once. */
async function readToEnd({ io, sources }: PushWork, failure: unknown): Promise<void> {
  const { stdin, signal } = io;
  const isOpen = sources.some(({ path }) => path === null) && !stdin.readableEnded && !stdin.destroyed;
  const { exit: code, message } = failureOf(failure);
  if (!isOpen || signal.aborted || code === exit.usage) return;
  await io.tell(safe`${message}; gov reads standard input to its end and keeps nothing more of it`);
  await drain(stdin, signal);
}

async function dryRun(work: PushWork): Promise<void> {
  const { io, sources, report } = work;
  const { loadCheck } = await import('./check.ts');
  const check = await loadCheck(io.now);
  const queue: Pick<BatchQueue, 'put'> = {
    put: (batch) => {
      const results = batch.events.map((event) => {
        const reason = check(event);
        return reason === null
          ? ({ eventId: null, status: 'accepted' } as const)
          : ({ eventId: null, status: 'rejected', reason } as const);
      });
      return report.judged(batch, { results, duplicates: 0 });
    },
  };
  let failure: unknown;
  try {
    await readSources(sources, { plan: planOf(work, undefined), queue, signal: io.signal });
  } catch (thrown) {
    failure = thrown;
  }
  await report.finish({ dryRun: true, members: { dryRun: true } });
  if (failure !== undefined) throw failure;
}

async function pushFromMemory(work: PushWork): Promise<void> {
  const { options, report, progress, sources, io } = work;
  const queue = new MemoryQueue(options.concurrency);
  const failure = await transfer(work, { queue, plan: planOf(work, undefined) });
  const lost = failure !== undefined && sources.some(isPipe) ? progress.unsent : 0;
  const sentences = [
    ...(io.signal.aborted ? [interrupted(report)] : []),
    ...(lost > 0
      ? [safe`${counted(lost, 'event')} read and not acknowledged; without --spool they are lost from a pipe`]
      : []),
  ];
  await report.finish({ dryRun: false, sentences });
  if (failure === undefined) return;
  const again =
    failureOf(failure).exit === exit.usage
      ? 'correct the input and run the command again'
      : 'run the same command again';
  throw explained(failure, `${again}: the service recognises recorded events for 24 hours`);
}
