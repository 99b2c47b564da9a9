/**
 * `fsck`: checks the reports of data planes and recomputes the counters that follow from them.
 * Each body must have its digest, and the columns must match the body. If `deep`, the plane must have signed
 * the body, and it must follow from its predecessor as its link states. Epochs and months are recomputed from
 * the reports, and the units of a project from the months. The check of a plane is one transaction, so a
 * process may serve the files meanwhile.
 * Proven by `test/store/fsck/tamper-reports.test.ts`.
 */
import type { UsageReport } from '../../../contract/telemetry.ts';
import { addTotals, zeroTotals } from '../../../core/planes/metering.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import { isZero, unitsOf, withReported, type MonthTotals } from '../../rules/plane-usage.ts';
import { countColumns, countsOf, type CountRow, type EpochRow } from '../../rules/epoch-row.ts';
import { type PlaneRow, type ReportRow } from '../../rules/plane-row.ts';
import type { MeteredCounts } from '../../port/planes.ts';
import { columnCheck } from '../columns.ts';
import { reportCheck } from './reports.ts';
import type { Value } from '../../file/connection.ts';

/** Reports in memory at a time. */
const reportsAtOnce = 200;

type EpochState = Omit<EpochRow, 'epoch' | 'first_unlinked'> & { months: MonthTotals[] };

export async function checkTelemetry(check: Check, project: CheckedProject): Promise<void> {
  const planeIds = check.db
    .prepare<Value[], string>(
      `SELECT plane_id FROM telemetry_plane WHERE project = ?
       UNION SELECT plane_id FROM telemetry_epoch WHERE project = ?
       UNION SELECT plane_id FROM telemetry_month WHERE project = ?
       UNION SELECT plane_id FROM telemetry_report WHERE project = ?`,
    )
    .pluck()
    .all(...Array<number>(4).fill(project.no));
  for (const planeId of planeIds) await atOnce(check, () => checkPlane(check, project, planeId));
  await atOnce(check, () => checkUnits(check, project));
}

async function atOnce({ db }: Check, part: () => void | Promise<void>): Promise<void> {
  db.exec('BEGIN');
  try {
    await part();
  } finally {
    db.exec('COMMIT');
  }
}

async function checkPlane(check: Check, project: CheckedProject, planeId: string): Promise<void> {
  const { no, projectId } = project;
  const plane = check.db
    .prepare<Value[], PlaneRow>('SELECT * FROM telemetry_plane WHERE project = ? AND plane_id = ?')
    .get(no, planeId);
  const position = `${projectId}/data_plane/${planeId}`;
  if (plane === undefined) {
    check.problem(position, 'report_mismatch', {
      expected: 'the data plane of these reports',
      got: 'none',
    });
  }
  const visit = reportCheck(check, { no, planeId, position, projectId, plane });
  const page = check.db.prepare<Value[], ReportRow>(
    `SELECT * FROM telemetry_report WHERE project = ? AND plane_id = ? AND (epoch, sequence) > (?, ?)
     ORDER BY epoch, sequence LIMIT ${reportsAtOnce}`,
  );
  const epochs = new Map<number, EpochState>();
  for (let last: Pick<ReportRow, 'epoch' | 'sequence'> = { epoch: -1, sequence: 0 }; ;) {
    const rows = page.all(no, planeId, last.epoch, last.sequence);
    for (const row of rows) {
      const report = visit(row);
      if (report !== null) reach(epochs, row, report);
    }
    await check.read(0);
    const end = rows.at(-1);
    if (end === undefined || rows.length < reportsAtOnce) break;
    last = end;
  }
  checkEpochs(check, { no, planeId, position }, epochs);
  checkMonths(check, { no, planeId, position }, epochs);
}

