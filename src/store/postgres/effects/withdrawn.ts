/**
 * Removes copies of erased values from jobs and stored responses, with the commit of the erasure.
 * Proven by `test/store/postgres/suite.alone.test.ts`.
 */
import { withdrawnText } from '../../../core/replay/withdrawn.ts';
import type { EffectRows } from '../../append/effects.ts';
import { answeredId, comparing } from '../../erasure/withdrawn.ts';
import { textArray } from '../connection/arrays.ts';
import type { CommitWriter } from './writing.ts';
import { sql, step } from '../../read/queries.ts';

const isAbout = `type = 'replay' AND (run_id = ANY($2::text[])
  OR EXISTS (SELECT FROM unnest($3::text[]) AS beginning WHERE starts_with(request, beginning)))`;
const withdraw = sql(`UPDATE job SET result = $4 WHERE project = $1 AND status = 'completed' AND ${isAbout}`);
const again = sql(
  `UPDATE job SET status = 'pending', lease = NULL, due_ms = $4::int8
   WHERE project = $1 AND status = 'processing' AND ${isAbout}`,
);
const drop = sql(
  `DELETE FROM idempotency WHERE project = $1 AND (${answeredId('pev_', 'strpos')} = ANY($2::text[])
     OR ${answeredId('rsk_', 'strpos')} = ANY($2::text[]))`,
);

export function withdrawer({
  project,
  facts,
  undo,
  write,
}: CommitWriter): Pick<EffectRows, 'withdrawCopies'> {
  return {
    withdrawCopies: (copies, { leaf, atMs }) => {
      const about = [textArray(copies.runIds), textArray(comparing(copies))];
      // results in this commit were computed before the erasure; their workers get "lease lost"
      for (const jobId of facts.leases.keys()) undo.delete(facts.leases, jobId);
      write(step(withdraw, project, ...about, withdrawnText(leaf)));
      write(step(again, project, ...about, atMs));
      if (copies.ids.length > 0) write(step(drop, project, textArray(copies.ids)));
    },
  };
}
