/** The last pages: how to verify the report without us, what is attached, who reviewed it; and the foot of every page. */
import { dataFile, signatureFile } from '../artifacts.ts';
import type { Flow } from './flow.ts';
import { margin } from './flow.ts';
import type { Subject } from './frame.ts';
import { type Column, setTable } from './table.ts';

export function setVerification(flow: Flow, subject: Subject): void {
  const { report, hash, printed, files } = subject;
  flow.newPage();
  flow.section(() => {
    flow.heading(1, 'How to verify this without us');
    const body = flow.style('regular', 10);
    const says = (text: string): void => flow.text(text, body, { after: 6 });
    says(
      'This file carries its own evidence. The commands below need pdfdetach (poppler), sha256sum (coreutils) and openssl, and no software of ours. The page “Verify a report” of our documentation explains each of them.',
    );
    step(flow, '1', 'Take the attachments out, and compare the data hash with the foot of any page.');
    code(flow, [
      'mkdir files && pdfdetach -saveall -o files report.pdf',
      `sha256sum files/${dataFile}`,
      hash.slice('sha256:'.length),
    ]);
    step(
      flow,
      '2',
      `Compare every other attachment. ${dataFile} names the SHA-256 of the attached evidence; the list below names all.`,
    );
    attachments(flow, subject);
    step(
      flow,
      '3',
      `Check the signed checkpoint of the log with a key from a source that you trust, not from this file. It is the member log.checkpoint of ${dataFile}; long lines are cut here:`,
    );
    code(flow, checkpointLines(report.log.checkpoint));
    if (files.some(({ name }) => name === signatureFile))
      says(
        `With the same key check ${signatureFile} (DSSE): the log signs the hash of ${dataFile}, so nobody can put other figures over its checkpoint.`,
      );
    step(
      flow,
      '4',
      'Check the proofs in the attached *.govproof.json: “Verify without our software” of our documentation does it with sha256sum and openssl. A *.govanswer.json is the log’s answer on how many entries there are.',
    );
    step(
      flow,
      '5',
      'Or let our tool do all of that, offline, and compare the printed pages with the data too:',
    );
    code(flow, ['gov report verify report.pdf --trust FILE']);
    if (printed.some(({ isSample }) => isSample)) drawAgain(flow, hash);
    notPrinted(flow);
  });
}

/** A signature after quantum computers is 3,300 characters long, and there may be many: the whole is in the data. */
function checkpointLines(checkpoint: string): string[] {
  const most = 12;
  const lines = checkpoint
    .trimEnd()
    .split('\n')
    .map((line) => (line.length > 100 ? `${line.slice(0, 96)} …` : line));
  return lines.length <= most ? lines : [...lines.slice(0, most - 1), '…'];
}

function step(flow: Flow, number: string, text: string): void {
  // with the box below it
  flow.ensure(130);
  const style = flow.style('bold', 10, flow.colors.heading);
  const { y } = flow;
  flow.artifact(() => flow.line(number, flow.left, y, style));
  flow.text(text, flow.style('regular', 10), { x: flow.left + 18, after: 5 });
}

function code(flow: Flow, lines: readonly string[]): void {
  const style = flow.style('mono', 7.8);
  const inset = 26;
  const set = lines.flatMap((line) => flow.lines(line, style, flow.width - inset - 10));
  const height = set.length * 11.2 + 9;
  flow.ensure(height + 4);
  const { y } = flow;
  flow.artifact(() => flow.pdf.rect(flow.left + 18, y, flow.width - 18, height).fill(flow.colors.panel));
  flow.tagged('Code', () =>
    set.forEach((line, at) => flow.line(line, flow.left + inset, y + 4 + at * 11.2, style)),
  );
  flow.y += height + 9;
}

