/** The first page of a report: organization, subject, period, the result of each check, and the data hash as text and as a QR code. */
import type { ReportCheck } from '../model.ts';
import type { Flow } from './flow.ts';
import { checkColor, checkWords, type Subject } from './frame.ts';

const masthead = { box: [190, 58], lines: 2 } as const;
const qrSize = 84;
/** The end of the first page, which belongs to the data hash. */
const reserved = qrSize + 22;

export function setCover(flow: Flow, subject: Subject): void {
  flow.newPage();
  flow.section(() => {
    setMasthead(flow, subject, masthead);
    flow.y += 34;
    titles(flow, subject);
    facts(flow, subject);
    dataHashBlock(flow, subject);
    checks(flow, subject);
  });
}

/** Logo or company over a rule. */
export function setMasthead(
  flow: Flow,
  { branding, report }: Subject,
  { box, lines }: { readonly box: readonly [width: number, height: number]; readonly lines: number },
): void {
  const { logo } = branding;
  const company = branding.companyName ?? report.organization;
  if (logo !== null) {
    flow.tagged(
      'Figure',
      () => flow.pdf.image(logo.bytes, flow.left, flow.y, { fit: [...box], valign: 'center' }),
      {
        alt: company === null ? 'Logo' : `Logo of ${company}`,
        bbox: [flow.left, flow.y, flow.left + box[0], flow.y + box[1]],
      },
    );
    flow.y += box[1] + box[1] / 4;
  } else if (company !== null) {
    flow.text(company, flow.style('bold', 15, flow.colors.heading), { after: 12, maxLines: lines });
  }
  flow.rule(flow.y, { color: flow.colors.accent, width: 2.2 });
}

function titles(flow: Flow, { report }: Subject): void {
  const size = report.title.length > 90 ? 20 : 27;
  flow.text(report.title, flow.style('bold', size, flow.colors.heading), {
    tag: 'H1',
    leading: 1.22,
    after: 8,
    maxLines: 5,
  });
  const { startTime, endTime } = report.parameters;
  const period = `${flow.format.time(startTime)} to ${flow.format.time(endTime)}`;
  flow.text(period, flow.style('regular', 11.5, flow.colors.muted), { after: 20 });
}

function facts(flow: Flow, { report }: Subject): void {
  const { parameters, project, template } = report;
  const scope = [
    parameters.runId === undefined
      ? null
      : `the run ${parameters.runId}${template === undefined ? '' : ', where a section does not say otherwise'}`,
    parameters.projectIds === undefined ? null : `the projects ${parameters.projectIds.join(', ')}`,
  ].filter((part) => part !== null);
  const rows: (readonly [string, string | null])[] = [
    ['Organization', report.organization],
    ['Project', project.name === null ? project.projectId : `${project.name} (${project.projectId})`],
    ['Scope', scope.length === 0 ? 'everything that the log recorded in the period' : scope.join('; ')],
    ['Log', `${report.log.origin}, ${flow.format.count(report.log.treeSize)} leaves`],
    ['Created', flow.format.time(report.generatedAt)],
    ['Time zone', report.timezone],
    ['Report type', typeOf(report)],
  ];
  setFacts(
    flow,
    rows.flatMap(([label, value]) => (value === null ? [] : [{ label, value }])),
  );
  flow.y += 18;
}

const typeOf = ({ reportTemplateId: id, template }: Subject['report']): string =>
  template === undefined ? id : `${template.name}, version ${template.version} (${id})`;

export interface Fact {
  readonly label: string;
  readonly value: string;
  readonly face?: 'regular' | 'mono';
  readonly color?: string | undefined;
}

/** Two columns of label and value, as a table of two columns. */
export function setFacts(flow: Flow, rows: readonly Fact[]): void {
  if (rows.length === 0) return;
  const label = flow.style('regular', 9, flow.colors.muted);
  const widest = Math.max(
    ...rows.map((row) => flow.type.width(flow.type.printable(row.label, 'regular'), label)),
  );
  const indent = Math.min(190, Math.max(104, widest + 14));
  const height = 13.4;
  flow.within('Table', () => {
    for (const row of rows) {
      const isMono = row.face === 'mono';
      const style = flow.style(
        row.color === undefined ? (row.face ?? 'regular') : 'bold',
        isMono ? 8.2 : 9,
        row.color,
      );
      const lines = flow.lines(row.value, style, flow.width - indent, 8);
      const labels = flow.lines(row.label, label, indent - 10, 3);
      const used = Math.max(lines.length, labels.length) * height;
      flow.ensure(used);
      flow.within('TR', () => {
        const { y } = flow;
        flow.tagged(
          'TH',
          () => labels.forEach((line, at) => flow.line(line, flow.left, y + at * height, label)),
          {
            scope: 'Row',
          },
        );
        flow.tagged('TD', () =>
          lines.forEach((line, at) => flow.line(line, flow.left + indent, y + at * height, style)),
        );
      });
      flow.y += used + 1.5;
    }
  });
}

