/**
 * One pass of a push over files, without output of its own: `gov events watch` makes one whenever files have changed.
 * A crash leaves what was sent; the next pass over the same files recognises it. Tested by `test/cli/watch/run.test.ts`.
 */
import { PassThrough } from 'node:stream';
import type { Safe } from '../terminal/safe.ts';
import { MemoryQueue } from '../../client/sending/queue.ts';
import { FileReport, type PushedFileSummary } from './file-report.ts';
import { PushProgress } from './progress.ts';
import { Report, type PushOut } from './report.ts';
import type { InputSource } from './source.ts';
import { transfer } from './transfer.ts';
import { planOf, type PushIo, type PushOptions } from './work.ts';

export interface PassIo extends Pick<
  PushIo,
  'now' | 'signal' | 'stateDirectory' | 'target' | 'openSink' | 'openLog'
> {
  readonly warn: (text: Safe) => Promise<void>;
}

export interface FileOutcome extends PushedFileSummary {
  /** Why the first part of it was refused, with its line. */
  readonly refusal?: string | undefined;
}

export interface Pass {
  /** In the order of the sources; shorter than they are if the pass failed. */
  readonly files: readonly FileOutcome[];
  /** An event that the service has. */
  readonly eventId: string | null;
  /** Why the pass did not come to its end. Nothing is known of its files then. */
  readonly failure: unknown;
}

/** Records files. `sources`: at most `limits.pushListedResults`. */
export async function pushPass(
  sources: readonly InputSource[],
  { io, options }: { readonly io: PassIo; readonly options: PushOptions },
): Promise<Pass> {
  const out: PushOut = { ...silent, warn: io.warn };
  const files = new FileReport(out, []);
  const progress = new PushProgress('sending', {
    totalBytes: null,
    progress: { at: () => {}, stop: () => {} },
  });
  const report = new Report(out, { progress, tell: nothing, files });
  const work = {
    options,
    io: {
      ...io,
      out,
      stdin: new PassThrough(),
      cwd: '',
      tell: nothing,
      progress: { at: () => {}, stop: () => {} },
    },
    sources,
    progress,
    report,
    pushed: undefined,
  };
  const queue = new MemoryQueue(options.concurrency);
  const failure = await transfer(work, { queue, plan: planOf(work, undefined) });
  return {
    files: files.files.map((file) => ({ ...file, refusal: files.refusals.get(file.file) })),
    eventId: report.lastEventId,
    failure: failure ?? (io.signal.aborted ? io.signal.reason : undefined),
  };
}

const nothing = async (): Promise<void> => {};
const silent = {
  format: 'none',
  json: nothing,
  line: nothing,
  lines: nothing,
  note: nothing,
  detail: nothing,
};
