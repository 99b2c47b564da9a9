/**
 * Reading and sending at the same time, and what is told of how it ended. Proven by `test/cli/push/run.test.ts`.
 */
import { CliError, failureOf } from '../program/exit.ts';
import { safe, type Safe } from '../terminal/safe.ts';
import { pump } from './pump.ts';
import type { BatchQueue } from './queue.ts';
import { readSources, type ReadPlan } from './reader.ts';
import { counted } from './count.ts';
import type { Report } from './report.ts';
import type { Work } from './work.ts';

interface Transfer {
  readonly queue: BatchQueue;
  readonly plan: ReadPlan;
  /** Called when all input is in the queue, before the queue is closed. */
  readonly inputRead?: () => void;
}

/** Reads and sends at the same time until both have ended; answers what went wrong, which is told after the summary. */
export async function transfer(work: Work, { queue, plan, inputRead }: Transfer): Promise<unknown> {
  const { options, io, sources, report, progress } = work;
  const sink = await io.openSink();
  const reading = new AbortController();
  const inputEnded = new AbortController();
  let waits = false;
  progress.start();
  const read = async (): Promise<void> => {
    try {
      await readSources(sources, { plan, queue, signal: AbortSignal.any([io.signal, reading.signal]) });
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
        delivered: (batch, delivered) => report.judged(batch, delivered),
        waiting: (failure) => {
          if (waits) return;
          waits = true;
          progress.clear();
          void io.out.note(safe`${failureOf(failure).message}; events are queued meanwhile`);
        },
      });
    } catch (failure) {
      // what is on the disk is safe, so reading goes on; what is in memory would only pile up
      if (!queue.durable) reading.abort(failure);
      throw failure;
    }
  };
  const [readEnd, sendEnd] = await Promise.allSettled([read(), send()]);
  progress.stop();
  if (readEnd.status === 'rejected' && readEnd.reason !== reading.signal.reason) return readEnd.reason;
  return sendEnd.status === 'rejected' ? sendEnd.reason : undefined;
}

/** The same failure with advice on how to go on. */
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

/** What was acknowledged before the signal. */
export function interrupted({ accepted, rejected, lastLine }: Report): Safe {
  const lines = [...lastLine].map(([source, line]) => `${source} up to line ${line}`).join(', ');
  const where = lines === '' ? '' : ` (${lines})`;
  return safe`interrupted: ${counted(accepted + rejected, 'event')} acknowledged${where}`;
}
