/**
 * Rows of the counters of data planes by epoch and month, the same in both engines.
 * Proven by `test/store/suite/tenancy/reports.ts` and `test/store/suite/tenancy/plane-usage.ts`.
 */
import { meteredTypes } from '../../contract/operation.ts';
import { countable } from '../../core/planes/metering.ts';
import { eachType } from './plane-usage.ts';
import type { MeteredCounts, PlaneEpoch } from '../port/planes.ts';

export interface EpochRow {
  epoch: number;
  held: number;
  next_sequence: number;
  newest_sequence: number;
  tree_size: number;
  first_unlinked: number | null;
}

/** SQL of both engines: the columns of an epoch `e`. */
export const epochSql = `e.epoch, e.held, e.next_sequence, e.newest_sequence, e.tree_size, (
  SELECT min(r.sequence) FROM telemetry_report r WHERE r.project = e.project AND r.plane_id = e.plane_id
    AND r.epoch = e.epoch AND r.link <> 'linked') AS first_unlinked`;

export const epochOf = (row: EpochRow): PlaneEpoch => ({
  epoch: row.epoch,
  held: row.held,
  nextSequence: row.next_sequence,
  newestSequence: row.newest_sequence,
  treeSize: row.tree_size,
  firstUnlinked: row.first_unlinked,
});

/** Columns of counts. */
export const countColumns = meteredTypes;
export type CountRow = Record<(typeof countColumns)[number], number>;
/** Each at most 2^53-1. */
export const countsOf = (row: CountRow): MeteredCounts => eachType((type) => countable(row[type]));

/**
 * SQL of both engines: counts one more report of an epoch. `parameters`: the values of a first report, which is
 * inserted before. If the report closes the first gap, the gap moves past the following consecutive reports. Cost: their number.
 */
export const raiseEpochSql = (parameters: string): string =>
  `INSERT INTO telemetry_epoch (project, plane_id, epoch, held, next_sequence, newest_sequence, tree_size)
   VALUES (${parameters})
   ON CONFLICT (project, plane_id, epoch) DO UPDATE SET held = telemetry_epoch.held + 1,
     newest_sequence = ${larger('newest_sequence')}, tree_size = ${larger('tree_size')},
     next_sequence = CASE WHEN excluded.newest_sequence <> telemetry_epoch.next_sequence
       THEN telemetry_epoch.next_sequence ELSE (
         SELECT r.sequence + 1 FROM telemetry_report r
         WHERE ${ofEpoch('r')} AND r.sequence >= excluded.newest_sequence AND NOT EXISTS (
           SELECT 1 FROM telemetry_report n WHERE ${ofEpoch('n')} AND n.sequence = r.sequence + 1)
         ORDER BY r.sequence LIMIT 1) END`;

const larger = (column: string): string =>
  `CASE WHEN excluded.${column} > telemetry_epoch.${column} THEN excluded.${column} ELSE telemetry_epoch.${column} END`;
const ofEpoch = (row: string): string =>
  `${row}.project = excluded.project AND ${row}.plane_id = excluded.plane_id AND ${row}.epoch = excluded.epoch`;
