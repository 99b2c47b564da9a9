/**
 * `gov report verify`: verifies a report here, without network or store. Exit codes as `gov proofs verify`. The exit code
 * is set before any output. Tested by `test/cli/commands/report/verify.test.ts`.
 */
import { createReadStream, existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { limits } from '../../../contract/limits.ts';
import { signatureNameOf } from '../../../core/reports/artifacts.ts';
import type { ReportFonts } from '../../../core/reports/inputs.ts';
import { comparePagesWith } from '../../../core/reports/verify-pages.ts';
import { requireStrength, type Strength, strengthText } from '../../../core/proofs/strength.ts';
import { signedByText } from '../../../core/note/signed-by.ts';
import { reportKindOf, type ReportVerdict, verifyReport } from '../../../core/reports/verify.ts';
import { trustFrom, type TrustSource } from '../../context/trust.ts';
import type { Invocation, Run } from '../../context/command.ts';
import { exit, usage } from '../../program/exit.ts';
import { unreadable } from '../../program/flags.ts';
import { readAll } from '../../terminal/io.ts';
import type { Out } from '../../terminal/out.ts';
import type { Safe } from '../../terminal/safe.ts';
import { safe } from '../../terminal/safe.ts';
import { csvLine, tabbedLine } from '../../terminal/table.ts';
import { checkLine, completenessLine, meaningOf } from '../../terminal/verdict.ts';
import { historyLines, historyRows, type History } from '../../terminal/history.ts';
import { plainView } from '../../terminal/view.ts';
import { derivedFrom } from '../../trust/derived.ts';
import { FoundHeads, SeenHeads, withHistory } from '../../trust/history.ts';
import type { reportVerify as spec } from '../../specs/prove/report.ts';

type Call = Invocation<typeof spec>;
type ShownReport = ReportVerdict & { readonly history?: History };

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, out, session } = call;
  const source = trustFrom(flags, session);
  const bytes = await readReportFile(call);
  if (reportKindOf(bytes) === null) {
    throw usage(
      `${args.report}: expected a report as PDF or JSON, got another file`,
      'give the PDF or JSON that gov report download saved; a CSV cannot be verified alone',
    );
  }
  const pages = flags.dataOnly ? 'not compared, as you asked' : comparePagesWith(await fontsOf(call));
  const { hash } = flags;
  const heads = SeenHeads.ofSource(call, source, flags);
  const found = new FoundHeads();
  const judged = await verifyReport(bytes, {
    trust: source?.trust ?? null,
    expectedHash: hash === undefined ? null : `sha256:${hash.replace('sha256:', '')}`,
    signature: reportKindOf(bytes) === 'json' ? await signatureBeside(call) : null,
    pages,
    seen: found.seen,
    ...(await derivedFrom(call, flags, source)),
  });
  const verdict = await withHistory(requireShown(judged, flags.requireCompleteness), heads, found);
  out.verdict = exitOf(verdict);
  await print(out, verdict, source);
  if (source === null && verdict.code !== 'MALFORMED_REPORT') {
    await out.warn(
      safe`no key is trusted here: give --key VKEY or --trust FILE from a source that you trust, not from the report`,
    );
  }
  return out.verdict;
};

/** As `requireStrength`. An attached file about another table shows nothing of the table that the report is about. */
function requireShown(verdict: ReportVerdict, required: Strength | undefined): ReportVerdict {
  const enough = requireStrength(verdict, required);
  return required === undefined || verdict.mainTableShown || !enough.verified
    ? enough
    : { ...enough, verified: false, code: 'COMPLETENESS_TOO_WEAK' };
}

async function fontsOf({ flags, io }: Call): Promise<ReportFonts> {
  const { readReportFonts } = await import('../../../host/reports/fonts.ts');
  const folder = flags.fonts === undefined ? null : resolve(io.cwd, flags.fonts);
  return readReportFonts(folder).catch((cause: unknown) => {
    throw unreadable(flags.fonts ?? 'the fonts of the package', cause);
  });
}

/** The signature of a JSON artifact: the file of the flag, or the one that `gov report download` wrote beside it. */
async function signatureBeside({ args, flags, io, signal }: Call): Promise<Buffer | null> {
  const name = flags.signature ?? (args.report === '-' ? null : signatureNameOf(args.report));
  if (name === null) return null;
  const path = resolve(io.cwd, name);
  if (flags.signature === undefined && !existsSync(path)) return null;
  const maxBytes = limits.reportSignatureBytes;
  try {
    return Buffer.from(await readAll(createReadStream(path), { maxBytes, signal, name }));
  } catch (cause) {
    if (cause instanceof RangeError) throw usage(cause.message);
    throw signal.aborted ? cause : unreadable(name, cause);
  }
}

async function readReportFile({ args, io, signal }: Call): Promise<Buffer> {
  const maxBytes = limits.bundleBytes;
  try {
    if (args.report === '-') return Buffer.from(await readAll(io.stdin, { maxBytes, signal }));
    const stream = createReadStream(resolve(io.cwd, args.report));
    return Buffer.from(await readAll(stream, { maxBytes, signal, name: args.report }));
  } catch (cause) {
    if (cause instanceof RangeError) throw usage(cause.message);
    throw signal.aborted ? cause : unreadable(args.report, cause);
  }
}

function exitOf({ verified, code }: ReportVerdict): number {
  if (verified) return exit.ok;
  if (code === 'NO_TRUSTED_KEY' || code === 'MALFORMED_REPORT') return exit.usage;
  return code === 'RUN_NOT_COMPLIANT' ? exit.notCompliant : exit.checkFailed;
}

