/**
 * The verifier of reports: PDF, or its JSON artifact. No network, no store. The file is attacker controlled, and no content
 * of it makes the verifier throw; trust comes from the caller only.
 *
 * The steps: 1 the form of the file; 2 the data hash, and the signature of the log over it (`signature.ts`); 3 every
 * attached file against the data; 4 the signed checkpoint; 5 attached proof bundles, answers of the log, and proofs of
 * units, from which the table is computed again; 6 the pages: rendered again from the attached data, and compared object by
 * object, so that a printed figure that the data does not give is found, and anything that was drawn over it. Pages of
 * another version of the renderer, of ICU or of the fonts may come out otherwise: then the verdict says that they were not
 * compared, and is not “verified”. Proven by `test/core/reports/verify.test.ts` (flips bytes of every attachment and page).
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { sha256Text } from '../hash.ts';
import { openTrustedCheckpoint, type Trust } from '../note/checkpoint.ts';
import { SignedHead } from '../note/heads.ts';
import { signedBoth, signedBy, signedByText, unsigned, type SignatureFacts } from '../note/signed-by.ts';
import { weakestOf, type Completeness, type DerivedLog } from '../proofs/strength.ts';
import type { CheckResult, VerdictCode } from '../proofs/verdict.ts';
import { CheckList, signatureCode } from '../proofs/verdict.ts';
import { settled, type Prerequisites } from '../proofs/rests.ts';
import { dataFile, presentationFile, signatureFile, tableFile, toTableCsv } from './artifacts.ts';
import { verifyAttached, type AttachedFiles, type AttachedAnswer, type AttachedProof } from './attached.ts';
import { readReport } from './read-data.ts';
import { attachedFiles, type PdfFile, PdfFault, readPdf } from './read-pdf.ts';
import { verifyReportSignature } from './signature.ts';
import { templateHash } from './template-hash.ts';
import type { Report } from './model.ts';

/** The checks of a report, in the order of the verification. */
export const reportCheckIds = [
  'format',
  'data_hash',
  'signature',
  'attachments',
  'checkpoint',
  'witnesses',
  'proofs',
  'pages',
] as const;
type ReportCheckId = (typeof reportCheckIds)[number];

/** Data that is not the signed one vouches for no file and no page. */
const rests: Prerequisites<ReportCheckId> = {
  attachments: ['data_hash', 'signature'],
  witnesses: ['checkpoint'],
  proofs: ['checkpoint', 'attachments'],
  pages: ['data_hash', 'signature', 'attachments'],
};

/** Step 6: null as code where the pages are those that the data gives. Never throws, whatever the file contains. */
export type ComparePages = (of: {
  readonly report: Report;
  readonly pdf: PdfFile;
  readonly files: ReadonlyMap<string, Buffer>;
}) => Promise<{ readonly code: VerdictCode | null; readonly detail: string }>;

export interface ReportVerifyOptions {
  readonly trust: Trust | null;
  /** The data hash that the caller has from another source, `sha256:…`; null for none. */
  readonly expectedHash?: string | null;
  /** The signature of a JSON artifact, which a PDF has attached. */
  readonly signature?: Uint8Array | null;
  /** Compares the printed pages with the data (`verify-pages.ts`); or says why nobody does. */
  readonly pages: ComparePages | string;
  /** The index of the log, derived from its records by the caller. */
  readonly derived?: DerivedLog;
  /** Gets the signed heads of the report and of its attached files, where a trusted key signed them. */
  readonly seen?: (heads: readonly SignedHead[]) => void;
}

