/**
 * A report while it is built, and the parts that each report has: what it covers, and whether the log that it comes from is
 * whole. Proven by `test/service/reports/templates/`.
 */
import type {
  BuiltReport,
  ReportBlock,
  ReportCell,
  ReportFigure,
  ReportSection,
  ReportTable,
} from '../../../core/reports/model.ts';
import { periodOver, tableCheck } from '../checks/names.ts';
import { judged, settled, unanswered, type JudgedCheck } from '../checks/verdict.ts';
import { coverText, periodOf, timeText, type Period } from './period.ts';
import { sealOf } from './seal.ts';
import { Evidence, isRefuted } from './shown.ts';
import type { ReportSource } from './source.ts';

type FactBlock = Extract<ReportBlock, { readonly facts: unknown }>;

/** What a template reads, and the evidence that it attaches. */
export interface Draft {
  readonly source: ReportSource;
  readonly period: Period;
  readonly evidence: Evidence;
}

export async function draftOf(source: ReportSource): Promise<Draft> {
  const period = await periodOf(source);
  return { source, period, evidence: new Evidence(source, period) };
}

/** What a report has of its own. */
export interface OwnParts {
  readonly checks: readonly JudgedCheck[];
  /** Of the checks as the report prints them: a figure can say what a check says. */
  readonly figures: (checks: readonly JudgedCheck[]) => readonly ReportFigure[];
  readonly sections: readonly ReportSection[];
  readonly tables: readonly ReportTable[];
}

/** Adds the common parts. `choices`: what the report selects and leaves out, in words. */
export async function completed(
  { source, period }: Draft,
  { checks: own, figures, sections, tables }: OwnParts,
  choices: readonly string[],
): Promise<BuiltReport['contents']> {
  const seal = await sealOf(source);
  const checks = settled([...own, ...seal.checks, ...isOver(period), ...isComplete(tables)]);
  const coverage = {
    title: 'What this report covers',
    blocks: [
      { text: coverText(period) },
      {
        text: 'The period selects entries by the time at which the log recorded them. Times that clients state are shown, and select nothing.',
      },
      ...choices.map((text) => ({ text })),
      factsOf({
        'Start of the period': [timeText(source.startMs), 'time'],
        'End of the period, included': [timeText(source.endMs), 'time'],
        Run: [source.runId, 'text'],
        'First leaf': [period.from < period.to ? period.from : null, 'number'],
        'Last leaf': [period.from < period.to ? period.to - 1 : null, 'number'],
        'Leaves of the log at the signed checkpoint': [source.treeSize, 'number'],
        'Newest entry below the checkpoint': [timeText(period.asOfMs), 'time'],
        Installation: [source.installation === 'plane' ? 'data plane' : 'service', 'text'],
        'Cosignatures by witnesses': [seal.witnesses, 'number'],
      }),
    ],
  };
  return { checks, figures: figures(checks), sections: [...sections, coverage], tables };
}

/** What the main table says of its rows; the other tables say it for themselves. */
function isComplete([main]: readonly ReportTable[]): JudgedCheck[] {
  if (main === undefined) return [];
  const { completeness } = main;
  const { status, detail } = completeness;
  // an answer of the log is one thing, which confirms or refutes the table
  const failed = isRefuted(completeness) ? 1 : 0;
  const examined = status === 'proven' ? 1 : failed;
  return [judged(tableCheck(main.title), { examined, failed, detail, none: detail })];
}

/** A period that ends after the newest entry can get more entries: its zeros are not final. */
function isOver({ endMs, asOfMs }: Period): JudgedCheck[] {
  if (endMs <= asOfMs) return [];
  const detail = `The newest entry of the log is of ${timeText(asOfMs) ?? 'no known time'}. What is recorded after it and in the period is not in this report.`;
  return [unanswered(periodOver, detail)];
}

/** A list of facts from `label: [value, kind]`. */
export const factsOf = (
  named: Readonly<Record<string, readonly [value: ReportCell, kind: ReportFigure['kind']]>>,
): FactBlock => ({
  facts: Object.entries(named).map(([label, [value, kind]]) => ({ label, value, kind })),
});

/** Bars of counts, the largest first; at most `most` of them. */
export function barsOf(
  title: string,
  unit: string,
  counts: readonly (readonly [label: string, n: number])[],
  most = 12,
): ReportBlock {
  const shown = counts.slice(0, most);
  const more = counts.length - shown.length;
  const said = shown.map(([label, n]) => `${label}: ${n}`).join(', ');
  const rest = more === 0 ? '' : ` ${more} more are left out.`;
  return {
    chart: {
      kind: 'bars',
      title,
      text: shown.length === 0 ? `No ${unit}.` : `${said}.${rest}`,
      labels: shown.map(([label]) => label),
      series: [{ name: unit, values: shown.map(([, n]) => n) }],
    },
  };
}
