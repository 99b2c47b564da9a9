/** The options, streams and reading plan of a push. Tested by `test/cli/push/run.test.ts`. */
import type { Readable } from 'node:stream';
import type { FormatName } from '../../core/intake/names.ts';
import { failureOf } from '../program/exit.ts';
import { safe, type Safe } from '../terminal/safe.ts';
import type { Sink } from '../../client/sending/deliver.ts';
import type { LogClient } from '../../client/sending/keeper.ts';
import { importTime } from './import-time.ts';
import type { Progress } from '../progress/show.ts';
import type { PushProgress } from './progress.ts';
import type { ReadPlan } from './reader.ts';
import type { PushedFiles } from './pushed.ts';
import type { PushOut, Report } from './report.ts';
import type { InputFormat, InputSource } from './source.ts';
import type { Position } from '../../client/sending/spool.ts';

export interface PushOptions {
  /** Paths, `-` for standard input. Empty: send only the content of the spool. */
  readonly files: readonly string[];
  readonly format: InputFormat;
  /** Read recordings of this format instead of events. */
  readonly from: FormatName | 'auto' | undefined;
  readonly run: string | undefined;
  readonly runPrefix: string | undefined;
  /** Unix milliseconds for events without a time; default: the time of the recording's first import. */
  readonly importedAt: number | undefined;
  readonly batchSize: number;
  readonly concurrency: number;
  /** Directory; undefined keeps batches in memory. */
  readonly spool: string | undefined;
  /** Continue where the spool's last session stopped reading. */
  readonly resume: boolean;
  readonly dryRun: boolean;
  /** Record a recording that does not balance. */
  readonly allowRemainder: boolean;
  readonly failOn: 'rejected' | 'none';
  readonly retries: number;
  /** Prefix of each idempotency key. */
  readonly keyPrefix: string;
}

export interface PushIo {
  readonly out: PushOut;
  readonly stdin: Readable;
  readonly cwd: string;
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** Writes to standard error, also with --quiet. */
  readonly tell: (text: Safe) => Promise<void>;
  readonly progress: Pick<Progress, 'at' | 'stop'>;
  /** Directory of the tool's own state. */
  readonly stateDirectory: string;
  /** Names the service, so that a spool goes to no other one. */
  readonly target: () => string;
  readonly openSink: () => Promise<Sink>;
  /** Reads the log of the service. */
  readonly openLog: () => Promise<LogClient>;
}

export interface PushWork {
  readonly options: PushOptions;
  readonly io: PushIo;
  readonly sources: readonly InputSource[];
  readonly progress: PushProgress;
  readonly report: Report;
  /** Absent for a dry run, and for recordings, which the service is asked about. */
  readonly pushed: PushedFiles | undefined;
}

/** `position`: end of the input that an earlier session has queued. */
export const planOf = (
  { options, io, sources, progress, report, pushed }: PushWork,
  position: Position | undefined,
): ReadPlan => ({
  format: options.format,
  imports:
    options.from === undefined
      ? undefined
      : {
          options: { format: options.from, runId: options.run, runPrefix: options.runPrefix },
          stored: undefined,
          allowRemainder: options.allowRemainder,
          known: { asked: new Map(), sent: new Map(), long: new Map(), kept: { events: 0 } },
          paths: sources.flatMap(({ path, size }) => (path === null || size === null ? [] : [path])),
          importedAt: (sha256) => options.importedAt ?? rememberedTime(sha256, { options, io }),
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
  fileRead: (source, counts) => report.read(source, counts),
  pushed,
  refusedInput: async (failure) => {
    await io.tell(
      safe`${failureOf(failure).message}; gov reads standard input to its end and keeps nothing of it`,
    );
  },
  known: (events) => {
    report.recordedBefore(events);
    progress.known(events);
  },
});

/** Without a stored time, a second import would give different events under the same ids. */
function rememberedTime(sha256: string, { options, io }: Pick<PushWork, 'options' | 'io'>): number {
  if (options.dryRun) return io.now();
  try {
    return importTime(io.stateDirectory, sha256, io.now());
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    void io.out.warn(safe`cannot keep the time of this import (${reason}); to repeat it, give --import-time`);
    return io.now();
  }
}
