/** Contents, summary and sections of a report. Figures stand before tables, exceptions before samples. */
import type { ReportBlock, ReportTable } from '../model.ts';
import { maxPrintedRows } from '../printed-rows.ts';
import { setChart } from './chart.ts';
import { type Fact, setFacts } from './cover.ts';
import type { Flow } from './flow.ts';
import { checkColor, checkWords, printedOf, statusColor, type Subject } from './frame.ts';
import { type Cell, type Column, isWide, setTable } from './table.ts';

/** Reserves the pages of the contents. Returns what fills them, once every page is set. */
export function reserveContents(flow: Flow, lines: number): () => void {
  flow.newPage();
  const first = flow.page;
  const fill = flow.laterSection();
  const lineHeight = 17;
  const onFirst = Math.floor((flow.bottom - flow.y - 44) / lineHeight);
  const onOthers = Math.floor((flow.bottom - flow.y) / lineHeight);
  const pages = 1 + Math.max(0, Math.ceil((lines - onFirst) / onOthers));
  for (let page = 1; page < pages; page += 1) flow.newPage();
  return () => {
    const { y } = flow;
    flow.pdf.switchToPage(first - 1);
    flow.y = 60;
    fill(() => contentsLines(flow, { first, onFirst, onOthers, lineHeight }));
    flow.y = y;
  };
}

interface ContentsPages {
  readonly first: number;
  readonly onFirst: number;
  readonly onOthers: number;
  readonly lineHeight: number;
}

function contentsLines(flow: Flow, { first, onFirst, onOthers, lineHeight }: ContentsPages): void {
  flow.text('Contents', flow.style('bold', 19, flow.colors.heading), { tag: 'H1', leading: 1.25, after: 16 });
  flow.within('TOC', () => {
    flow.entries.forEach((entry, at) => {
      if (at >= onFirst && (at - onFirst) % onOthers === 0) {
        flow.pdf.switchToPage(first + (at - onFirst) / onOthers);
        flow.y = 60;
      }
      const isMain = entry.level === 1;
      const style = flow.style(isMain ? 'bold' : 'regular', isMain ? 10.5 : 9.5);
      const x = flow.left + (isMain ? 0 : 16);
      const right = flow.left + flow.width;
      const number = String(entry.page);
      const [title = ''] = flow.type.wrap(entry.title, style, flow.width - 60);
      const dotsFrom = x + flow.type.width(title, style) + 6;
      const dotsTo = right - flow.type.width(number, style) - 6;
      flow.artifact(() => {
        for (let dot = Math.ceil(dotsFrom / 4) * 4; dot < dotsTo; dot += 4) {
          flow.pdf.rect(dot, flow.y + style.size, 0.7, 0.7);
        }
        flow.pdf.fill(flow.colors.muted);
      });
      flow.within('TOCI', () => {
        flow.link(entry, { x, y: flow.y, width: right - x, height: lineHeight }, () => {
          flow.line(title, x, flow.y, style);
          flow.lineTo(number, right, flow.y, style);
        });
      });
      flow.y += lineHeight;
    });
  });
}

/** One page that a director reads in a minute. */
export function setSummary(flow: Flow, subject: Subject): void {
  const { report } = subject;
  flow.newPage();
  flow.section(() => {
    flow.heading(1, 'Summary');
    checkLines(flow, subject);
    // no built-in report has so many
    setFigures(flow, subject, report.figures.length > manyFigures ? 4 : 3);
    coverage(flow, subject);
    const failed = report.checks.filter(({ status }) => status === 'fail').length;
    const open = report.checks.filter(({ status }) => status === 'not_shown').length;
    const passed = report.checks.length - failed - open;
    if (report.checks.length === 0) return;
    // the summary of a custom template may be longer than a page
    if (report.template !== undefined) flow.ensure(40);
    flow.text(
      `${report.checks.length} checks: ${passed} passed, ${failed} failed, ${open} not shown. “Not shown” means that the attached evidence neither confirms nor refutes the check.`,
      flow.style('regular', 9, flow.colors.muted),
    );
  });
}

const manyFigures = 12;

function checkLines(flow: Flow, { report }: Subject): void {
  if (report.checks.length === 0) return;
  setTable(
    flow,
    [column('Check', { face: 'bold' }), column('Status', { isFirm: true, face: 'bold' }), column('Why')],
    report.checks.map(({ name, status, detail }) => [
      { text: name },
      { text: checkWords[status], color: checkColor(status, flow.colors) },
      { text: detail },
    ]),
  );
  flow.y += 4;
}

export const column = (title: string, more: Partial<Column> = {}): Column => ({
  title,
  align: 'left',
  face: 'regular',
  isFirm: false,
  ...more,
});

