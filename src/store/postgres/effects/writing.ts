/** What the writers of a commit's effects share. */
import type { BodySeal } from '../../erasure/body-seal.ts';
import type { Facts } from '../write/known.ts';
import type { Undo } from '../write/undo.ts';
import { type Step } from '../connection/wire.ts';

export interface Writing {
  readonly project: number;
  readonly facts: Facts;
  readonly undo: Undo;
  /** Of bodies. */
  readonly seal: BodySeal;
  /** Takes a step of the commit, until it is undone. */
  write(made: Step): void;
}
