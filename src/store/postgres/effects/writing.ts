/**
 * The parameters that the writers of a commit's effects share.
 * Proven by `test/store/postgres/suite.alone.test.ts`.
 */
import type { BodySeal } from '../../erasure/body-seal.ts';
import type { Facts } from '../write/known.ts';
import type { Undo } from '../write/undo.ts';
import type { Step } from '../../read/queries.ts';

export interface Writing {
  readonly project: number;
  readonly facts: Facts;
  readonly undo: Undo;
  /** Seals bodies. */
  readonly seal: BodySeal;
  /** Adds a step to the commit, until it is undone. */
  write(made: Step): void;
}
