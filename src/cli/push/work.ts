/** What a push works with: its options, the world around it, and the plan of its reading made from both. */
import type { Readable } from 'node:stream';
import type { ImportFormat } from '../import/run.ts';
import type { Out } from '../terminal/out.ts';
import { safe, type Safe } from '../terminal/safe.ts';
import type { Sink } from './deliver.ts';
import { importTime } from './import-time.ts';
import type { Progress } from './progress.ts';
import type { ReadPlan } from './reader.ts';
import type { Report } from './report.ts';
import type { InputFormat, InputSource } from './source.ts';
import type { Position } from './spool.ts';

export interface PushOptions {
  /** Paths, `-` for standard input. Empty: only what the spool holds is sent. */
  readonly files: readonly string[];
  readonly format: InputFormat;
  /** Read recordings of this format instead of events. */
  readonly from: ImportFormat | 'auto' | undefined;
  readonly run: string | undefined;
  readonly runPrefix: string | undefined;
  /** Unix milliseconds for events without a time; by default when their recording was first imported. */
  readonly importedAt: number | undefined;
  readonly batchSize: number;
  readonly concurrency: number;
  /** Directory, or undefined to keep batches in memory. */
  readonly spool: string | undefined;
  /** Go on where the spool's last session stopped reading. */
  readonly resume: boolean;
  readonly dryRun: boolean;
  readonly failOn: 'rejected' | 'none';
  readonly retries: number;
  /** Put before each idempotency key. */
  readonly keyPrefix: string;
}

export interface PushIo {
  readonly out: Out;
  readonly stdin: Readable;
  readonly cwd: string;
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** Writes to standard error whatever --quiet says. */
  readonly tell: (text: Safe) => Promise<void>;
  /** The progress on standard error; undefined with --quiet. */
  readonly progress: { readonly tty: boolean; readonly write: (text: string) => void } | undefined;
  /** Where the tool keeps state of its own. */
  readonly stateDirectory: string;
  /** Names the service, so that a spool is not sent to another one. */
  readonly target: () => string;
  readonly openSink: () => Promise<Sink>;
}

export interface Work {
  readonly options: PushOptions;
  readonly io: PushIo;
  readonly sources: readonly InputSource[];
  readonly progress: Progress;
  readonly report: Report;
}

/** `position`: what an earlier session has queued already. */
export const planOf = (
  { options, io, progress, report }: Work,
  position: Position | undefined,
): ReadPlan => ({
  format: options.format,
  imports:
    options.from === undefined
      ? undefined
      : {
          options: { format: options.from, runId: options.run, runPrefix: options.runPrefix },
          importedAt: (bytes) => options.importedAt ?? rememberedTime(bytes, { options, io }),
          told: (note) => void report.imported(note),
        },
  batcher: {
    batchSize: options.batchSize,
    lanes: position?.lanes.length ?? options.concurrency,
    keyPrefix: options.keyPrefix,
  },
  position,
  stdin: io.stdin,
  progress,
  refused: (source, record) => report.refused(source, record),
});

/** Without a note of the first import, a second one would look like other events under the same ids. */
function rememberedTime(bytes: Buffer, { options, io }: Pick<Work, 'options' | 'io'>): number {
  if (options.dryRun) return io.now();
  try {
    return importTime(io.stateDirectory, bytes, io.now());
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    void io.out.warn(
      safe`the time of this import cannot be kept (${reason}); to repeat it, give --import-time`,
    );
    return io.now();
  }
}
