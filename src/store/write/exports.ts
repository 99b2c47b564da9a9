/**
 * Writes of requested exports and of their results. `EffectRows` says what each one is.
 * Proven by `test/store/suite/governance/exports.ts`.
 */
import type { Effect, ExportDone } from '../port/store.ts';
import { columnsOf, flag } from '../rules/columns.ts';
import { erasableSql } from '../rules/export-row.ts';
import { insert, update, write, type Writer } from './statement.ts';

type EffectOf<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;
type NewExport = Omit<EffectOf<'createExport'>['exported'], 'projectId'>;

const columns = columnsOf<NewExport & ExportDone & { readonly removed: boolean }>('export_job', {
  exportId: 'export_id',
  jobId: 'job_id',
  resource: 'resource',
  format: 'format',
  filters: 'filters',
  includeProof: flag('include_proof'),
  treeSize: 'tree_size',
  createdMs: 'created_ms',
  artifact: 'artifact',
  rowCount: 'row_count',
  sizeBytes: 'size_bytes',
  digest: 'digest',
  manifest: 'manifest',
  completedMs: 'completed_ms',
  expiresMs: 'expires_ms',
  removed: flag('removed'),
});
const create = insert(columns, [
  'exportId',
  'jobId',
  'resource',
  'format',
  'filters',
  'includeProof',
  'treeSize',
  'createdMs',
]);
const finish = update(columns, {
  set: ['artifact', 'rowCount', 'sizeBytes', 'digest', 'manifest', 'completedMs', 'expiresMs'],
  by: ['exportId'],
  where: 'completed_ms IS NULL',
});

interface ErasedRange {
  readonly first: number;
  readonly last: number;
  readonly atMs: number;
}
const expiring = (first: string, last: string): string =>
  `UPDATE export_job SET expires_ms = :atMs::int8
   WHERE project = :project AND removed = 0 AND expires_ms > :atMs::int8 AND (resource = 'replays' OR ${erasableSql}
     AND ${first} <= :last::int8 AND ${last} >= :first::int8)`;
/** The functions that read a member of JSON differ. */
const expire = write<ErasedRange>('expire exports', {
  postgres: expiring(
    "(manifest::jsonb ->> 'firstSequence')::int8",
    "(manifest::jsonb ->> 'lastSequence')::int8",
  ),
  sqlite: expiring("json_extract(manifest, '$.firstSequence')", "json_extract(manifest, '$.lastSequence')"),
});
const again = write<ErasedRange>(
  'build exports again',
  `UPDATE job SET status = 'pending', lease = NULL, due_ms = :atMs::int8
   WHERE project = :project AND status = 'processing' AND type = 'export' AND job_id IN (SELECT job_id FROM export_job
     WHERE project = :project AND removed = 0 AND completed_ms IS NULL AND tree_size > :first::int8
       AND (resource = 'replays' OR ${erasableSql}))`,
);
const expireOne = write<{ readonly exportId: string; readonly atMs: number }>(
  'expire export',
  `UPDATE export_job SET expires_ms = :atMs::int8
   WHERE project = :project AND export_id = :exportId AND expires_ms > :atMs::int8`,
);
const mark = update(columns, { set: ['removed'], by: ['exportId'] });

export const exportWrites = <Done>(run: Writer<Done>) => ({
  createExport: (made: NewExport) => run(create, made),
  finishExport: ({ exportId, done }: EffectOf<'finishExport'>) => run(finish, { exportId, ...done }),
  expireExports: (erased: ErasedRange): void => {
    run(expire, erased);
    run(again, erased);
  },
});

/** Writes outside commits. */
export const exportMoveWrites = <Done>(run: Writer<Done>) => ({
  expireExport: (exportId: string, atMs: number) => run(expireOne, { exportId, atMs }),
  markExportRemoved: (exportId: string) => run(mark, { exportId, removed: true }),
});
