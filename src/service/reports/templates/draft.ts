/**
 * A report while it is built: its checks, figures, sections, tables and attachments, and the parts that each report has:
 * what it covers, and whether the log that it comes from is whole. Proven by `test/service/reports/templates/`.
 */
import type {
  ReportBlock,
  ReportCell,
  ReportFigure,
  ReportSection,
  ReportTable,
} from '../../../core/reports/model.ts';
import { checks as checkNames, periodOver, tableCheck, type CheckId } from '../checks/names.ts';
import { sealOf } from './seal.ts';
import { coverText, periodOf, timeText, type Period } from './period.ts';
import type { DraftedReport, ReportSource } from './source.ts';
import { Evidence, isRefuted } from './shown.ts';
import { judged, renamed, settled, unanswered, type Examined, type JudgedCheck } from '../checks/verdict.ts';

type Kind = ReportFigure['kind'];
type Words = Readonly<Record<JudgedCheck['status'], string>>;
type FactBlock = Extract<ReportBlock, { readonly facts: unknown }>;

export class Draft {
  readonly source: ReportSource;
  readonly period: Period;
  readonly evidence: Evidence;
  readonly #checks: JudgedCheck[] = [];
  readonly #figures: ReportFigure[] = [];
  /** Figures that say what a check says, by name. */
  readonly #verdicts = new Map<string, { readonly check: string; readonly words: Words }>();
  readonly #sections: ReportSection[] = [];
  readonly #tables: ReportTable[] = [];

  private constructor(source: ReportSource, period: Period) {
    this.source = source;
    this.period = period;
    this.evidence = new Evidence(source, period);
  }

  static async of(source: ReportSource): Promise<Draft> {
    return new Draft(source, await periodOf(source));
  }

  figure(name: string, label: string, value: ReportCell, kind: Kind = 'number'): void {
    this.#figures.push({ name, label, value, kind });
  }

  /** A figure that says no more than its check, in a word for each status. */
  verdictFigure(name: string, label: string, { id, words }: { id: CheckId; words: Words }): void {
    this.#verdicts.set(name, { check: checkNames[id], words });
    this.figure(name, label, null, 'status');
  }

  /** A check of the built-in templates. `checks/verdict.ts` decides its status. */
  judge(id: CheckId, of: Examined): void {
    this.#checks.push(judged(checkNames[id], of));
  }

  /** A check that another template judged. */
  repeat(check: JudgedCheck, name: string): void {
    this.#checks.push(renamed(check, name));
  }

  section(title: string, ...blocks: readonly ReportBlock[]): void {
    this.#sections.push({ title, blocks });
  }

  table(table: ReportTable): void {
    this.#tables.push(table);
  }

  /** Adds the common parts. `choices`: what the report selects and leaves out, in words. */
  async built(choices: readonly string[]): Promise<DraftedReport> {
    const own = { ...this.#contents(), choices };
    await this.#coverage(choices);
    return { contents: this.#contents(), attachments: this.evidence.attachments, own };
  }

  #contents() {
    const checks = settled(this.#checks);
    return {
      checks,
      figures: this.#figures.map((figure) => {
        const verdict = this.#verdicts.get(figure.name);
        if (verdict === undefined) return figure;
        const status = checks.find(({ name }) => name === verdict.check)?.status ?? 'not_shown';
        return { ...figure, value: verdict.words[status] };
      }),
      sections: [...this.#sections],
      tables: [...this.#tables],
    };
  }

  async #coverage(choices: readonly string[]): Promise<void> {
    const { source, period } = this;
    const seal = await sealOf(source);
    this.#checks.push(...seal.checks, ...isOver(period), ...this.#completeness());
    const facts = factsOf({
      'Start of the period': [timeText(source.startMs), 'time'],
      'End of the period, included': [timeText(source.endMs), 'time'],
      Run: [source.runId, 'text'],
      'First leaf': [period.from < period.to ? period.from : null, 'number'],
      'Last leaf': [period.from < period.to ? period.to - 1 : null, 'number'],
      'Leaves of the log at the signed checkpoint': [source.treeSize, 'number'],
      'Newest entry below the checkpoint': [timeText(period.asOfMs), 'time'],
      Installation: [source.installation === 'plane' ? 'data plane' : 'service', 'text'],
      'Cosignatures by witnesses': [seal.witnesses, 'number'],
    });
    this.section(
      'What this report covers',
      { text: coverText(period) },
      {
        text: 'The period selects entries by the time at which the log recorded them. Times that clients state are shown, and select nothing.',
      },
      ...choices.map((text) => ({ text })),
      facts,
    );
  }

  /** What the main table says of its rows; the other tables say it for themselves. */
  #completeness(): JudgedCheck[] {
    const [main] = this.#tables;
    if (main === undefined) return [];
    const { completeness } = main;
    const { status, detail } = completeness;
    // an answer of the log is one thing, which confirms or refutes the table
    const failed = isRefuted(completeness) ? 1 : 0;
    const examined = status === 'proven' ? 1 : failed;
    return [judged(tableCheck(main.title), { examined, failed, detail, none: detail })];
  }
}

/** A period that ends after the newest entry can get more entries: its zeros are not final. */
function isOver({ endMs, asOfMs }: Period): JudgedCheck[] {
  if (endMs <= asOfMs) return [];
  const detail = `The newest entry of the log is of ${timeText(asOfMs) ?? 'no known time'}. What is recorded after it and in the period is not in this report.`;
  return [unanswered(periodOver, detail)];
}

/** A list of facts from `label: [value, kind]`. */
export const factsOf = (
  named: Readonly<Record<string, readonly [value: ReportCell, kind: Kind]>>,
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