/** What JSON says of a proof: the whole verdict is that of `gov proofs verify`. */
const proofsOf = ({ proofs }: ReportVerdict): Record<string, unknown>[] =>
  proofs.map(({ name, verdict: { proofId, runId, verified, compliant, code, completeness } }) => ({
    name,
    proofId,
    runId,
    verified,
    compliant,
    code,
    completeness,
  }));

const answersOf = ({ answers }: ReportVerdict): Record<string, unknown>[] =>
  answers.map(({ name, verdict: { verified, code, question, count, completeness } }) => ({
    name,
    key: question?.key ?? null,
    count,
    verified,
    code,
    completeness,
  }));

async function print(out: Out, verdict: ShownReport, source: TrustSource | null): Promise<void> {
  if (out.isHuman) return out.lines(human(verdict, source, out));
  if (out.format === 'tsv' || out.format === 'csv') return out.lines(rows(verdict, out.format === 'csv'));
  const trust = { trustedOrigin: source?.trust.origin ?? null, trustFrom: source?.from ?? null };
  return out.one(
    { ...verdict, proofs: proofsOf(verdict), answers: answersOf(verdict), ...trust },
    plainView(['dataHash'], 'dataHash'),
  );
}

const templateText = ({ reportTemplateId, template }: ReportVerdict): string | null =>
  template === null
    ? reportTemplateId
    : `${template.name}, version ${template.version} (${reportTemplateId}), ${template.definitionHash}`;

/** One line each: `kind name result …`. */
function rows(verdict: ShownReport, asCsv: boolean): Safe[] {
  const { dataHash, verified, code, checks, proofs, answers, completeness, notShown } = verdict;
  const cells: (readonly (string | null | undefined)[])[] = [
    ['report', dataHash, verified ? 'verified' : 'not verified', code],
    ['completeness', completeness.result, completeness.strength],
    ...notShown.map((table) => ['table', table, 'not_shown']),
    ...historyRows(verdict.history),
    ...checks.map(({ id, result, code: why, detail }) => ['check', id, result, why, detail]),
    ...[...proofs, ...answers].map(({ name, verdict: each }) => [
      'proof',
      name,
      each.verified ? 'verified' : 'not verified',
      each.code,
    ]),
  ];
  return cells.map((line) => (asCsv ? csvLine(line) : tabbedLine(line)));
}

function human(verdict: ShownReport, source: TrustSource | null, { styles }: Out): Safe[] {
  const { verified, code, checks, proofs, answers } = verdict;
  const { bold, green, red } = styles;
  const head = verified
    ? green('✓ verified')
    : code === 'RUN_NOT_COMPLIANT'
      ? red('✗ NOT COMPLIANT')
      : red('✗ NOT VERIFIED');
  const period = verdict.startTime === null ? null : `${verdict.startTime} to ${verdict.endTime ?? ''}`;
  const facts: readonly (readonly [string, string | null])[] = [
    ['why', verified ? null : meaningOf(code ?? undefined)],
    ['data hash', verdict.dataHash],
    ['report', verdict.executionId],
    ['template', templateText(verdict)],
    ['period', period],
    ['log', verdict.origin === null ? null : `${verdict.origin}, ${verdict.treeSize ?? 0} leaves`],
    ['signed by', signedByText(verdict) || null],
    ['trust', source === null ? null : `${source.trust.origin} (${source.from})`],
  ];
  const width = Math.max(...checks.map(({ id }) => id.length));
  return [
    safe`${bold(head)}  ${verdict.title ?? ''}`,
    ...facts.flatMap(([name, value]) => (value === null ? [] : [safe`  ${name.padEnd(9)} ${value}`])),
    ...missingLines(verdict, styles),
    ...(verdict.history === undefined ? [] : historyLines(verdict.history, styles)),
    bold('Checks'),
    ...checks.map((check) => checkLine(check, width, styles)),
    ...(proofs.length + answers.length === 0 ? [] : [bold('Proofs')]),
    ...proofs.map(({ name, verdict: each }) => {
      const mark = each.verified ? green('✓') : red('✗');
      return safe`  ${mark} ${name}  ${each.runId ?? ''}  ${each.verified ? '' : meaningOf(each.code ?? undefined)}`;
    }),
    ...answers.map(({ name, verdict: each }) => {
      const said = each.verified
        ? `exactly ${each.count ?? 0} entries: ${each.question?.key.join(' ') ?? ''}, ${strengthText(each.completeness)}`
        : meaningOf(each.code ?? undefined);
      return safe`  ${each.verified ? green('✓') : red('✗')} ${name}  ${said}`;
    }),
  ];
}

/**
 * By whose word nothing is missing from the attached lists, and the tables that have none. Nothing compares a table with the
 * lists: each of these is shown with its key and its count.
 */
function missingLines(
  { completeness, artifact, proofs, answers, notShown }: ShownReport,
  styles: Out['styles'],
): Safe[] {
  if (artifact === 'json') return [];
  const files = proofs.length + answers.length;
  const of = `of what ${files} attached ${files === 1 ? 'file lists' : 'files list'}, see below: compare it with the tables`;
  return [
    completenessLine(completeness, files === 0 ? undefined : { detail: of }, styles),
    ...(notShown.length === 0 ? [] : [safe`  not shown of ${notShown.join(', ')}`]),
  ];
}
