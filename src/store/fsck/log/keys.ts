/**
 * `fsck`: finds the keys that sign a log from its own leaves.
 * It judges each audit checkpoint by the keys in force at its size. The metering log has no such leaves, so
 * it judges metering checkpoints by all keys that the audit log names.
 * Proven by `test/plane/keys/rotate.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import { KeyHistory } from '../../../core/note/key-history.ts';
import type { VerifierKey } from '../../../core/note/key.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import type { TreeName } from '../../port/store.ts';

export class KeyCheck {
  readonly #check: Check;
  readonly #project: CheckedProject;
  readonly #tree: TreeName;

  constructor(check: Check, project: CheckedProject, tree: TreeName) {
    this.#check = check;
    this.#project = project;
    this.#tree = tree;
  }

  /** Null if the log does not name its keys. */
  get inForce(): readonly VerifierKey[] | null {
    const history = this.#check.keys.get(this.#project.no);
    if (history === undefined) return null;
    return this.#tree === 'audit' ? history.inForce : [...history.inForce, ...history.retired];
  }

  /** Reads the keys in a record of the audit log. An invalid change of keys is reported and has no effect. */
  read(index: number, record: string): void {
    if (this.#tree !== 'audit') return;
    const { keys } = this.#check;
    const { no, projectId } = this.#project;
    if (index === 0) {
      const history = begun(record);
      if (history !== null) keys.set(no, history);
      return;
    }
    const history = keys.get(no);
    if (history === undefined || !KeyHistory.concerns(record)) return;
    try {
      history.read(index, record);
    } catch (error) {
      if (!(error instanceof GovError)) throw error;
      const expected = 'a change of keys that keys in force signed';
      this.#check.problem(`${projectId}/audit/${index}`, 'log_key_mismatch', {
        expected,
        got: error.message,
      });
    }
  }
}

/** Null if the first leaf names no keys. */
function begun(record: string): KeyHistory | null {
  try {
    return new KeyHistory(record);
  } catch (error) {
    if (error instanceof GovError) return null;
    throw error;
  }
}