/** Large figures, some in a row. */
export function setFigures(flow: Flow, { report }: Subject, columns: number): void {
  const gap = 12;
  const width = (flow.width - gap * (columns - 1)) / columns;
  // an id and each label fit into a fourth of the page
  const [least, labelLines] = report.template === undefined ? [10.5, 2] : [8.5, 3];
  const label = flow.style('regular', 8.5, flow.colors.muted);
  for (let from = 0; from < report.figures.length; from += columns) {
    const row = report.figures.slice(from, from + columns).map((figure) => ({
      figure,
      labels: flow.lines(figure.label, label, width - 20, labelLines),
    }));
    const labelHeight = Math.max(...row.map(({ labels }) => labels.length)) * 11;
    const height = 41 + labelHeight;
    flow.ensure(height + 10);
    row.forEach(({ figure, labels }, at) => {
      const x = flow.left + at * (width + gap);
      const { y } = flow;
      flow.artifact(() => flow.pdf.rect(x, y, width, height).fill(flow.colors.panel));
      const text = flow.format.cell(figure.value, figure.kind);
      const color =
        figure.kind === 'status' && typeof figure.value === 'string'
          ? statusColor(figure.value, flow.colors)
          : undefined;
      const shown = flow.type.printable(text, 'bold').replaceAll('\n', ' ');
      let size = 17;
      while (size > least && flow.type.width(shown, { face: 'bold', size }) > width - 20) size -= 0.5;
      const value = flow.style('bold', size, color ?? flow.colors.text);
      flow.tagged('P', () => {
        labels.forEach((line, index) => flow.line(line, x + 10, y + 8 + index * 11, label));
        const values = flow.type.wrap(shown, value, width - 20).slice(0, 2);
        const top = y + labelHeight + (values.length > 1 ? 9 : 12 + (17 - size) / 2);
        values.forEach((line, index) => flow.line(line, x + 10, top + index * size * 1.25, value));
      });
    });
    flow.y += height + 10;
  }
  flow.y += 6;
}

/** What the report covers and what it leaves out: it never picks in silence. */
function coverage(flow: Flow, subject: Subject): void {
  const { report } = subject;
  if (report.tables.length === 0) return;
  const number = { align: 'right', isFirm: true } as const;
  setTable(
    flow,
    [
      column('What this report covers', { face: 'bold' }),
      column('Population', number),
      column('Attached', number),
      column('Printed', number),
      column('Exceptions', number),
      column('Complete', { isFirm: true }),
      column('Left out'),
    ],
    report.tables.map((table) => {
      const { exceptions, others } = printedOf(subject, table);
      const isProven = table.completeness.status === 'proven';
      const count = (value: number): Cell => ({ text: flow.format.count(value) });
      return [
        { text: table.title },
        count(table.population),
        count(table.rows.length),
        count(exceptions.length + others.length),
        count(table.exceptions),
        { text: isProven ? 'By own log' : 'Not shown', color: flow.colors.unknown },
        { text: table.omitted ?? 'nothing' },
      ];
    }),
  );
}

export function setSections(flow: Flow, subject: Subject): void {
  subject.report.sections.forEach(({ title, blocks }, at) => {
    flow.section(() => {
      const turned = turnedBlocks(subject, blocks);
      if (turned === 0 && at === 0) flow.newPage();
      const begin = (): void => {
        flow.heading(1, `${at + 1}  ${title}`, { room: 150 });
        for (const block of blocks.slice(0, turned)) setUnturned(flow, subject, block);
      };
      if (turned === 0) begin();
      else flow.landscape(begin);
      for (const block of blocks.slice(turned)) setBlock(flow, subject, block);
    });
  });
}

/** How many blocks begin a section on turned paper: a few lines and the wide table after them; 0: none. */
function turnedBlocks(subject: Subject, blocks: readonly ReportBlock[]): number {
  const at = blocks.findIndex((block) => !('text' in block) && !('facts' in block));
  const block = blocks[at];
  return block === undefined || wideTable(subject, block) === null ? 0 : at + 1;
}

/** The table of a block that needs turned paper, or null. */
function wideTable({ report }: Subject, block: ReportBlock): ReportTable | null {
  if (!('table' in block)) return null;
  const table = report.tables.find(({ id }) => id === block.table);
  return table !== undefined && table.rows.length > 0 && isWide(table.columns.length + 1) ? table : null;
}

function setBlock(flow: Flow, subject: Subject, block: ReportBlock): void {
  if (wideTable(subject, block) === null) setUnturned(flow, subject, block);
  else flow.landscape(() => setUnturned(flow, subject, block));
}

