/**
 * The verifier of exports (`docs/reference/export-format.md`): reads an artifact once, in memory of one row.
 * It needs no network and no store, and fails closed. The file is attacker controlled, and no content of it makes the
 * verifier throw. Trust comes from the caller only. The steps: 1 each line has the canonical spelling of its content;
 * 2 each row follows from its leaf and the disclosed values; 3 the leaves, with the hashes between them, have the root of
 * the manifest; 4 a checkpoint that a trusted key signed extends this tree; 5 the log contains the request for this export;
 * 6 leaves of the log erased the fields that rows lack; 7 the index of the log has no more rows of the filters
 * (`completeness.ts`), which a file may not show. Proven by `test/core/exports/artifact.test.ts` (every byte is
 * changed, and no changed file verifies).
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { Trust } from '../note/checkpoint.ts';
import { exportRowText, readRow, type ManifestOfRows } from './artifact.ts';
import { exportCheckIds, exportRests, type ExportCheckId, type ExportChecks } from './checks.ts';
import { checkProof, type ProvedExport } from './proof.ts';
import { readHead, readTail, type ReadTail } from './read.ts';
import { RowCheck } from './check-rows.ts';
import { textLines } from '../json/text-lines.ts';
import { settled } from '../proofs/rests.ts';
import type { VerifyOptions } from '../proofs/verify.ts';
import { SignedHead } from '../note/heads.ts';
import { leafHash } from '../merkle/tree.ts';
import { unsigned, type SignatureFacts } from '../note/signed-by.ts';
import { CheckList, type CheckResult, type DigestCounts, type VerdictCode } from '../proofs/verdict.ts';
import { completenessOf, type Completeness, type DerivedLog } from '../proofs/strength.ts';

export interface ExportVerdict extends SignatureFacts {
  /** Nothing failed, and a trusted signature was checked. */
  readonly verified: boolean;
  /** Code of the first failed check; null if verified. */
  readonly code: VerdictCode | null;
  readonly resource: string | null;
  /** The following members come from the log; null if they could not be read. */
  readonly exportId: string | null;
  /** Key or person that requested the export. */
  readonly requestedBy: string | null;
  readonly generatedAt: string | null;
  readonly manifest: Omit<ManifestOfRows, 'rootHash'> | null;
  readonly completeness: Completeness;
  readonly checks: readonly CheckResult<ExportCheckId>[];
  readonly digests: DigestCounts | null;
  /** Sentences that every output shows with the result. */
  readonly notes: readonly string[];
}

/**
 * Verifies the artifact in these bytes with the trust of the caller. Without trust nothing is verified, but every hash is
 * still checked. Rejects only if `chunks` rejects. Cost: about 20 µs a row of 700 bytes; memory: one row of at most
 * `limits.exportLineBytes`, plus 150 bytes for each erased field.
 */
export async function verifyExport(
  chunks: AsyncIterable<Uint8Array>,
  trust: Trust | null,
  { seen, derived }: Pick<VerifyOptions, 'seen' | 'derived'> = {},
): Promise<ExportVerdict> {
  const reading = new ArtifactReader();
  const outcome = await read(chunks, reading);
  if (outcome instanceof Error) throw outcome;
  const verdict = reading.verdict(trust, derived ?? null);
  seen?.(reading.heads(trust));
  return verdict;
}

/** Returns an error of `chunks`, which the caller throws. An error in the content becomes a failed check. */
async function read(chunks: AsyncIterable<Uint8Array>, reading: ArtifactReader): Promise<Error | null> {
  let broken: Error | null = null;
  const watched = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield* chunks;
    } catch (cause) {
      broken = cause instanceof Error ? cause : new Error(String(cause));
      throw cause;
    }
  };
  try {
    for await (const lines of textLines(watched(), limits.exportLineBytes)) {
      for (const line of lines) if (!reading.judge(line)) return null;
    }
    reading.end();
  } catch (error) {
    if (broken !== null) return broken;
    if (!(error instanceof GovError)) throw error;
    reading.unreadable(error.message);
  }
  return null;
}

/** Checks that need not be made for a file to be verified. */
const optional: ReadonlySet<ExportCheckId> = new Set(['witnesses', 'completeness']);

/** An artifact that is being read. */
class ArtifactReader {
  readonly #checks: ExportChecks = new CheckList(exportCheckIds);
  #head: ReturnType<typeof readHead> = null;
  #rows: RowCheck | null = null;
  #tail: ReadTail | null = null;
  #lines = 0;
  /** Whether the previous line announced a row. */
  #awaitsRow = false;

