/**
 * One format of recordings. A file of `formats/` names itself, says how it knows its documents, what becomes of each part,
 * and gives a small recording as an example. Tested by `test/core/intake/registry.test.ts`.
 */
import type { ImportContext, ImportedRun } from './run.ts';

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
}
