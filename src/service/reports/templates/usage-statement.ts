/** Template `usage-statement`: units counted, day by day, from the signed metering log; what planes reported; what is billed. */
import { meteredTypes, type MeteredType } from '../../../contract/operation.ts';
import { zeroTotals, type Totals } from '../../../core/plane/metering.ts';
import { unitsEnd } from '../../../core/report/inputs.ts';
import { unitsTable, type UnitsCut } from '../../../core/report/units.ts';
import { leafFrom, meterOf, totalsBelow, unitsFile, type Meter } from '../meter.ts';
import { endOfMonth, monthOf } from '../../access/month.ts';
import { Draft, factsOf } from './draft.ts';
import { count, timeText } from './period.ts';
import { Rows } from './rows.ts';
import { notShown } from './shown.ts';
import type { ReportTable } from '../../../core/report/model.ts';
import { columns, fileNameOf, type ReportSource, type TableSpec, type Template } from './source.ts';

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
};

export const usageStatement: Template = {
  title: 'Usage statement',
  summary:
    'How many units were counted, whether counters and reports agree with the signed log, and what is billed',
  tables: [dayTable, monthTable, planeTable],
  build: async (source) => {
    const draft = await Draft.of(source);
    const meter = await meterOf(source);
    const days = await daysOf(draft, meter);
    const months = await monthRows(draft, meter);
    const planes = await planeRows(source);
    const units = difference(days.last, days.first);

    for (const type of meteredTypes) draft.figure(type, titles[type], units[type]);
    draft.figure('planeReports', 'Reports of data planes', planes.population);
    draft.figure('meterLeaves', 'Leaves of the metering log', meter.size);
    draft.check(
      'A signed checkpoint covers the metering log',
      meter.note === null ? 'not_shown' : 'pass',
      meter.note === null
        ? 'It is not signed yet. Run the report again.'
        : 'metering.checkpoint is attached.',
    );
    usageChecks(draft, { months, planes, days: days.rows, units, sum: days.sum });

    draft.section(
      'Units',
      {
        text: 'The metering log has one leaf for each request that appended to the audit log, with running totals. The units of a period are the difference of two totals.',
      },
      factsOf({
        'First metering leaf of the period': [days.from < days.to ? days.from : null, 'number'],
        'Last metering leaf of the period': [days.from < days.to ? days.to - 1 : null, 'number'],
        'Metering log': [meter.origin, 'text'],
        'Root of the metering log': [meter.root, 'hash'],
      }),
      { table: dayTable.id },
    );
    draft.section(
      'What is billed',
      {
        text: 'Invoices count calendar months in UTC: the units of this log and the units that data planes reported.',
      },
      { table: monthTable.id },
      { table: planeTable.id },
    );
    if (meter.note !== null) draft.evidence.attachments.set('metering.checkpoint', Buffer.from(meter.note));

    draft.table(
      days.rows.table(`${dayTable.lists}.`, await daysShown(draft, meter, days.cuts), { rest: '' }),
    );
    draft.table(
      months.rows.table(
        `${monthTable.lists}. Each is shown as a whole, up to the checkpoint. A month that has not ended, or that the period cuts, is compared with nothing.`,
        notShown(
          'Counters of quotas and reports of planes are in no log, so nothing proves their rows. The table of days says whether its units are proven.',
        ),
        { rest: '' },
      ),
    );
    draft.table(
      planes.table(
        `${planeTable.lists}.`,
        notShown(
          'Reports of planes are stored beside the log, which has no list of them. Each is signed by its plane, and the column “Follows its predecessor” shows a missing one.',
        ),
        { rest: 'gov planes reports shows those of one plane.' },
      ),
    );
    return draft.built([
      'Requests that count no unit are left out. Prices are not in the log, so no amount is printed.',
    ]);
  },
};

