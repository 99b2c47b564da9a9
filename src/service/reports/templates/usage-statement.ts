/** Template `usage-statement`: units counted, day by day, from the signed metering log; what planes reported; what is billed. */
import { limits } from '../../../contract/limits.ts';
import { meteredTypes } from '../../../contract/operation.ts';
import {
  addTotals,
  parseMeterRecord,
  sumOf,
  zeroTotals,
  type Totals,
} from '../../../core/planes/metering.ts';
import { unitsEnd } from '../../../core/reports/inputs.ts';
import { checkUnits, unitsTable, type UnitsCut } from '../../../core/reports/units.ts';
import { formatTimestamp } from '../../../core/time.ts';
import { leafFrom, meterOf, totalsBelow, unitsFile, type Meter } from '../meter.ts';
import { endOfMonth, monthOf } from '../../call/month.ts';
import { factsOf, type Draft } from './draft.ts';
import { count, timeText } from './period.ts';
import { Rows } from './rows.ts';
import { planeReports } from '../counts/plane-reports.ts';
import { contradiction, notShown, trustOf } from './shown.ts';
import type { ReportTable } from '../../../core/reports/model.ts';
import { columns, fileNameOf, type ReportSource, type TableSpec } from './source.ts';
import { template } from './sections.ts';

const unitColumns = {
  auditEvents: ['Audit events', 'number'],
  proofs: ['Compliance proofs', 'number'],
  risks: ['Risk decisions', 'number'],
  replays: ['Replays', 'number'],
} as const;

const dayTable: TableSpec = {
  id: unitsTable,
  title: 'Units by day',
  lists: 'Days of the period in UTC on which units were counted, in order',
  columns: columns({ day: 'Day (UTC)', ...unitColumns }),
};

const monthTable: TableSpec = {
  id: 'units-by-month',
  title: 'Units by month',
  lists:
    'Calendar months in UTC that overlap the period, as the log, the counters of quotas and data planes have them',
  columns: columns({ month: 'Month', source: 'Counted by', ...unitColumns, status: ['Status', 'status'] }),
  unshown:
    'Counters of quotas and reports of planes are in no log, so nothing proves their rows. The table of days says whether its units are proven.',
};

const planeTable: TableSpec = {
  id: 'plane-reports',
  title: 'Reports of data planes',
  lists:
    'Usage reports of data planes that were received in the period; those that do not follow from their predecessor first',
  columns: columns({
    planeId: 'Data plane',
    name: 'Name',
    epoch: ['Epoch', 'number'],
    sequence: ['Sequence', 'number'],
    reportId: 'Report',
    receivedAt: ['Received', 'time'],
    month: 'Month',
    link: ['Follows its predecessor', 'status'],
    attestation: ['Attestation', 'status'],
    ...unitColumns,
  }),
  unshown:
    'Reports of planes are stored beside the log, which has no list of them. Each is signed by its plane, and the column “Follows its predecessor” shows a missing one.',
  rest: 'gov planes reports shows those of one plane.',
};

export const usageStatement = template({
  title: 'Usage statement',
  summary:
    'How many units were counted, whether counters and reports agree with the signed log, and what is billed',
  choices: 'Requests that count no unit are left out. Prices are not in the log, so no amount is printed.',
  sections: {
    units: {
      title: 'Units',
      text: 'The metering log has one leaf for each request that appended to the audit log, with running totals. The units of a period are the difference of two totals.',
      tables: [dayTable],
      figures: {
        audit_event: 'Audit events counted',
        compliance_proof: 'Compliance proofs counted',
        risk_decision: 'Risk decisions counted',
        replay_verification: 'Replays counted',
        meterLeaves: 'Leaves of the metering log',
      },
      checks: ['meterSigned', 'daysAddUp'],
    },
    billing: {
      title: 'What is billed',
      text: 'Invoices count calendar months in UTC: the units of this log and the units that data planes reported.',
      tables: [monthTable, planeTable],
      figures: { planeReports: 'Reports of data planes' },
      checks: ['quotasAgree', 'planesLinked'],
    },
  },
  build: async (draft) => {
    const { source, evidence } = draft;
    const meter = await meterOf(source);
    const days = await daysOf(draft, meter);
    const months = await monthRows(draft, meter);
    const planes = await planeRows(source);
    const proof = await unitsFile(source, meter, days.cuts);
    const fault = proof === null ? null : unitsFault(source, proof, days.rows);
    const isEmpty = days.from === days.to;
    if (meter.note !== null) evidence.attachments.set('metering.checkpoint', Buffer.from(meter.note));
    return {
      figures: {
        ...difference(days.last, days.first),
        planeReports: planes.rows.population,
        meterLeaves: meter.size,
      },
      checks: usageOf(months, planes, { days, fault, isSigned: proof !== null }),
      blocks: {
        units: [
          factsOf({
            'First metering leaf of the period': [isEmpty ? null : days.from, 'number'],
            'Last metering leaf of the period': [isEmpty ? null : days.to - 1, 'number'],
            'Metering log': [meter.origin, 'text'],
            'Root of the metering log': [meter.root, 'hash'],
          }),
        ],
      },
      tables: [
        days.rows.table({ completeness: daysShown(draft, proof, fault) }),
        months.rows.table({
          scope: `${monthTable.lists}. Each is shown as a whole, up to the checkpoint. A month that has not ended, or that the period cuts, is compared with nothing.`,
        }),
        planes.rows.table(),
      ],
    };
  },
});