function attachments(flow: Flow, { files }: Subject): void {
  const plain: Column = { title: '', align: 'left', face: 'regular', isFirm: false };
  setTable(
    flow,
    [
      { ...plain, title: 'Attached file', face: 'bold' },
      { ...plain, title: 'What it is' },
      { ...plain, title: 'Bytes', align: 'right', isFirm: true },
      { ...plain, title: 'SHA-256', face: 'mono' },
    ],
    files.map(({ name, description, bytes, sha256 }) => [
      { text: name },
      { text: description },
      { text: flow.format.count(bytes.length) },
      { text: sha256 },
    ]),
  );
}

function drawAgain(flow: Flow, hash: string): void {
  step(
    flow,
    '6',
    'Draw the samples again. The rank of row r (from 1) of table t is the SHA-256 of DATAHASH:t:r. Of the rows that are no exceptions, those with the smallest ranks are printed:',
  );
  code(flow, [`printf %s '${hash}:TABLE:ROW' | sha256sum`]);
}

/** Says which characters the fonts lack, once everything else is set. */
function notPrinted(flow: Flow): void {
  const { missing } = flow.type;
  if (missing.size === 0) return;
  const list = [...missing].sort().join(', ');
  flow.ensure(90);
  flow.text('Characters that this document does not print', flow.style('bold', 10), { tag: 'H2', after: 3 });
  flow.text(
    `The fonts of this document lack some characters of the data, or the characters are invisible (scripts: ${list}). In their place it says between ‹ and › what is missing. The attached files contain the text as it was recorded.`,
    flow.style('regular', 10),
    { after: 8 },
  );
}

/** Room for names and signatures. */
export function setReview(flow: Flow): void {
  flow.section(() => {
    const height = 124;
    flow.heading(1, 'Reviewed by', { room: 3 * height + 60 });
    flow.text(
      'A signature says that the signer read this report and compared its data hash. It does not change what the attached evidence proves.',
      flow.style('regular', 10, flow.colors.muted),
      { after: 16 },
    );
    for (const role of ['Prepared by', 'Reviewed by', 'Approved by']) {
      flow.ensure(height);
      signature(flow, role);
      flow.y += height;
    }
  });
}

function signature(flow: Flow, role: string): void {
  const { y } = flow;
  const label = flow.style('regular', 8, flow.colors.muted);
  const half = (flow.width - 24) / 2;
  const fields: readonly (readonly [name: string, x: number, top: number, length: number])[] = [
    ['Name', flow.left, y + 50, half],
    ['Signature', flow.left + half + 24, y + 50, half],
    ['Function', flow.left, y + 92, half],
    ['Place and date', flow.left + half + 24, y + 92, half],
  ];
  flow.tagged('P', () => {
    flow.line(role, flow.left, y, flow.style('bold', 10, flow.colors.heading));
    for (const [name, x, top] of fields) flow.line(name, x, top + 2, label);
  });
  for (const [, x, top, length] of fields) flow.rule(top, { x, length, color: flow.colors.muted });
}

/** Page x of y with the data hash, and the organization's own line. */
export function setFeet(flow: Flow, { hash, branding, report }: Subject): void {
  const { count } = flow.pdf.bufferedPageRange();
  const small = flow.style('regular', 7.2, flow.colors.muted);
  const mono = flow.style('mono', 6.6, flow.colors.muted);
  for (let page = 0; page < count; page += 1) {
    flow.pdf.switchToPage(page);
    // turned pages are wider
    const right = flow.left + flow.width;
    const y = flow.pdf.page.height - margin.bottom + 16;
    const number = `Page ${page + 1} of ${count}`;
    flow.artifact(() => {
      flow.pdf.lineWidth(0.4).moveTo(flow.left, y).lineTo(right, y).stroke(flow.colors.rule);
      flow.line('Data hash', flow.left, y + 5, small);
      flow.line(hash, flow.left + 42, y + 5.4, mono);
      flow.lineTo(number, right, y + 5, small);
      const own = branding.footerText ?? (page === 0 ? '' : report.title);
      flow
        .lines(own, small, flow.width, 2)
        .forEach((line, at) => flow.line(line, flow.left, y + 17 + at * 9, small));
    }, 'Pagination');
  }
}