export interface ReportVerdict extends SignatureFacts {
  readonly verified: boolean;
  /** Code of the first failed check; null if verified. */
  readonly code: VerdictCode | null;
  readonly artifact: 'pdf' | 'json';
  readonly dataHash: string | null;
  /** The report that the log signed; null without a valid signature. */
  readonly executionId: string | null;
  readonly title: string | null;
  readonly reportTemplateId: string | null;
  /** The copy of the custom template, made when the report was requested; null for a built-in one. */
  readonly template: {
    readonly name: string;
    readonly version: number;
    /** `sha256:…` of its definition, as `GET /reporting/templates` and the log have it. */
    readonly definitionHash: string;
  } | null;
  readonly startTime: string | null;
  readonly endTime: string | null;
  readonly origin: string | null;
  readonly treeSize: number | null;
  /** Names of the attached files, in order. */
  readonly files: readonly string[];
  readonly proofs: readonly AttachedProof[];
  readonly answers: readonly AttachedAnswer[];
  /** Of what the attached answers and proofs list: the weakest of them. Not of tables without such a file. */
  readonly completeness: Completeness;
  /** Titles of the tables of which the report itself says that it does not show whether rows are missing. */
  readonly notShown: readonly string[];
  /** Whether the report says that its first table, the one that it is about, has every row. */
  readonly mainTableShown: boolean;
  readonly checks: readonly CheckResult<ReportCheckId>[];
}

/** Whether bytes begin like a report: a PDF, or a JSON object. */
export const reportKindOf = (begin: Uint8Array): 'pdf' | 'json' | null => {
  const text = Buffer.from(begin.subarray(0, 5)).toString('latin1');
  return text === '%PDF-' ? 'pdf' : text.startsWith('{') ? 'json' : null;
};

/** Verifies a report. Cost: that of rendering it, and of verifying its proofs. */
export async function verifyReport(bytes: Uint8Array, options: ReportVerifyOptions): Promise<ReportVerdict> {
  const verification = new ReportVerification(options);
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (reportKindOf(buffer) === 'pdf') await verification.pdf(buffer);
  else verification.json(buffer);
  return verification.verdict();
}

class ReportVerification {
  readonly #options: ReportVerifyOptions;
  readonly #checks = new CheckList<ReportCheckId>(reportCheckIds);
  #artifact: 'pdf' | 'json' = 'json';
  #report: Report | null = null;
  #hash: string | null = null;
  #executionId: string | null = null;
  #files: ReadonlyMap<string, Buffer> = new Map();
  #found: AttachedFiles = nothingAttached;
  #signed: SignatureFacts = unsigned;

  constructor(options: ReportVerifyOptions) {
    this.#options = options;
  }

