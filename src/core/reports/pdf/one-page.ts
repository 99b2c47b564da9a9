/**
 * The executive summary: everything on one page of A4 or Letter. Details of checks, the text of the chart and the whole
 * table are in the attached data. Proven by `test/service/reports/templates/one-page.test.ts`.
 */
import type { ReportTemplateId } from '../../../contract/report-words.ts';
import type { ReportBlock, ReportTable } from '../model.ts';
import { column, setFigures } from './body.ts';
import { chartFrame, setPlot } from './chart.ts';
import { setMasthead, setQr } from './cover.ts';
import type { Flow } from './flow.ts';
import { checkColor, checkWords, printedOf, type Subject } from './frame.ts';
import { type Cell, setTable } from './table.ts';

/** The template that is set on one page. */
export const onePage: ReportTemplateId = 'executive-summary';

const masthead = { box: [140, 32], lines: 1 } as const;
const top = 32;
const qrSide = 52;
/** The end of the page, which belongs to the data hash. */
const reserved = qrSide + 12;
const mostPlot = 110;
/** A lower plot shows nothing. */
const leastPlot = 30;

export function setOnePage(flow: Flow, subject: Subject): void {
  const { report } = subject;
  const blocks = report.sections.flatMap((section) => section.blocks);
  flow.newPage();
  flow.y = top;
  flow.section(() => {
    setMasthead(flow, subject, masthead);
    flow.y += 10;
    titles(flow, subject);
    for (const text of report.sections.slice(0, 1).flatMap(textsOf))
      flow.text(text, flow.style('bold', 10), { after: 8, maxLines: 3 });
    setFigures(flow, subject, 4);
    for (const table of report.tables) attention(flow, subject, table);
    checks(flow, subject);
    for (const block of blocks) if ('chart' in block) chart(flow, block);
    dataHash(flow, subject);
  });
}

const textsOf = ({ blocks }: Subject['report']['sections'][number]): string[] =>
  blocks.flatMap((block) => ('text' in block ? [block.text] : []));

function titles(flow: Flow, { report }: Subject): void {
  const { project, parameters, log, timezone } = report;
  const { format } = flow;
  const size = report.title.length > 60 ? 14 : 20;
  flow.text(report.title, flow.style('bold', size, flow.colors.heading), {
    tag: 'H1',
    leading: 1.2,
    after: 3,
    maxLines: 2,
  });
  const period = `${format.time(parameters.startTime)} to ${format.time(parameters.endTime)} (${timezone})`;
  flow.text(period, flow.style('regular', 10, flow.colors.muted), { after: 2, maxLines: 1 });
  const name = project.name === null ? project.projectId : `${project.name} (${project.projectId})`;
  const made = `Project ${name}. Log ${log.origin}, ${format.count(log.treeSize)} leaves. Created ${format.time(report.generatedAt)}.`;
  flow.text(made, flow.style('regular', 8, flow.colors.muted), { after: 8, maxLines: 2 });
}

/** The table without its scope; exceptions in color. */
function attention(flow: Flow, subject: Subject, table: ReportTable): void {
  const { exceptions, others } = printedOf(subject, table);
  const cellOf = (at: number, index: number): Cell => {
    const kind = table.columns[index]?.kind ?? 'text';
    const text = flow.format.cell(table.rows[at]?.[index] ?? null, kind);
    return kind === 'status' && at < table.exceptions ? { text, color: flow.colors.fail } : { text };
  };
  setTable(
    flow,
    table.columns.map(({ title, kind }) =>
      column(title, {
        align: kind === 'number' ? 'right' : 'left',
        face: kind === 'status' ? 'bold' : 'regular',
        isFirm: kind === 'status',
      }),
    ),
    [...exceptions, ...others].map((at) => table.columns.map((_, index) => cellOf(at, index))),
  );
}

const wordWidth = 66;
const checkHeight = 11.6;

/** Each check in one line; why it ended so is in the attached data. */
function checks(flow: Flow, { report }: Subject): void {
  const name = flow.style('regular', 8.5);
  for (const check of report.checks) {
    flow.ensure(checkHeight);
    const { y } = flow;
    const word = flow.style('bold', 8.5, checkColor(check.status, flow.colors));
    const [line = ''] = flow.lines(`${check.name}. ${check.detail}`, name, flow.width - wordWidth - 10, 1);
    flow.tagged('P', () => {
      flow.line(checkWords[check.status], flow.left, y, word);
      flow.line(line, flow.left + wordWidth, y, name);
    });
    flow.y += checkHeight;
  }
  flow.y += 5;
}

/** As high as the rest of the page lets it be. */
function chart(flow: Flow, { chart: shown }: Extract<ReportBlock, { readonly chart: unknown }>): void {
  const room = flow.bottom - reserved - flow.y - chartFrame;
  if (room >= leastPlot) setPlot(flow, shown, Math.min(mostPlot, room));
}

function dataHash(flow: Flow, { hash }: Subject): void {
  flow.ensure(reserved);
  const y = flow.bottom - qrSide;
  const x = flow.left + qrSide + 14;
  flow.rule(y - 8);
  setQr(flow, hash, { top: y, side: qrSide });
  const body = flow.style('regular', 8, flow.colors.muted);
  const said =
    'Data hash: SHA-256 of the attached report.json, which also says why each check ended so. The log signed it: see the attached report.dsse.json. “gov report verify FILE” checks this file offline; the page “Verify a report” of our documentation does it with pdfdetach, sha256sum and openssl.';
  flow.tagged('P', () => {
    flow.line(hash, x, y, flow.style('mono', 6.8));
    flow
      .lines(said, body, flow.width - qrSide - 14, 4)
      .forEach((line, at) => flow.line(line, x, y + 12 + at * 10.4, body));
  });
}
