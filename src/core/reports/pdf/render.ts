/**
 * A report as PDF: tagged, built to PDF/A-3 (ISO 19005-3), fonts embedded, with its data attached. Pure: same input, same
 * bytes on the same versions of this renderer, of ICU and of zlib. All text comes from the report and is escaped by the
 * library; no script, no form, and no link but those of the contents (contract L16).
 * Proven by `test/core/reports/pdf/render.test.ts`.
 */
import { hash as digest } from 'node:crypto';
import type { ReportPaper } from '../../../contract/report-parts.ts';
import { dataFile, presentationFile, signatureFile, tableFile, toJson, toTableCsv } from '../artifacts.ts';
import { formatter } from '../format.ts';
import { choosePrinted } from '../printed-rows.ts';
import { answerEnd, proofEnd, unitsEnd, type ReportAttachment, type ReportFonts } from '../inputs.ts';
import { presentationBytes, producer } from '../presentation.ts';
import type { Report, ReportBranding } from '../model.ts';
import { visibleLine } from '../../visible.ts';
import { reserveContents, setSections, setSummary } from './body.ts';
import { setFeet, setReview, setVerification } from './closing.ts';
import { colorsOf } from './colors.ts';
import { setCover } from './cover.ts';
import { Flow } from './flow.ts';
import type { AttachedFile, Subject } from './frame.ts';
import { loadLibraries, type Pdf } from './library.ts';
import { onePage, setOnePage } from './one-page.ts';
import { Typesetter } from './typesetter.ts';

export interface PdfOptions {
  readonly paper: ReportPaper;
  readonly fonts: ReportFonts;
  /** The signature of the log (`../signature.ts`). Null only for a verifier, and a report of an earlier version. */
  readonly signature: Uint8Array | null;
  /** For a verifier: the renderer that the file names. Default: this one. */
  readonly producer?: string;
}

/**
 * Returns the PDF. `attachments`: exactly the files that `report.attachments` names; throws where one is missing or has
 * another hash. Cost: about 1 ms a printed row, at most 1,000 rows, and deflating the attachments.
 */