function checks(flow: Flow, { report }: Subject): void {
  flow.rule(flow.y);
  flow.y += 12;
  if (report.checks.length === 0) {
    flow.text('This report has no checks.', flow.style('regular', 10, flow.colors.muted));
    return;
  }
  const full = report.checks.map((check) => checkLines(flow, check, { isShort: false }));
  const sum = (lines: readonly CheckLines[]): number => lines.reduce((all, { height }) => all + height, 0);
  // where the details do not fit on the first page, they are on the summary alone
  const isShort = flow.y + sum(full) > flow.bottom - reserved;
  const set = isShort ? report.checks.map((check) => checkLines(flow, check, { isShort })) : full;
  for (const lines of set) {
    if (flow.y + lines.height > (flow.page === 1 ? flow.bottom - reserved : flow.bottom)) flow.newPage();
    setCheck(flow, lines);
    flow.y += lines.height;
  }
}

const wordWidth = 128;

interface CheckLines {
  readonly check: ReportCheck;
  readonly name: readonly string[];
  readonly detail: readonly string[];
  readonly size: number;
  readonly height: number;
}

function checkLines(flow: Flow, check: ReportCheck, { isShort }: { readonly isShort: boolean }): CheckLines {
  const width = flow.width - wordWidth;
  const name = flow.lines(check.name, flow.style('bold', 11), width, 2);
  const detail = isShort ? [] : flow.lines(check.detail, flow.style('regular', 9), width, 4);
  const size = isShort ? 14 : check.status === 'not_shown' ? 16 : 19;
  return { check, name, detail, size, height: name.length * 15 + detail.length * 12.6 + (isShort ? 7 : 11) };
}

function setCheck(flow: Flow, { check, name, detail, size }: CheckLines): void {
  const { y } = flow;
  const word = flow.style('bold', size, checkColor(check.status, flow.colors));
  const small = flow.style('regular', 9, flow.colors.muted);
  const x = flow.left + wordWidth;
  flow.tagged('P', () => {
    flow.line(checkWords[check.status], flow.left, y - (size > 14 ? 1 : 2.5), word);
    name.forEach((line, at) => flow.line(line, x, y + at * 15, flow.style('bold', 11)));
    detail.forEach((line, at) => flow.line(line, x, y + name.length * 15 + at * 12.6, small));
  });
}

/** At the foot of the first page, whatever stands above. */
function dataHashBlock(flow: Flow, { hash }: Subject): void {
  const top = flow.bottom - qrSize;
  const x = flow.left + qrSize + 18;
  flow.rule(top - 12);
  setQr(flow, hash, { top, side: qrSize });
  const body = flow.style('regular', 9, flow.colors.muted);
  const said =
    'SHA-256 of the attached report.json. The same hash is in the CSV and JSON of this report, and on every page. “How to verify this without us” shows how to check it.';
  flow.tagged('P', () => {
    flow.line('Data hash', x, top + 4, flow.style('bold', 11));
    const mono = flow.style('mono', 8.2);
    flow.line(hash.slice(0, 39), x, top + 21, mono);
    flow.line(hash.slice(39), x, top + 32, mono);
    flow.lines(said, body, flow.width - qrSize - 18).forEach((line, at) => {
      flow.line(line, x, top + 48 + at * 12.4, body);
    });
  });
}

/** A QR code at the left edge; `side`: its width and height. */
export function setQr(
  flow: Flow,
  hash: string,
  { top, side }: { readonly top: number; readonly side: number },
): void {
  flow.tagged('Figure', () => drawQr(flow, hash, { top, side }), {
    alt: `QR code of the data hash ${hash}`,
    bbox: [flow.left, top, flow.left + side, top + side],
  });
}

function drawQr(
  flow: Flow,
  text: string,
  { top, side }: { readonly top: number; readonly side: number },
): void {
  const { data, size } = flow.libraries.qr.encode(text, { ecc: 'M', border: 0 });
  const module = side / size;
  const { pdf } = flow;
  data.forEach((row, line) => {
    for (let at = 0; at < row.length; at += 1) {
      if (row[at] !== true) continue;
      const from = at;
      while (row[at + 1] === true) at += 1;
      // one rectangle for a run of modules
      pdf.rect(flow.left + from * module, top + line * module, (at + 1 - from) * module, module);
    }
  });
  pdf.fill('#000000');
}
