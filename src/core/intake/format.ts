/**
 * One format of recordings. A file of `formats/` names itself, says how it knows its documents, what becomes of each part,
 * and gives a small recording as an example. Tested by `test/core/intake/registry.test.ts`.
 */
import type { JsonObject } from '../json/canonical.ts';
import type { EventCounts, ImportContext, ImportedRun, Source } from './run.ts';

export interface Format {
  readonly name: string;
  /** What it reads, in one line. */
  readonly about: string;
  /** The shape of its documents, for error messages. */
  readonly expects: string;
  /** Part of the source → events, in the order of the source. */
  readonly maps: readonly (readonly [part: string, becomes: string])[];
  /** The smallest recording. An array whose members are lines is shown as lines. */
  readonly example: unknown;
  /** Returns why a document has this format; undefined if it has another. */
  readonly detect: (document: unknown) => string | undefined;
  /** Accepts a document if a flag names the format; default: what `detect` recognises. */
  readonly accepts?: (document: unknown) => boolean;
  /** Recognises a document that is one line of a recording. Consecutive lines are read as a list. */
  readonly isLine?: (document: unknown) => boolean;
  /** Yields the runs of a document. The source controls all of its content. */
  readonly runs: (document: unknown, context: ImportContext) => Iterable<ImportedRun>;
  /** How a long recording of lines is read part by part; absent: as a whole. */
  readonly parts?: PartReader;
}

/**
 * Reads the lines of one run in parts. All parts together are what `runs` makes of all lines, or a part says that it
 * cannot be read alone: then the recording is read as a whole.
 */
export interface PartReader {
  /** Returns how many of the lines may be a part; 0: more have to be known. The last lines of a file may still change. */
  readonly end: (lines: readonly Source[]) => number;
  /** Undefined: the lines cannot be read without the others, or the state is not one that `read` returned. */
  readonly read: (
    lines: readonly Source[],
    context: ImportContext,
    part: PartContext,
  ) => ReadPart | undefined;
}

export interface PartContext {
  /** What the part before this one returned, after its way through a file; undefined: this is the first part. */
  readonly state: JsonObject | undefined;
  /** No lines come after these. */
  readonly isLast: boolean;
  readonly names: PartNames;
}

/** Names that connect lines of a recording, such as the id of a message. */
export interface PartNames {
  /** Whether an earlier part has it. It may say so of a name that no part has. */
  has(name: string): boolean;
  add(name: string): void;
}

export interface ReadPart {
  readonly run: ImportedRun;
  /** Of the run up to here. */
  readonly counts: EventCounts;
  /** For the next part: JSON, as small as the calls without a result. */
  readonly state: object;
}
