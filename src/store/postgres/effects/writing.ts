/**
 * The parameters that the writers of a commit's effects share.
 * Proven by `test/store/postgres/suite.alone.test.ts`.
 */
import type { BodySeal } from '../../erasure/body-seal.ts';
import type { Facts } from '../write/known.ts';
import type { Undo } from '../write/undo.ts';
import type { Step } from '../../read/queries.ts';
import { valuesOf, type Writer } from '../../write/statement.ts';
import { kept } from './texts.ts';

export interface CommitWriter {
  readonly project: number;
  readonly facts: Facts;
  readonly undo: Undo;
  /** Seals bodies. */
  readonly seal: BodySeal;
  /** Adds a step to the commit, until it is undone. */
  write(made: Step): void;
  /** Adds a write of the project (`src/store/write/`). */
  readonly add: Writer<void>;
}

/** Returns the steps of writes of the project with this number. */
export const stepper =
  (project: number): Writer<Step> =>
  (made, values) => ({
    statement: made.statement,
    values: valuesOf(made, project, values).map((value, at) => {
      if (typeof value === 'string') return made.words.has(made.places[at] ?? '') ? kept(value) : value;
      return value instanceof Uint8Array ? Buffer.from(value) : value;
    }),
  });
