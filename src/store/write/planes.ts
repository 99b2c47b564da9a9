/**
 * Writes of data planes, their reports and counters. `TelemetryRows` says what each one is.
 * Proven by `test/store/suite/tenancy/planes.ts` and `test/store/suite/tenancy/reports.ts`.
 */
import type { MeteredCounts, StoredPlane, StoredReport, TelemetryEffect } from '../port/planes.ts';
import { countColumns, raiseEpochSql } from '../rules/epoch-row.ts';
import type { MonthTotals } from '../rules/plane-usage.ts';
import { planeColumns, planeRow, reportColumns, reportRow } from '../rules/plane-row.ts';
import { insert, update, upsert, write, type Writer } from './statement.ts';

type EffectOf<Kind extends TelemetryEffect['kind']> = Extract<TelemetryEffect, { kind: Kind }>;

const { plane_id: _, ...changing } = planeColumns.names;
const savePlane = upsert(planeColumns, {
  key: ['plane_id'],
  set: Object.keys(changing) as (keyof typeof changing)[],
});
const addReport = insert(reportColumns);
interface EpochCount {
  readonly planeId: string;
  readonly epoch: number;
  readonly next: number;
  readonly sequence: number;
  readonly treeSize: number;
}
const raiseEpoch = write<EpochCount>(
  'raise epoch',
  raiseEpochSql(':project, :planeId, :epoch, 1, :next, :sequence, :treeSize'),
);
const linkReport = update(reportColumns, { set: ['link'], by: ['plane_id', 'epoch', 'sequence'] });
const answerChallenge = update(reportColumns, {
  set: ['attestation', 'answer_digest', 'answer_status', 'answer', 'answer_ms'],
  by: ['plane_id', 'report_id'],
});
const expireChallenge = update(reportColumns, { set: ['attestation'], by: ['plane_id', 'report_id'] });

const columns = countColumns.join(', ');
interface Month extends MeteredCounts {
  readonly planeId: string;
  readonly epoch: number;
  readonly month: string;
}
const saveMonth = write<Month>(
  'save month of epoch',
  `INSERT INTO telemetry_month (project, plane_id, epoch, month, ${columns})
   VALUES (:project, :planeId, :epoch, :month, ${countColumns.map((column) => `:${column}`).join(', ')})
   ON CONFLICT (project, plane_id, epoch, month) DO UPDATE SET
     ${countColumns.map((column) => `${column} = excluded.${column}`).join(', ')}`,
);
/**
 * Two statements: a change may be negative, and an inserted row would then fail the CHECK although the sum does not.
 */
const beginUnits = write<{ readonly month: string }>(
  'begin units of planes',
  `INSERT INTO telemetry_usage (project, month, ${columns})
   VALUES (:project, :month, ${countColumns.map(() => '0').join(', ')}) ON CONFLICT DO NOTHING`,
);
const adding = (sum: (column: string) => string): string =>
  `UPDATE telemetry_usage SET ${countColumns.map((column) => `${column} = ${column} + ${sum(column)}`).join(', ')}
   WHERE project = :project AND month = :month`;
/** SQLite binds a number as a double; without the CAST the sum would be a double too. */
const addUnits = write<MeteredCounts & { readonly month: string }>('add units of planes', {
  postgres: adding((column) => `:${column}`),
  sqlite: adding((column) => `CAST(:${column} AS INTEGER)`),
});

type EpochName = Pick<StoredReport, 'planeId' | 'epoch'>;
type ReportName = Pick<StoredReport, 'planeId' | 'reportId'>;

export const telemetryWrites = <Done>(run: Writer<Done>) => ({
  savePlane: (plane: StoredPlane) => run(savePlane, planeRow(plane)),
  addReport: (report: StoredReport): void => {
    const { planeId, epoch, sequence, treeSize } = report;
    run(addReport, reportRow(report));
    run(raiseEpoch, { planeId, epoch, next: sequence === 1 ? 2 : 1, sequence, treeSize });
  },
  linkReport: ({ planeId, epoch, sequence, link }: EffectOf<'linkReport'>) =>
    run(linkReport, { plane_id: planeId, epoch, sequence, link }),
  answerChallenge: ({ planeId, reportId, attestation, answer }: EffectOf<'answerChallenge'>) =>
    run(answerChallenge, {
      plane_id: planeId,
      report_id: reportId,
      attestation,
      answer_digest: answer.digest,
      answer_status: answer.status,
      answer: answer.result,
      answer_ms: answer.atMs,
    }),
  expireChallenge: ({ planeId, reportId }: ReportName) =>
    run(expireChallenge, { plane_id: planeId, report_id: reportId, attestation: 'expired' }),
  saveMonth: ({ planeId, epoch }: EpochName, { month, totals }: MonthTotals) =>
    run(saveMonth, { planeId, epoch, month, ...totals }),
  addUnits: (month: string, change: MeteredCounts): void => {
    run(beginUnits, { month });
    run(addUnits, { month, ...change });
  },
});
