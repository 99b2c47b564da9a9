/**
 * Reads and sends at the same time, and explains a failure. Tested by `test/cli/push/run.test.ts`.
 */
import { CliError, failureOf } from '../program/exit.ts';
import { safe, type Safe } from '../terminal/safe.ts';
import { GovApiError } from '../../client/errors.ts';
import { isTransient } from '../../client/retry.ts';
import type { Sink } from '../../client/sending/deliver.ts';
import { pump } from '../../client/sending/pump.ts';
import type { BatchQueue } from '../../client/sending/queue.ts';
import { balanceId } from './balance.ts';
import { readSources, type ReadPlan } from './reader.ts';
import { RecordedFiles } from './recorded.ts';
import { counted } from '../terminal/numbers.ts';
import type { Report } from './report.ts';
import type { PushWork } from './work.ts';

interface Transfer {
  readonly queue: BatchQueue;
  readonly plan: ReadPlan;
  /** Called after all input is in the queue, before the queue closes. */
  readonly inputRead?: () => void;
}

/** Reads and sends until both have ended. Returns the failure, which the caller reports after the summary. */
export async function transfer(work: PushWork, { queue, plan, inputRead }: Transfer): Promise<unknown> {
  const { options, io, sources, report, progress } = work;
  const sink = await io.openSink();
  const recorded = queue.durable ? undefined : recordedFiles(work, sink);
  const reading = new AbortController();
  const inputEnded = new AbortController();
  let waits = false;
  const read = async (): Promise<void> => {
    try {
      await readSources(sources, {
        plan: { ...withStored(plan, work, { sink, queue, recorded }), sink },
        queue,
        signal: io.signal,
        givenUp: reading.signal,
      });
      inputRead?.();
    } finally {
      queue.close();
      inputEnded.abort();
    }
  };
  const send = async (): Promise<void> => {
    try {
      await pump({
        queue,
        sink,
        lanes: plan.batcher.lanes,
        retries: options.retries,
        signal: io.signal,
        inputEnded: inputEnded.signal,
        delivered: (batch, delivered) => {
          if (!queue.durable) work.pushed?.judged(batch, delivered);
          recorded?.judged(batch, delivered);
          return report.judged(batch, delivered);
        },
        waiting: (failure) => {
          if (waits) return;
          waits = true;
          void io.out.note(safe`${failureOf(failure).message}; gov queues further events`);
        },
      });
    } catch (failure) {
      // events on disk are safe, so reading continues; in memory they would only pile up
      if (!queue.durable) {
        reading.abort(failure);
        if (sources.some(({ path }) => path === null) && !io.signal.aborted) await plan.refusedInput(failure);
      }
      throw failure;
    }
  };
  const [readEnd, sendEnd] = await Promise.allSettled([read(), send()]);
  progress.stop();
  remember(work);
  if (readEnd.status === 'fulfilled' && sendEnd.status === 'fulfilled') keep(recorded, work);
  if (readEnd.status === 'rejected' && readEnd.reason !== reading.signal.reason) return readEnd.reason;
  return sendEnd.status === 'rejected' ? sendEnd.reason : undefined;
}

/** Loads what earlier pushes recorded of large recordings, for a service that counts the events of a run. */
function recordedFiles({ options, io }: PushWork, { count, newest }: Sink): RecordedFiles | undefined {
  if (options.from === undefined || count === undefined) return undefined;
  const { from, run = '', runPrefix = '' } = options;
  const target = [io.target(), from, run, runPrefix].join('\n');
  return new RecordedFiles({ directory: io.stateDirectory, target, count, newest });
}

/** Without the notes, the next push asks for all events of a run. */
function keep(recorded: RecordedFiles | undefined, { io }: PushWork): void {
  try {
    recorded?.save(balanceId);
  } catch (cause) {
    void io.out.warn(safe`cannot keep what was recorded (${failureOf(cause).message})`);
  }
}

/** Without the note, a grown file is sent from its beginning, so a full disk is worth a warning. */
function remember({ pushed, io }: PushWork): void {
  try {
    pushed?.save();
  } catch (cause) {
    void io.out.warn(
      safe`cannot keep what was recorded of each file (${failureOf(cause).message}); after it has grown, a push sends it from its beginning`,
    );
  }
}

/**
 * Lets the reader of recordings ask the service for runs. Where the service cannot be asked, the recording is sent whole:
 * the service then refuses single events that differ.
 */
function withStored(
  plan: ReadPlan,
  { io }: PushWork,
  { sink, queue, recorded }: { sink: Sink; queue: BatchQueue; recorded: RecordedFiles | undefined },
): ReadPlan {
  const { stored } = sink;
  if (plan.imports === undefined || stored === undefined) return plan;
  let told = false;
  const ask = async (runId: string) => {
    try {
      return await stored(runId, io.signal);
    } catch (failure) {
      const mayNotRead = failure instanceof GovApiError && failure.status === 403;
      if (!mayNotRead && !(queue.durable && isTransient(failure))) throw failure;
      if (!told)
        void io.out.warn(
          safe`cannot read the runs of the service (${failureOf(failure).message}), so gov cannot know what they hold; the service refuses events that differ`,
        );
      told = true;
      return undefined;
    }
  };
  return { ...plan, imports: { ...plan.imports, stored: ask, recorded, signal: io.signal } };
}

/** Returns the same failure with advice. */
export function explained(failure: unknown, advice: string): unknown {
  const { exit: code, code: name, message, requestId, hint, next } = failureOf(failure);
  const request = requestId === undefined ? '' : ` (request id ${requestId})`;
  return new CliError(code, `${message}${request}`, {
    code: name,
    hint: hint === undefined ? advice : `${hint}; ${advice}`,
    next,
    cause: failure,
  });
}

/** Returns the events acknowledged before the signal. */
export function interrupted({ accepted, rejected, lastLine }: Report): Safe {
  const lines = [...lastLine].map(([source, line]) => `${source} up to line ${line}`).join(', ');
  const where = lines === '' ? '' : ` (${lines})`;
  return safe`interrupted: ${counted(accepted + rejected, 'event')} acknowledged${where}`;
}