const unitsOf = (totals: Totals): number[] => meteredTypes.map((type) => totals[type]);

const difference = (last: Totals, first: Totals): Totals =>
  Object.fromEntries(meteredTypes.map((type) => [type, last[type] - first[type]])) as Totals;

const dayMs = 86_400_000;

interface Days {
  readonly rows: Rows;
  readonly from: number;
  readonly to: number;
  readonly first: Totals;
  readonly last: Totals;
  /** Leaves of the period that were added up one by one, those whose totals do not follow, and those not read. */
  readonly counted: {
    readonly leaves: number;
    readonly wrong: number;
    readonly left: number;
    readonly units: Totals;
  };
  /** Both ends of the period, and of each day with a leaf. */
  readonly cuts: readonly UnitsCut[];
}

async function daysOf({ source, period }: Draft, meter: Meter): Promise<Days> {
  const rows = new Rows(dayTable);
  const untilMs = period.endMs + 1;
  const from = await leafFrom(meter, period.startMs);
  const to = await leafFrom(meter, untilMs, from);
  const first = await totalsBelow(meter, from);
  const last = await totalsBelow(meter, to);
  const cuts: UnitsCut[] = [{ ms: period.startMs, index: from }];
  const cut = (ms: number, index: number): void => {
    if (ms > (cuts.at(-1)?.ms ?? 0)) cuts.push({ ms, index });
  };
  let before = first;
  for (let at = from; at < to;) {
    const startMs = Math.floor((await meter.at(at)).ms / dayMs) * dayMs;
    const endMs = Math.min(untilMs, startMs + dayMs);
    const next = Math.min(to, await leafFrom(meter, endMs, at));
    cut(startMs, at);
    cut(endMs, next);
    const after = await totalsBelow(meter, next);
    const units = difference(after, before);
    if (unitsOf(units).some((n) => n > 0))
      rows.add([new Date(startMs).toISOString().slice(0, 10), ...unitsOf(units)]);
    before = after;
    at = next;
    await source.breathe();
  }
  cut(untilMs, to);
  return { rows, from, to, first, last, cuts, counted: await recount(source, { from, to, before: first }) };
}

const leavesAtOnce = 500;

/** Adds up the units that each leaf states, and compares them with its totals. Cost: about 10 µs a leaf. */
async function recount(
  { reader, projectId, breathe }: ReportSource,
  { from, to, before }: { readonly from: number; readonly to: number; readonly before: Totals },
): Promise<Days['counted']> {
  const end = Math.min(to, from + limits.reportCoverageEvents);
  let [wrong, totals, units] = [0, before, zeroTotals];
  for (let at = from; at < end; at += leavesAtOnce) {
    const range = { from: at, to: Math.min(end, at + leavesAtOnce) };
    for (const { record } of await reader.leaves(projectId, 'metering', range)) {
      const leaf = parseMeterRecord(record);
      const stated =
        leaf === null || leaf.op === 'none' ? zeroTotals : { ...zeroTotals, [leaf.op]: leaf.units };
      const sum = addTotals(totals, stated);
      if (leaf === null || meteredTypes.some((type) => leaf.totals[type] !== sum[type])) wrong += 1;
      units = addTotals(units, stated);
      totals = leaf?.totals ?? sum;
    }
    await breathe();
  }
  return { leaves: end - from, wrong, left: to - end, units };
}

interface Months {
  readonly rows: Rows;
  readonly compared: number;
  readonly differing: number;
}

