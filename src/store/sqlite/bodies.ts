/** The rows of bodies that erasure changes, one by one in the transaction of their request. */
import type { KeptBody } from '../../core/erased.ts';
import type { EffectRows } from '../effects.ts';
import { isSealed, type BodySeal } from '../bodyseal.ts';
import type { Current } from './effects.ts';
import { positionOf } from './position.ts';
import { floorSql } from './pruned.ts';
import type { Prepare } from './statement.ts';

/** What is freed is overwritten with zeros, so that nothing of it stays in pages of the file. */
export function bodyRows(
  prepare: Prepare,
  current: Current,
  seal: BodySeal,
): Pick<EffectRows, 'body' | 'saveBody' | 'dropClientId' | 'dropSubject' | 'prunedBelow' | 'savePrune'> {
  const overwrite = prepare('overwrite what is freed', 'PRAGMA secure_delete = 1');
  const leave = prepare('leave what is freed', 'PRAGMA secure_delete = 0');
  const find = prepare<KeptBody>('find body', 'SELECT disclosures, erased FROM body WHERE position = ?');
  const save = prepare('erase fields', 'UPDATE body SET disclosures = ?, erased = ? WHERE position = ?');
  const drop = prepare(
    'drop client event',
    'DELETE FROM client_event WHERE project = ? AND client_event_id = ? AND idx = ?',
  );
  const forget = prepare('drop subject', 'DELETE FROM subject WHERE project = ? AND subject = ? AND idx = ?');
  const floor = prepare<{ below: number | null }>('find pruned', floorSql);
  const prune = prepare(
    'save prune',
    'INSERT INTO prune (project, leaf_index, min_index, root) VALUES (?, ?, ?, ?)',
  );
  const zeroing = (change: () => void): void => {
    overwrite.all();
    try {
      change();
    } finally {
      leave.all();
    }
  };
  return {
    body: (index) => {
      const row = find.get(positionOf(current.project, index));
      const disclosures = row === undefined ? null : seal.open(row.disclosures);
      return row === undefined || disclosures === null ? null : { ...row, disclosures };
    },
    saveBody: (index, { disclosures, erased }) => {
      const position = positionOf(current.project, index);
      // what was in clear stays so: a sealed text is longer, and a body only gets shorter
      const wasSealed = isSealed(find.get(position)?.disclosures ?? '');
      zeroing(() => save.run(wasSealed ? seal.seal(disclosures) : disclosures, erased, position));
    },
    dropClientId: (clientEventId, index) => zeroing(() => drop.run(current.project, clientEventId, index)),
    dropSubject: (subject, index) => zeroing(() => forget.run(current.project, subject, index)),
    prunedBelow: () => floor.get(current.project)?.below ?? 0,
    savePrune: (leaf, minIndex, root) => {
      prune.run(current.project, leaf, minIndex, root);
    },
  };
}
