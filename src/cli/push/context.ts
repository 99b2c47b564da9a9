/** What the files of one push of recordings share, and what is said of them. Tested by `test/cli/push/imports.test.ts`. */
import type { Balance } from '../../core/balance/statement.ts';
import type { StoredEvent } from '../../core/intake/reconcile.ts';
import type { ImportOptions } from '../../core/intake/registry.ts';
import type { ImportedRun } from '../../core/intake/run.ts';
import type { RecordedFiles } from './recorded.ts';

export interface PushContext {
  readonly options: Omit<ImportOptions, 'sourceName' | 'importedAt' | 'refused' | 'saw' | 'skipped'>;
  /** Returns the time for events without one, for the bytes with this SHA-256 in hex. */
  readonly importedAt: (sha256: string) => number;
  /** Returns the events that the service has of a run; undefined if it cannot be asked. */
  readonly stored: ((runId: string) => Promise<readonly StoredEvent[] | undefined>) | undefined;
  /** What earlier pushes recorded of large files; absent: the service is asked. */
  readonly recorded?: RecordedFiles | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly told: (note: ImportNote) => void;
  /** What the files of one push share. */
  readonly known: KnownRuns;
  /** Stores a file that does not balance, with what is left out. */
  readonly allowRemainder: boolean;
  /** Files of this push. If there are several, one that cannot be read is refused alone. */
  readonly paths: readonly string[];
}
/** A run of a file, without its events. */
type RunSummary = Pick<ImportedRun, 'runId' | 'format' | 'items' | 'changes' | 'numbered' | 'inherited'> & {
  readonly events: { readonly length: number };
};

export type ImportNote =
  | { readonly kind: 'run'; readonly source: string; readonly run: RunSummary }
  | { readonly kind: 'format'; readonly source: string; readonly format: string; readonly why: string }
  | { readonly kind: 'nothing'; readonly source: string; readonly format: string }
  /** A large file that is recorded as it is. */
  | {
      readonly kind: 'unchanged';
      readonly source: string;
      readonly format: string;
      readonly runId: string;
    }
  /** A file of a folder that no importer reads, and that has nothing of the shape of a fact. */
  | { readonly kind: 'passed over'; readonly source: string }
  | {
      readonly kind: 'reconciled';
      readonly completed: number;
      readonly merged: number;
      readonly corrected: number;
    }
  | { readonly kind: 'skipped'; readonly records: number }
  | { readonly kind: 'left out'; readonly source: string; readonly balance: Balance }
  | { readonly kind: 'not UTF-8'; readonly source: string };

/** Runs that this push has asked about, and the events that it sent since: those may still be under way. */
export interface KnownRuns {
  readonly asked: Map<string, Promise<readonly StoredEvent[] | undefined>>;
  readonly sent: Map<string, readonly StoredEvent[]>;
  /** Runs of files that were read in parts: how to get their events, where a further file has the same run. */
  readonly long: Map<string, () => Promise<readonly StoredEvent[]>>;
  /** How many events both have. */
  readonly kept: { events: number };
  /** Runs by trace id, once a file of OTLP needed them. */
  traces?: ReadonlyMap<string, string>;
}