  json(bytes: Buffer): void {
    if (!this.#read(bytes)) return;
    this.#checks.pass('format', 'canonical JSON (RFC 8785)');
    if (this.#report !== null) this.#signature(this.#report, this.#options.signature ?? null, null);
    const { attachments } = this.#report ?? { attachments: {} };
    this.#checks.skip('attachments', `the JSON holds no files; it names ${Object.keys(attachments).length}`);
    this.#checks.skip('proofs', 'the proofs are attached to the PDF of this report');
    this.#checks.skip('pages', 'the JSON has no pages');
  }

  async pdf(bytes: Buffer): Promise<void> {
    this.#artifact = 'pdf';
    const pdf = this.#orFault('format', () => readPdf(bytes));
    if (pdf === null) return;
    if (pdf.length !== bytes.length) {
      const detail = `the first ${pdf.length} bytes are the report as gov wrote it, ${bytes.length - pdf.length} follow: verify the report alone with head -c ${pdf.length}`;
      this.#checks.fail('format', 'REPORT_EXTENDED', detail);
    }
    const files = this.#orFault('format', () => attachedFiles(pdf, limits.bundleBytes));
    if (files === null) return;
    this.#files = files;
    const data = files.get(dataFile);
    if (data === undefined) {
      this.#checks.fail('format', 'MALFORMED_REPORT', `expected the attached file ${dataFile}, found none`);
      return;
    }
    if (!this.#read(data) || this.#report === null) return;
    this.#checks.pass('format', 'every byte of the file belongs to an object of the document');
    const shown = files.get(presentationFile) ?? Buffer.alloc(0);
    this.#signature(this.#report, files.get(signatureFile) ?? null, shown);
    this.#attachments(this.#report);
    this.#attached(this.#report);
    await this.#pages(this.#report, pdf);
  }

  /** Steps 1 and 2 for the data, and 4. */
  #read(data: Buffer): boolean {
    this.#hash = sha256Text(data);
    const report = this.#orFault('format', () => readReport(data));
    if (report === null) return false;
    this.#report = report;
    const { expectedHash = null } = this.#options;
    if (expectedHash !== null && expectedHash !== this.#hash)
      this.#checks.fail('data_hash', 'DATA_HASH_MISMATCH', `expected ${expectedHash}, got ${this.#hash}`);
    else if (expectedHash === null) this.#checks.skip('data_hash', 'you gave none to compare with: --hash');
    else this.#checks.pass('data_hash', `${this.#hash}, as you expected`);
    this.#checkpoint(report);
    return true;
  }

  /**
   * Step 2. Without a signature only a data hash from another source shows that the figures are those of the log: somebody
   * who has a report can put other figures over the same checkpoint.
   */
  #signature(report: Report, signature: Uint8Array | null, presentation: Uint8Array | null): void {
    const { trust } = this.#options;
    if (signature === null) {
      const from =
        this.#artifact === 'pdf' ? `no ${signatureFile} is attached` : 'give its file with --signature';
      if (this.#checks.passed('data_hash'))
        this.#checks.skip('signature', `${from}; the data hash is the one that you gave`);
      else
        this.#checks.fail(
          'signature',
          'SIGNATURE_MISSING',
          `${from}: earlier versions signed no report, so require its data hash with --hash`,
        );
      return;
    }
    if (trust === null || trust.keys.length === 0) {
      this.#checks.fail('signature', 'NO_TRUSTED_KEY', 'expected a key or a trust file, got none');
      return;
    }
    const { project, reportTemplateId, log } = report;
    const subject = {
      projectId: project.projectId,
      reportTemplateId,
      checkpoint: log,
      dataHash: this.#hash ?? '',
    };
    const verdict = verifyReportSignature(signature, { report: subject, presentation }, trust);
    if ('code' in verdict) this.#checks.fail('signature', verdict.code, verdict.detail);
    else {
      this.#executionId = verdict.executionId;
      this.#checks.pass('signature', `${verdict.executionId}, by ${signedByText(verdict.signed)}`);
      // the verdict names the keys that signed the report and the checkpoint
      this.#signed = signedBoth(this.#signed, verdict.signed);
    }
  }

  #orFault<Value>(id: ReportCheckId, work: () => Value): Value | null {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof GovError || error instanceof PdfFault)) throw error;
      this.#checks.fail(id, 'MALFORMED_REPORT', error.message);
      return null;
    }
  }

