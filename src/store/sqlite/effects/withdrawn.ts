/**
 * Removes copies of erased values from jobs and stored responses, in the transaction of the erasure.
 * Proven by `test/store/sqlite/upkeep/rewrite.long.test.ts` and `test/store/sqlite/suite.alone.test.ts`.
 */
import { withdrawnText } from '../../../core/replay/withdrawn.ts';
import type { EffectRows } from '../../append/effects.ts';
import { answeredId, comparing } from '../../erasure/withdrawn.ts';
import type { Current } from './current.ts';
import type { Prepare } from '../../file/statement.ts';

/** Cost: a scan of the project's jobs, and of its stored responses if decisions lose values. */
export function withdrawer(prepare: Prepare, current: Current): Pick<EffectRows, 'withdrawCopies'> {
  const overwrite = prepare('overwrite what is freed', 'PRAGMA secure_delete = 1');
  const leave = prepare('leave what is freed', 'PRAGMA secure_delete = 0');
  const isAbout = `type = 'replay' AND (run_id IN (SELECT value FROM json_each(?))
       OR EXISTS (SELECT 1 FROM json_each(?) WHERE substr(request, 1, length(value)) = value))`;
  const withdraw = prepare(
    'withdraw results',
    `UPDATE job SET result = ? WHERE project = ? AND status = 'completed' AND ${isAbout}`,
  );
  const again = prepare(
    'replay anew',
    `UPDATE job SET status = 'pending', lease = NULL, due_ms = ?
     WHERE project = ? AND status = 'processing' AND ${isAbout}`,
  );
  const drop = prepare(
    'drop answers of what was erased',
    `DELETE FROM idempotency WHERE project = ? AND (${answeredId('pev_', 'instr')} IN (SELECT value FROM json_each(?))
       OR ${answeredId('rsk_', 'instr')} IN (SELECT value FROM json_each(?)))`,
  );
  return {
    withdrawCopies: (copies, { leaf, atMs }) => {
      const about = [JSON.stringify(copies.runIds), JSON.stringify(comparing(copies))];
      const ids = JSON.stringify(copies.ids);
      overwrite.all();
      try {
        withdraw.run(withdrawnText(leaf), current.project, ...about);
        again.run(atMs, current.project, ...about);
        if (copies.ids.length > 0) drop.run(current.project, ids, ids);
      } finally {
        leave.all();
      }
    },
  };
}