export async function toPdf(
  report: Report,
  branding: ReportBranding,
  attachments: readonly ReportAttachment[],
  options: PdfOptions,
): Promise<Uint8Array> {
  const { paper, fonts, signature } = options;
  const libraries = await loadLibraries();
  const data = toJson(report);
  const hash = `sha256:${sha256Hex(data)}`;
  const subject: Subject = {
    report,
    branding,
    hash,
    files: [
      file(dataFile, data, { description: 'the data of this report (RFC 8785)', relationship: 'Source' }),
      ...report.tables.map((table) =>
        file(tableFile(table), toTableCsv(report, table, hash), {
          description: `the table “${table.title}”`,
          relationship: 'Data',
        }),
      ),
      ...given(report, attachments),
      file(presentationFile, presentationBytes({ paper, branding, fonts }), {
        description: 'paper, colours, logo and fonts of these pages',
        relationship: 'Supplement',
      }),
      ...(signature === null ? [] : [signatureAttached(signature)]),
    ],
    printed: choosePrinted(report, hash),
  };
  const pdf = libraries.createPdf(documentOptions(subject, options));
  describeDocument(pdf);
  const others = fonts.others.map((font, at) => {
    pdf.registerFont(`other${at}`, font.bytes);
    return `other${at}`;
  });
  pdf.registerFont('regular', fonts.regular.bytes);
  pdf.registerFont('bold', fonts.bold.bytes);
  pdf.registerFont('mono', fonts.mono.bytes);
  const type = new Typesetter(pdf, others);
  // the document is in English, and dates that its fonts lack or that run the other way are too
  const local = formatter(report.locale, report.timezone);
  const format = type.canSet(local.sample) ? local : formatter('en-GB', report.timezone);
  setDocument(
    new Flow({ pdf, libraries, type, format, colors: colorsOf(branding), size: sizes[paper] }),
    subject,
  );
  for (const each of subject.files) attach(pdf, each, report);
  pdf.end();
  const chunks: Uint8Array[] = [];
  for await (const chunk of pdf) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function setDocument(flow: Flow, subject: Subject): void {
  const { report } = subject;
  if (report.reportTemplateId === onePage) setOnePage(flow, subject);
  else setBook(flow, subject);
  setFeet(flow, subject);
}

/** Cover, contents, summary, sections, how to verify, and room for signatures. */
function setBook(flow: Flow, subject: Subject): void {
  const { report } = subject;
  setCover(flow, subject);
  const tables = report.sections.flatMap(({ blocks }) => blocks).filter((block) => 'table' in block).length;
  const fillContents = reserveContents(flow, report.sections.length + tables + 3);
  setSummary(flow, subject);
  setSections(flow, subject);
  setVerification(flow, subject);
  setReview(flow);
  for (const entry of flow.entries.filter(({ level }) => level === 1)) {
    flow.pdf.outline.addItem(entry.title, { pageNumber: entry.page - 1 });
  }
  fillContents();
}

const sizes: Readonly<Record<ReportPaper, string>> = { A4: 'A4', Letter: 'LETTER' };

const sha256Hex = (bytes: Uint8Array): string => digest('sha256', bytes, 'hex');

const mediaTypes: readonly (readonly [end: string, mediaType: string])[] = [
  ['.json', 'application/json'],
  ['.csv', 'text/csv'],
];

const file = (
  name: string,
  bytes: Uint8Array,
  rest: Pick<AttachedFile, 'description' | 'relationship'>,
): AttachedFile => ({
  name,
  bytes,
  sha256: sha256Hex(bytes),
  mediaType: mediaTypes.find(([end]) => name.endsWith(end))?.[1] ?? 'application/octet-stream',
  ...rest,
});

const signatureAttached = (bytes: Uint8Array): AttachedFile =>
  file(signatureFile, bytes, {
    description: 'the log’s signature of the data and of how it is printed (DSSE)',
    relationship: 'Supplement',
  });

const descriptions: readonly (readonly [end: string, description: string])[] = [
  [proofEnd, 'a proof bundle'],
  [answerEnd, 'the log’s answer on how many rows there are'],
  [unitsEnd, 'leaves of the metering log, from which the units of each day follow'],
];

/** Safe to save on any system. */
const fileName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;

/** The attachments that the report names, in the order of their names. */
function given(report: Report, attachments: readonly ReportAttachment[]): AttachedFile[] {
  const own = new Set([dataFile, presentationFile, signatureFile, ...report.tables.map(tableFile)]);
  for (const { name } of attachments) {
    if (!Object.hasOwn(report.attachments, name) || own.has(name) || !fileName.test(name))
      throw new Error(`expected a file that the report names as attached, got ${JSON.stringify(name)}`);
  }
  return Object.entries(report.attachments)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, sha256]) => {
      const found = attachments.find((each) => each.name === name);
      const description = descriptions.find(([end]) => name.endsWith(end))?.[1] ?? 'evidence';
      const attached = file(name, found?.bytes ?? new Uint8Array(), {
        description,
        relationship: 'Supplement',
      });
      if (found === undefined || attached.sha256 !== sha256)
        throw new Error(
          `attachment ${JSON.stringify(name)}: expected SHA-256 ${sha256}, got ${found === undefined ? 'no file' : attached.sha256}`,
        );
      return attached;
    });
}

const documentOptions = (
  { report, hash, branding }: Subject,
  { producer: named = producer() }: PdfOptions,
): object => ({
  pdfVersion: '1.7',
  subset: 'PDF/A-3a',
  tagged: true,
  displayTitle: true,
  lang: 'en',
  bufferPages: true,
  autoFirstPage: false,
  font: null,
  // windows show the title; controls are not XML 1.0, and others are hidden
  info: {
    Title: visibleLine(report.title),
    Author: visibleLine(branding.companyName ?? report.organization ?? report.project.projectId),
    Subject: `Data hash ${hash}`,
    Creator: 'gov',
    Producer: named,
    CreationDate: new Date(report.generatedAt),
  },
});

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** pdfkit writes the information into XMP without escaping, so it gets an escaped copy for that moment. */
function describeDocument(pdf: Pdf): void {
  const write = pdf._addInfo.bind(pdf);
  const { info } = pdf;
  pdf._addInfo = () => {
    const escaped = Object.entries(info).map(([name, value]) => [
      name,
      typeof value === 'string' ? value.replace(/[&<>]/g, (character) => escapes[character] ?? '') : value,
    ]);
    const plain = { ...info };
    Object.assign(info, Object.fromEntries(escaped));
    write();
    Object.assign(info, plain);
  };
}

function attach(
  pdf: Pdf,
  { name, bytes, mediaType, description, relationship }: AttachedFile,
  report: Report,
): void {
  const date = new Date(report.generatedAt);
  pdf.file(bytes, {
    name,
    type: mediaType,
    description,
    relationship,
    creationDate: date,
    modifiedDate: date,
  });
}
