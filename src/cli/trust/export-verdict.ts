/**
 * Prints the result of an export's verification, and its limits. Tested by `test/cli/commands/export/verify.test.ts`.
 */
import type { ExportCheckId } from '../../core/exports/checks.ts';
import { signedByText } from '../../core/note/signed-by.ts';
import type { ExportVerdict } from '../../core/exports/verify.ts';
import { exit } from '../program/exit.ts';
import { historyLines, historyRows, type History } from '../terminal/history.ts';
import type { Out } from '../terminal/out.ts';
import type { Safe } from '../terminal/safe.ts';
import { safe } from '../terminal/safe.ts';
import { csvLine, tabbedLine } from '../terminal/table.ts';
import type { TrustSource } from '../context/trust.ts';
import { checkLine, completenessLines, meaningOf, signedRows } from '../terminal/verdict.ts';
import { plainView } from '../terminal/view.ts';
import { wrapped } from '../terminal/width.ts';

export interface ShownExport {
  readonly verdict: ExportVerdict & { readonly history?: History };
  readonly source: TrustSource | null;
  readonly explain: boolean;
}

/** The meaning of each check, in the order of output. */
const meant: Readonly<Record<ExportCheckId, string>> = {
  format: 'each line has the exact bytes that its content serializes to',
  rows: 'each row equals the record of its leaf and the disclosed values; each value hashes, with its salt, to a digest in that record; each row fits the filters',
  manifest:
    'the leaf hashes of the rows, SHA-256(0x00 || record), and the hashes of the subtrees between them give the root in the manifest (RFC 6962); the manifest counts the same rows',
  checkpoint_signatures: 'a key that you trust signed the checkpoint (C2SP tlog-checkpoint)',
  consistency: 'the tree of the checkpoint extends the tree of the manifest (RFC 9162 §2.1.4)',
  witnesses: 'as many witnesses cosigned the checkpoint as your trust file requires',
  request:
    'the log holds the event export.created with this resource, these filters, this time and this tree size',
  disclosures: 'each committed value is in its row, or a gov.erasure/1 leaf of the log records its erasure',
  completeness:
    'the lists that the rows make have the count and root that the map of a gov.index/1 leaf has for the filters, so no matching row is missing',
};

/** Prints the verdict. Returns the exit code: 0 verified, 3 not verified, 2 could not be judged. */
export async function printExport(out: Out, shown: ShownExport): Promise<number> {
  const { verdict, source, explain } = shown;
  out.verdict = exitOfExport(verdict);
  if (out.isHuman || (out.format === 'tsv' && explain)) await out.lines(human(shown, out));
  else if (out.format === 'tsv' || out.format === 'csv') await out.lines(rows(verdict, out.format === 'csv'));
  else {
    const trust = { trustedOrigin: source?.trust.origin ?? null, trustFrom: source?.from ?? null };
    const explanations = explain ? { explanations: meant } : {};
    await out.one(
      { ...verdict, source: 'offline', ...trust, ...explanations },
      plainView(['exportId'], 'exportId'),
    );
  }
  if (source === null && verdict.code !== 'MALFORMED_EXPORT') {
    await out.warn(
      safe`no key is trusted here: give --key VKEY or --trust FILE from a source that you trust, not from the export`,
    );
  }
  return out.verdict;
}

const notJudged: ReadonlySet<string | null> = new Set([
  'NO_TRUSTED_KEY',
  'MALFORMED_EXPORT',
  'EXPORT_WITHOUT_PROOF',
]);

export function exitOfExport({ verified, code }: ExportVerdict): number {
  if (verified) return exit.ok;
  return notJudged.has(code) ? exit.usage : exit.checkFailed;
}

/** One line each: `kind name result …`. */
function rows(verdict: ShownExport['verdict'], asCsv: boolean): Safe[] {
  const { exportId, verified, code, checks, notes } = verdict;
  const lines = [
    ['export', exportId, verified ? 'verified' : 'not verified', code],
    ...signedRows(verdict),
    ...historyRows(verdict.history),
    ...checks.map((check) => ['check', check.id, check.result, check.code, check.detail]),
    ...notes.map((note) => ['note', note]),
  ];
  return lines.map((line) => (asCsv ? csvLine(line) : tabbedLine(line)));
}

function human({ verdict, source, explain }: ShownExport, { styles, settings }: Out): Safe[] {
  const { verified, code, exportId, resource, requestedBy, generatedAt, manifest, checks, notes } = verdict;
  const { bold, green, red, yellow } = styles;
  const of = `${manifest?.rowCount ?? '?'} rows of ${resource ?? '?'}, of the log at ${manifest?.treeSize ?? '?'} leaves`;
  const facts: readonly (readonly [string, string | null])[] = [
    ['why', verified ? null : meaningOf(code ?? undefined)],
    ['holds', resource === null ? null : of],
    ['asked', requestedBy === null ? null : `${generatedAt ?? ''} by ${requestedBy}`],
    ['signed', signedByText(verdict) || null],
    ['trust', source === null ? null : `${source.trust.origin} (${source.from})`],
  ];
  const width = Math.max(...checks.map(({ id }) => id.length));
  return [
    safe`${bold(verified ? green('✓ verified') : red('✗ NOT VERIFIED'))}  ${exportId ?? ''}`,
    ...facts.flatMap(([name, value]) => (value === null ? [] : [safe`  ${name.padEnd(6)} ${value}`])),
    ...completenessLines(verdict, styles),
    ...(verdict.history === undefined ? [] : historyLines(verdict.history, styles)),
    bold('Checks'),
    ...checks.flatMap((check) => [
      checkLine(check, width, styles),
      ...(explain ? wrapped(meant[check.id], settings.columns - 6).map((line) => safe`      ${line}`) : []),
    ]),
    ...notes.flatMap((text) => wrapped(text, settings.columns).map((line) => yellow(line))),
  ];
}