const titles: Readonly<Record<MeteredType, string>> = {
  audit_event: 'Audit events counted',
  compliance_proof: 'Compliance proofs counted',
  risk_decision: 'Risk decisions counted',
  replay_verification: 'Replays counted',
};

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
  /** Of all rows. */
  readonly sum: Totals;
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
  let sum = zeroTotals;
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
    sum = difference(sum, difference(zeroTotals, units));
    before = after;
    at = next;
    await source.breathe();
  }
  cut(untilMs, to);
  return { rows, from, to, first, last, sum, cuts };
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

const pageRows = 100;

async function planeRows(source: ReportSource): Promise<Rows> {
  const { reader, projectId, breathe } = source;
  const rows = new Rows(planeTable);
  if (source.installation === 'plane') return rows;
  for (let after: { ms: number; id: string } | undefined; ;) {
    const page = { limit: pageRows, ...(after === undefined ? {} : { after }) };
    const planes = await reader.planes(projectId, page);
    for (const plane of planes) {
      await addReports(source, plane, rows);
      await breathe();
    }
    const last = planes.at(-1);
    if (planes.length < pageRows || last === undefined) return rows;
    after = { ms: last.createdMs, id: last.planeId };
  }
}

async function addReports(
  { reader, projectId, startMs, endMs }: ReportSource,
  { planeId, name }: { readonly planeId: string; readonly name: string },
  rows: Rows,
): Promise<void> {
  for (let after: { epoch: number; sequence: number } | undefined; ;) {
    const page = { limit: pageRows, ...(after === undefined ? {} : { after }) };
    const reports = await reader.reports(projectId, planeId, page);
    for (const { epoch, sequence, reportId, receivedMs, month, link, attestation, totals } of reports) {
      if (receivedMs < startMs || receivedMs > endMs) continue;
      const row = [planeId, name, epoch, sequence, reportId, timeText(receivedMs), month, link, attestation];
      const isException =
        (link !== 'linked' && link !== 'unknown') || attestation === 'failed' || attestation === 'expired';
      rows.add([...row, ...unitsOf(totals)], isException);
    }
    const last = reports.at(-1);
    if (reports.length < pageRows || last === undefined) return;
    after = { epoch: last.epoch, sequence: last.sequence };
  }
}

/** Attaches the proof of the days. */
async function daysShown(
  { source, evidence }: Draft,
  meter: Meter,
  cuts: readonly UnitsCut[],
): Promise<ReportTable['completeness']> {
  const proof = await unitsFile(source, meter, cuts);
  if (proof === null)
    return notShown('No signed checkpoint covers the metering log of the period yet. Run the report again.');
  const file = `${fileNameOf(source, unitsTable)}${unitsEnd}`;
  evidence.attachments.set(file, proof);
  return {
    status: 'proven',
    detail: `The signed metering log counted exactly these units in the period. ${file} has its leaves around each day, with running totals; gov report verify computes the table from them.`,
  };
}

function usageChecks(
  draft: Draft,
  { months, planes, units, sum }: { months: Months; planes: Rows; days: Rows; units: Totals; sum: Totals },
): void {
  const isSame = meteredTypes.every((type) => units[type] === sum[type]);
  draft.check(
    'The days add up to the totals of the metering log',
    isSame ? 'pass' : 'fail',
    `${unitsOf(units).reduce((a, b) => a + b, 0)} units in the period.`,
  );
  const agree = 'Counters of quotas agree with the metering log';
  if (months.compared === 0) draft.check(agree, 'not_shown', 'The period has no whole month that has ended.');
  else
    draft.check(
      agree,
      months.differing === 0 ? 'pass' : 'fail',
      `${months.differing} of ${count(months.compared, 'whole month')} differ.`,
    );
  const linked = 'Reports of data planes follow from each other';
  const broken = planes.table('', notShown(''), { rest: '' }).exceptions;
  if (planes.population === 0) draft.check(linked, 'not_shown', 'No data plane reported in the period.');
  else
    draft.check(
      linked,
      broken === 0 ? 'pass' : 'fail',
      `${broken} of ${count(planes.population, 'report')} do not, or failed their attestation.`,
    );
}