/** Counts a report. Reports of an epoch come in order. */
function reach(
  epochs: Map<number, EpochState>,
  { epoch, sequence, month }: ReportRow,
  { log, totals }: UsageReport,
): void {
  const none = { held: 0, next_sequence: 1, newest_sequence: 0, tree_size: 0, months: [] };
  const reached = epochs.get(epoch) ?? none;
  epochs.set(epoch, {
    held: reached.held + 1,
    next_sequence: reached.next_sequence + Number(reached.next_sequence === sequence),
    newest_sequence: sequence,
    tree_size: Math.max(reached.tree_size, log.treeSize),
    months: withReported(reached.months, { month, totals }),
  });
}

interface CheckedPlane {
  readonly no: number;
  readonly planeId: string;
  readonly position: string;
}

function checkEpochs(
  check: Check,
  { no, planeId, position }: CheckedPlane,
  reached: ReadonlyMap<number, EpochState>,
): void {
  const compare = columnCheck(check, 'report_mismatch');
  const rows = check.db
    .prepare<Value[], Omit<EpochRow, 'first_unlinked'>>(
      'SELECT epoch, held, next_sequence, newest_sequence, tree_size FROM telemetry_epoch WHERE project = ? AND plane_id = ?',
    )
    .all(no, planeId);
  const stored = new Map(rows.map((row) => [row.epoch, row]));
  for (const [epoch, { months: _, ...logged }] of reached) {
    const row = stored.get(epoch);
    compare(`${position}/epoch/${epoch}`, row === undefined ? undefined : { ...row }, logged);
  }
  for (const epoch of stored.keys()) {
    if (!reached.has(epoch)) check.problem(`${position}/epoch/${epoch}`, 'report_mismatch', unreported);
  }
}

const unreported = { expected: 'no row, because no report created it', got: 'one' };

function checkMonths(
  check: Check,
  { no, planeId, position }: CheckedPlane,
  reached: ReadonlyMap<number, EpochState>,
): void {
  const compare = columnCheck(check, 'usage_mismatch');
  const rows = check.db
    .prepare<Value[], CountRow & { epoch: number; month: string }>(
      'SELECT * FROM telemetry_month WHERE project = ? AND plane_id = ?',
    )
    .all(no, planeId);
  const name = (epoch: number, month: string): string => `${position}/epoch/${epoch}/month/${month}`;
  const stored = new Map(rows.map((row) => [name(row.epoch, row.month), row]));
  for (const [epoch, { months }] of reached) {
    for (const { month, totals } of months) {
      compare(name(epoch, month), stored.get(name(epoch, month)), totals);
      stored.delete(name(epoch, month));
    }
  }
  for (const left of stored.keys()) check.problem(left, 'usage_mismatch', unreported);
}

/** Recomputes units from the stored months, which were already compared with their reports. */
function checkUnits(check: Check, { no, projectId }: CheckedProject): void {
  const compare = columnCheck(check, 'usage_mismatch');
  const rows = check.db.prepare<Value[], CountRow & { plane_id: string; epoch: number; month: string }>(
    'SELECT * FROM telemetry_month WHERE project = ? ORDER BY plane_id, epoch, month',
  );
  const units = new Map<string, MeteredCounts>();
  let months: MonthTotals[] = [];
  let current = '';
  const count = (): void => {
    for (const [month, counts] of unitsOf(months))
      units.set(month, addTotals(units.get(month) ?? zeroTotals, counts));
  };
  for (const row of rows.iterate(no)) {
    const epoch = `${row.plane_id}/${row.epoch}`;
    if (epoch !== current) count();
    months = [...(epoch === current ? months : []), { month: row.month, totals: countsOf(row) }];
    current = epoch;
  }
  count();
  const stored = check.db
    .prepare<Value[], CountRow & { month: string }>(
      `SELECT month, ${countColumns.join(', ')} FROM telemetry_usage WHERE project = ?`,
    )
    .all(no);
  const known = new Map(stored.map((row) => [row.month, countsOf(row)]));
  for (const month of new Set([...units.keys(), ...known.keys()])) {
    const logged = units.get(month) ?? zeroTotals;
    // a month whose units all moved to an earlier one keeps its row; a month without units needs no row
    if (known.has(month) || !isZero(logged))
      compare(`${projectId}/telemetry_usage/${month}`, known.get(month), logged);
  }
}