  /** Step 3: tables are functions of the data, and the data names the rest. */
  #attachments(report: Report): void {
    const hash = this.#hash ?? '';
    const faults: string[] = [];
    const expected = new Map<string, string>(Object.entries(report.attachments));
    for (const table of report.tables) {
      const digest = sha256Text(toTableCsv(report, table, hash)).slice('sha256:'.length);
      expected.set(tableFile(table), digest);
    }
    for (const [name, digest] of expected) {
      const file = this.#files.get(name);
      if (file === undefined) faults.push(`${name} is missing`);
      else if (sha256Text(file) !== `sha256:${digest}`) faults.push(`${name} differs from its hash`);
    }
    for (const name of this.#files.keys()) {
      if (!expected.has(name) && !own.has(name)) faults.push(`${name} is not named`);
    }
    if (faults.length > 0) this.#checks.fail('attachments', 'ATTACHMENT_MISMATCH', faults.join('; '));
    else this.#checks.pass('attachments', `${this.#files.size} files`);
  }

  /** Step 4. */
  #checkpoint({ log }: Report): void {
    const { trust } = this.#options;
    if (trust === null || trust.keys.length === 0) {
      this.#checks.fail('checkpoint', 'NO_TRUSTED_KEY', 'expected a key or a trust file, got none');
      return;
    }
    try {
      const opened = openTrustedCheckpoint(log.checkpoint, trust);
      const { checkpoint, witnessedBy, quorumMet } = opened;
      this.#options.seen?.([new SignedHead(log.checkpoint, checkpoint)]);
      this.#signed = signedBy([opened]);
      const signers = signedByText(this.#signed);
      const isSame =
        checkpoint.origin === log.origin &&
        checkpoint.size === log.treeSize &&
        checkpoint.root.toString('base64') === log.rootHash;
      if (isSame) this.#checks.pass('checkpoint', `${log.origin}, ${log.treeSize} leaves, by ${signers}`);
      else
        this.#checks.fail(
          'checkpoint',
          'CHECKPOINT_MISMATCH',
          'origin, size or root differ from the signed ones',
        );
      const few = `expected ${trust.quorum} witnesses, got ${witnessedBy.length}`;
      if (!quorumMet) this.#checks.fail('witnesses', 'WITNESS_QUORUM_NOT_MET', few);
      else if (witnessedBy.length === 0) this.#checks.skip('witnesses', 'the trust requires no witness');
      else this.#checks.pass('witnesses', `${witnessedBy.length} cosigned`);
    } catch (error) {
      if (!(error instanceof GovError)) throw error;
      this.#checks.fail('checkpoint', signatureCode(error), error.message);
    }
  }

  /** Step 5. */
  #attached(report: Report): void {
    const { trust, seen, derived } = this.#options;
    const found = verifyAttached(this.#files, {
      report,
      trust,
      ...(seen === undefined ? {} : { seen }),
      ...(derived === undefined ? {} : { derived }),
    });
    this.#found = found;
    for (const { code, detail } of found.faults) this.#checks.fail('proofs', code, detail);
    const count = found.proofs.length + found.answers.length + found.units;
    if (count === 0) this.#checks.skip('proofs', 'no proof is attached');
    else this.#checks.pass('proofs', `${count} verified`);
  }

  /** Step 6. */
  async #pages(report: Report, pdf: PdfFile): Promise<void> {
    const { pages } = this.#options;
    if (typeof pages === 'string') return this.#checks.skip('pages', pages);
    const found = await pages({ report, pdf, files: this.#files });
    if (found.code === null) this.#checks.pass('pages', found.detail);
    else this.#checks.fail('pages', found.code, found.detail);
  }

  verdict(): ReportVerdict {
    const checks = settled(this.#checks.list(), rests);
    const failed = checks.filter(({ result }) => result === 'failed');
    // a missing key is said only where nothing worse is known
    const worst = failed.find(({ code }) => !mild.has(code ?? '')) ?? failed[0];
    const report = this.#report;
    const { proofs, answers, completeness } = this.#found;
    return {
      verified:
        failed.length === 0 &&
        this.#checks.passed('checkpoint') &&
        (this.#checks.passed('signature') || this.#checks.passed('data_hash')),
      code: worst?.code ?? null,
      artifact: this.#artifact,
      dataHash: this.#hash,
      executionId: this.#executionId,
      title: report?.title ?? null,
      reportTemplateId: report?.reportTemplateId ?? null,
      template: templateOf(report),
      startTime: report?.parameters.startTime ?? null,
      endTime: report?.parameters.endTime ?? null,
      origin: report?.log.origin ?? null,
      treeSize: report?.log.treeSize ?? null,
      files: [...this.#files.keys()],
      proofs,
      answers,
      completeness,
      notShown:
        report?.tables.flatMap((each) => (each.completeness.status === 'proven' ? [] : [each.title])) ?? [],
      mainTableShown: report?.tables[0]?.completeness.status === 'proven',
      // the keys of the checkpoint alone did not sign what the report says
      ...(this.#checks.passed('signature') ? this.#signed : unsigned),
      checks,
    };
  }
}

const nothingAttached: AttachedFiles = {
  proofs: [],
  answers: [],
  units: 0,
  faults: [],
  completeness: weakestOf([]),
};

function templateOf(report: Report | null): ReportVerdict['template'] {
  const template = report?.template;
  if (template === undefined) return null;
  const { name, version } = template;
  return { name, version, definitionHash: templateHash(template) };
}

/** Files that the renderer attaches, and that the data cannot name. */
const own: ReadonlySet<string> = new Set([dataFile, presentationFile, signatureFile]);

const mild: ReadonlySet<string> = new Set(['NO_TRUSTED_KEY', 'RUN_NOT_COMPLIANT']);