  /** Checks the next line; false if the rest of the file cannot be checked. */
  judge(line: string): boolean {
    this.#lines++;
    try {
      return this.#line(line);
    } catch (error) {
      if (error instanceof GovError) return this.malformed(error.message);
      throw error;
    }
  }

  /** Records that the next line cannot be read. */
  unreadable(detail: string): void {
    this.#lines++;
    this.malformed(detail);
  }

  #line(line: string): boolean {
    if (this.#tail !== null)
      return this.malformed('expected the end of the file after the manifest, got more');
    if (this.#head === null) return this.#readHead(line);
    return line.startsWith(']') ? this.#readTail(line) : this.#readRow(line, this.#head);
  }

  end(): void {
    if (this.#tail === null) this.malformed('expected a manifest at the end, got none');
    this.#checks.pass('format', `${this.#lines} lines`);
  }

  malformed(detail: string): false {
    this.#checks.fail('format', 'MALFORMED_EXPORT', `line ${this.#lines}: ${detail}`);
    return false;
  }

  #readHead(line: string): boolean {
    this.#head = readHead(line);
    if (this.#head === null) return this.malformed('expected the first line of an export, got another text');
    this.#rows = new RowCheck(this.#head, this.#checks);
    return true;
  }

  #readRow(line: string, { resource }: NonNullable<ReturnType<typeof readHead>>): boolean {
    if (this.#lines > 2 && !this.#awaitsRow)
      return this.malformed('expected a comma before this row, got none');
    this.#awaitsRow = line.endsWith(',');
    const text = this.#awaitsRow ? line.slice(0, -1) : line;
    const isProved = text.startsWith('{"evidence":');
    const read = isProved ? readRow(text) : null;
    if (read === null) {
      if (!isProved && text.startsWith('{') && text.endsWith('}')) this.#rows?.unproved();
      else return this.malformed('expected a row, got another text');
      return true;
    }
    if (exportRowText(read.row, true, read) !== text)
      return this.malformed(
        `expected a row of ${resource} with its evidence in canonical form, got another text`,
      );
    this.#rows?.add(read, this.#lines);
    return true;
  }

  #readTail(line: string): boolean {
    if (this.#awaitsRow) return this.malformed('expected a row after the comma, got none');
    this.#tail = readTail(line);
    return this.#tail !== null || this.malformed('expected a manifest in canonical form, got another text');
  }

  /** The signed head of the file with the path of its request; none unless a trusted key signed it. */
  heads(trust: Trust | null): readonly SignedHead[] {
    const proof = this.#tail?.proof;
    if (trust === null || proof === undefined || !this.#checks.passed('checkpoint_signatures')) return [];
    const head = SignedHead.open(proof.checkpoint, trust);
    const { index, record, inclusion } = proof.created;
    head.add({ index, leaf: leafHash(record), path: inclusion });
    return [head];
  }

  verdict(trust: Trust | null, derived: DerivedLog | null): ExportVerdict {
    const [head, rows, tail] = [this.#head, this.#rows, this.#tail];
    const checks = this.#checks;
    let proved: ProvedExport | null = null;
    if (head !== null && rows !== null && tail !== null && !checks.failed('format')) {
      if (tail.proof === undefined) {
        checks.fail(
          'rows',
          'EXPORT_WITHOUT_PROOF',
          'expected an export with includeProof (gov export create --proof), got one without',
        );
      } else {
        proved = checkProof(
          { head, rows, manifest: tail.manifest, proof: tail.proof, trust, derived },
          checks,
        );
      }
    }
    const failed = checks.list().find(({ result }) => result === 'failed');
    const unchecked = exportCheckIds.find((id) => !optional.has(id) && !checks.passed(id));
    const { rootHash: _root, ...manifest } = tail?.manifest ?? {};
    return {
      verified: failed === undefined && unchecked === undefined,
      code: failed?.code ?? (unchecked === undefined ? null : 'MALFORMED_EXPORT'),
      resource: head?.resource ?? null,
      exportId: proved?.exportId ?? null,
      requestedBy: proved?.requestedBy ?? null,
      generatedAt: head?.generatedAt ?? null,
      manifest: 'treeSize' in manifest ? (manifest as Omit<ManifestOfRows, 'rootHash'>) : null,
      ...(proved?.signed ?? unsigned),
      completeness: completenessOf(
        settled(checks.list(), exportRests),
        proved?.origin ?? null,
        proved?.deriving,
      ),
      checks: settled(checks.list(), exportRests),
      digests: rows?.counts ?? null,
      notes: proved?.notes ?? [],
    };
  }
}