function setUnturned(flow: Flow, subject: Subject, block: ReportBlock): void {
  if ('text' in block) {
    for (const paragraph of block.text.split(/\n{2,}/)) {
      flow.text(paragraph, flow.style('regular', 10), { after: 8, leading: 1.5 });
    }
  } else if ('facts' in block) {
    setFacts(
      flow,
      block.facts.map(({ label, value, kind }): Fact => ({
        label,
        value: flow.format.cell(value, kind),
        face: kind === 'hash' ? 'mono' : 'regular',
        color: kind === 'status' && typeof value === 'string' ? statusColor(value, flow.colors) : undefined,
      })),
    );
    flow.y += 12;
  } else if ('chart' in block) setChart(flow, block.chart);
  else {
    const table = subject.report.tables.find(({ id }) => id === block.table);
    if (table === undefined)
      throw new Error(`expected a table of the report, got ${JSON.stringify(block.table)}`);
    setReportTable(flow, subject, table);
  }
}

function setReportTable(flow: Flow, subject: Subject, table: ReportTable): void {
  const { exceptions, others, isSample } = printedOf(subject, table);
  const { format, colors } = flow;
  const muted = flow.style('regular', 9, colors.muted);
  flow.heading(2, table.title, { room: 110 });
  flow.text(table.scope, muted, { after: 4 });
  const isProven = table.completeness.status === 'proven';
  const { population } = table;
  const rows = population === 1 ? '1 row matches' : `${format.count(population)} rows match`;
  const more = table.exceptions > 0 ? `, ${format.count(table.exceptions)} of them exceptions` : '';
  const shown = population === 1 && table.exceptions === 1 ? ', an exception' : more;
  flow.text(
    `${rows}${shown}. The whole table is attached as ${table.id}.csv${table.omitted === null ? '' : `, without ${table.omitted}`}.`,
    muted,
    { after: 4 },
  );
  flow.text(
    isProven
      ? `Completeness: BY THE OPERATOR’S LOG – ${table.completeness.detail}`
      : `Completeness: NOT SHOWN – ${table.completeness.detail}`,
    flow.style('bold', 9, colors.unknown),
    { after: 8 },
  );
  if (table.rows.length === 0) {
    flow.text('No row matches. The table is empty.', flow.style('bold', 10), { after: 10 });
    return;
  }
  if (table.exceptions > 0) {
    const cut =
      exceptions.length < table.exceptions
        ? ` Only the first ${format.count(exceptions.length)} are printed, because a report prints at most ${format.count(maxPrintedRows)} rows.`
        : '';
    subheading(flow, `Exceptions: ${format.count(table.exceptions)}`, cut);
    if (exceptions.length > 0) rowsOf(flow, table, exceptions);
  }
  const rest = table.rows.length - Math.min(table.exceptions, table.rows.length);
  if (rest === 0) return;
  const isDrawn = isSample && others.length > 0;
  const none = `None of them is printed, because exceptions take the ${format.count(maxPrintedRows)} rows that a report prints. The attached file has them.`;
  const drawn = `A sample of ${format.count(others.length)} of ${format.count(rest)}. Its seed is the data hash; “How to verify this without us” shows how to draw it again.`;
  if (table.exceptions > 0 || isSample) {
    const title = isDrawn ? `Sample: ${format.count(others.length)}` : `Others: ${format.count(rest)}`;
    subheading(flow, title, isSample ? (isDrawn ? drawn : none) : '');
  }
  if (others.length > 0) rowsOf(flow, table, others);
}

function subheading(flow: Flow, title: string, said: string): void {
  flow.ensure(80);
  flow.text(title, flow.style('bold', 10), { tag: 'H3', after: 2 });
  if (said !== '') flow.text(said.trim(), flow.style('regular', 9, flow.colors.muted), { after: 4 });
}

/** Rows with their number in the attached CSV. */
function rowsOf(flow: Flow, table: ReportTable, positions: readonly number[]): void {
  const columns: Column[] = table.columns.map(({ title, kind }) => ({
    title,
    align: kind === 'number' || kind === 'duration' ? 'right' : 'left',
    face: kind === 'hash' ? 'mono' : kind === 'status' ? 'bold' : 'regular',
    isFirm: kind === 'status',
  }));
  setTable(
    flow,
    [column('Row', { align: 'right', isFirm: true }), ...columns],
    positions.map((at) => [
      { text: String(at + 1), color: flow.colors.muted },
      ...table.columns.map(({ kind }, index): Cell => {
        const value = table.rows[at]?.[index] ?? null;
        const text = flow.format.cell(value, kind);
        const color =
          kind === 'status' && typeof value === 'string' ? statusColor(value, flow.colors) : undefined;
        return color === undefined ? { text } : { text, color };
      }),
    ]),
  );
}