/** Months of a period of at most a year and a day. */
async function monthRows({ source, period }: Draft, meter: Meter): Promise<Months> {
  const { reader, projectId } = source;
  const rows = new Rows(monthTable);
  let [compared, differing] = [0, 0];
  const lastMs = Math.min(period.endMs, period.asOfMs);
  const firstMs = meter.size === 0 ? Infinity : (await meter.at(0)).ms;
  for (let ms = Math.max(period.startMs, firstMs); ms <= lastMs;) {
    const month = monthOf(ms);
    const [startMs, endMs] = [Date.parse(`${month}-01T00:00:00Z`), endOfMonth(month)];
    const from = await leafFrom(meter, startMs);
    const to = await leafFrom(meter, endMs, from);
    const logged = difference(await totalsBelow(meter, to), await totalsBelow(meter, from));
    const [counted, planes] = [
      await reader.usage(projectId, month),
      await reader.planeUsage(projectId, month),
    ];
    const isWhole =
      period.startMs <= Math.max(startMs, firstMs) && period.endMs >= endMs - 1 && endMs <= period.asOfMs;
    const isSame = meteredTypes.every((type) => logged[type] === counted[type]);
    if (isWhole) compared += 1;
    if (isWhole && !isSame) differing += 1;
    const status = !isWhole ? 'not compared' : isSame ? 'same' : 'different';
    const billed = meteredTypes.map((type) => (isWhole ? counted[type] : logged[type]) + planes[type]);
    const shown = unitsOf(logged).some((n) => n > 0) || billed.some((n) => n > 0);
    if (shown) {
      rows.add([month, 'metering log', ...unitsOf(logged), status], status === 'different');
      if (isWhole)
        rows.add([month, 'counters of quotas', ...unitsOf(counted), status], status === 'different');
      rows.add([month, 'data planes', ...unitsOf(planes), 'reported']);
      rows.add([month, 'billed in all', ...billed, isWhole ? 'final' : 'so far']);
    }
    ms = endMs;
  }
  return { rows, compared, differing };
}

interface PlaneRows {
  /** The exceptions break a rule, or failed their attestation. */
  readonly rows: Rows;
  /** Reports whose predecessor is not here. */
  readonly unlinked: number;
}

async function planeRows(source: ReportSource): Promise<PlaneRows> {
  const rows = new Rows(planeTable);
  let unlinked = 0;
  for await (const { planeId, name, report } of planeReports(source)) {
    const { epoch, sequence, reportId, receivedMs, month, link, attestation, totals } = report;
    const row = [planeId, name, epoch, sequence, reportId, timeText(receivedMs), month, link, attestation];
    const isException =
      (link !== 'linked' && link !== 'unknown') || attestation === 'failed' || attestation === 'expired';
    unlinked += !isException && link === 'unknown' ? 1 : 0;
    rows.add([...row, ...unitsOf(totals)], isException);
  }
  return { rows, unlinked };
}

/** Why the proof of the days does not give the table; null where it does. */
function unitsFault(source: ReportSource, proof: Uint8Array, days: Rows): string | null {
  const { startMs, endMs } = source;
  const parameters = { startTime: formatTimestamp(startMs), endTime: formatTimestamp(endMs) };
  const tables = [days.table()];
  return (
    checkUnits(proof, { parameters, tables }, { trust: trustOf(source), table: unitsTable })?.detail ?? null
  );
}

/** Attaches the proof of the days. */
function daysShown(
  { source, evidence }: Draft,
  proof: Uint8Array | null,
  fault: string | null,
): ReportTable['completeness'] {
  if (proof === null)
    return notShown('No signed checkpoint covers the metering log of the period yet. Run the report again.');
  if (fault !== null)
    return contradiction(`The signed metering log does not give these units: ${fault}. Run gov log fsck.`);
  const file = `${fileNameOf(source, unitsTable)}${unitsEnd}`;
  evidence.attachments.set(file, proof);
  return {
    status: 'proven',
    detail: `The metering log that the operator signed counted exactly these units in the period. ${file} has its leaves around each day, with running totals; gov report verify computes the table from them.`,
  };
}

function usageOf(
  months: Months,
  { rows: reports, unlinked }: PlaneRows,
  { days, fault, isSigned }: { days: Days; fault: string | null; isSigned: boolean },
) {
  const { counted } = days;
  const broken = reports.exceptions;
  const none = 'The metering log has no leaf in the period.';
  const isShown = isSigned && counted.leaves + counted.left > 0;
  return {
    meterSigned: {
      examined: isShown ? 1 : 0,
      failed: isShown && fault !== null ? 1 : 0,
      detail: fault ?? 'metering.checkpoint is attached, and its signature verifies.',
      none: isSigned ? none : 'It is not signed yet. Run the report again.',
    },
    daysAddUp: {
      examined: counted.leaves,
      failed: counted.wrong,
      detail: `${sumOf(counted.units)} units in ${count(counted.leaves, 'leaf', 'leaves')} of the period. ${counted.wrong} of them ${counted.wrong === 1 ? 'has' : 'have'} other totals than the units before give.`,
      none,
      missing: counted.left === 0 ? null : `${count(counted.left, 'leaf was', 'leaves were')} not counted.`,
    },
    quotasAgree: {
      examined: months.compared,
      failed: months.differing,
      detail: `${months.differing} of ${count(months.compared, 'whole month')} ${months.differing === 1 ? 'differs' : 'differ'}.`,
      none: 'The period has no whole month that has ended.',
    },
    planesLinked: {
      examined: reports.population,
      failed: broken,
      detail: `${broken} of ${count(reports.population, 'report')} ${broken === 1 ? 'does' : 'do'} not, or failed their attestation.`,
      none: 'No data plane reported in the period.',
      missing: unlinked === 0 ? null : `The predecessor of ${count(unlinked, 'report')} is not here.`,
    },
  };
}
