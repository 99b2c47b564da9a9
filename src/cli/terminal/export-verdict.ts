/** Prints what the verification of an export found, and what it cannot say. `test/cli/commands/export/verify.test.ts`. */
import type { ExportCheckId } from '../../core/export/checks.ts';
import type { ExportVerdict } from '../../core/export/verify.ts';
import { exit } from '../program/exit.ts';
import type { Out } from './out.ts';
import { Safe, safe } from './safe.ts';
import { csvLine } from './table.ts';
import type { TrustSource } from '../context/trust.ts';
import { checkLine, meaningOf } from './verdict.ts';
import { plainView } from './view.ts';
import { wrapped } from './width.ts';

export interface ToldExport {
  readonly verdict: ExportVerdict;
  readonly source: TrustSource | null;
  readonly explain: boolean;
}

/** What each check is, in the order in which they are told. */
const meant: Readonly<Record<ExportCheckId, string>> = {
  format: 'each line is, byte for byte, the one that is written of what it says',
  rows: 'each row is what the record of its leaf and the disclosed values give; each value hashes, with its salt, to a digest in that record; each row fits the filters',
  manifest:
    'the leaf hashes of the rows, SHA-256(0x00 || record), with the hashes of the subtrees between them, have the root that the manifest names (RFC 6962), and it counts the rows as they are',
  checkpoint_signatures: 'a key that you trust signed the checkpoint (C2SP tlog-checkpoint)',
  consistency: 'the tree of the checkpoint extends the tree of the manifest (RFC 9162 §2.1.4)',
  witnesses: 'as many witnesses cosigned the checkpoint as your trust asks for',
  request:
    'the log holds the event export.created with this resource, these filters, this time and this tree size',
  disclosures:
    'each committed value is in its row, or a gov.erasure/1 leaf of the log says that it was erased',
};

/** Prints it, and answers the exit code: 0 verified, 3 not, 2 where it could not be judged. */
export async function tellExport(out: Out, told: ToldExport): Promise<number> {
  const { verdict, source, explain } = told;
  out.verdict = exitOf(verdict);
  if (out.isHuman || (out.format === 'tsv' && explain)) await out.lines(human(told, out));
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
      safe`no key is trusted here: give --key VKEY or --trust FILE from a source you trust, not from the export`,
    );
  }
  return out.verdict;
}

const notJudged: ReadonlySet<string | null> = new Set([
  'NO_TRUSTED_KEY',
  'MALFORMED_EXPORT',
  'EXPORT_WITHOUT_PROOF',
]);

function exitOf({ verified, code }: ExportVerdict): number {
  if (verified) return exit.ok;
  return notJudged.has(code) ? exit.usage : exit.checkFailed;
}

/** `kind name result …`, one line each. */
function rows(verdict: ExportVerdict, asCsv: boolean): Safe[] {
  const { exportId, verified, code, checks, notes } = verdict;
  const lines = [
    ['export', exportId, verified ? 'verified' : 'not verified', code],
    ...checks.map((check) => ['check', check.id, check.result, check.code, check.detail]),
    ...notes.map((note) => ['note', note]),
  ];
  return lines.map((line) =>
    asCsv
      ? csvLine(line)
      : Safe.join(
          line.map((each) => Safe.cell(each ?? '')),
          '\t',
        ),
  );
}

function human({ verdict, source, explain }: ToldExport, { styles, settings }: Out): Safe[] {
  const { verified, code, exportId, resource, requestedBy, generatedAt, manifest, checks, notes } = verdict;
  const { bold, green, red, yellow } = styles;
  const of = `${manifest?.rowCount ?? '?'} rows of ${resource ?? '?'}, of the log at ${manifest?.treeSize ?? '?'} leaves`;
  const facts: readonly (readonly [string, string | null])[] = [
    ['why', verified ? null : meaningOf(code ?? undefined)],
    ['holds', resource === null ? null : of],
    ['asked', requestedBy === null ? null : `${generatedAt ?? ''} by ${requestedBy}`],
    ['trust', source === null ? null : `${source.trust.origin} (${source.from})`],
  ];
  const width = Math.max(...checks.map(({ id }) => id.length));
  return [
    safe`${bold(verified ? green('✓ verified') : red('✗ NOT VERIFIED'))}  ${exportId ?? ''}`,
    ...facts.flatMap(([name, value]) => (value === null ? [] : [safe`  ${name.padEnd(6)} ${value}`])),
    bold('Checks'),
    ...checks.flatMap((check) => [
      checkLine(check, width, styles),
      ...(explain ? wrapped(meant[check.id], settings.columns - 6).map((line) => safe`      ${line}`) : []),
    ]),
    ...notes.flatMap((text) => wrapped(text, settings.columns).map((line) => yellow(line))),
  ];
}
