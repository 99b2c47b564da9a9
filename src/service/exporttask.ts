/**
 * Task: writes the artifact of an export, a page of rows at a time, so that memory is that of a page whatever is
 * exported. Rows are those of the log as it stood when the export was asked for (contract K9-K11).
 * Proven by `test/service/exports.test.ts`.
 */
import { limits } from '../contract/limits.ts';
import { GovError } from '../contract/problems.ts';
import { csvHeader } from '../core/csv.ts';
import {
  exportHead,
  exportRowText,
  exportTail,
  type ExportProof,
  type RowEvidence,
} from '../core/exportartifact.ts';
import { formatTimestamp } from '../core/time.ts';
import { columnsOf } from './exportcolumns.ts';
import { isJoined, writeJoined } from './exportjoin.ts';
import { Output } from './exportoutput.ts';
import { ProofParts } from './exportproof.ts';
import { Count, rowsOf, type Counted } from './exportrows.ts';
import { rowTextOf } from './exporttext.ts';
import type { ExportInput, Task, TaskContext } from './work.ts';

export const exportTask: Task<'export'> = async (context, input) => {
  const out = new Output((bytes) => context.host.write(bytes));
  const counted =
    input.format === 'csv' ? await writeCsv(context, input, out) : await writeJson(context, input, out);
  return { ...counted, ...(await out.end()) };
};

async function writeJson(context: TaskContext, input: ExportInput, out: Output): Promise<Counted> {
  const { resource, filters, createdMs, treeSize, root: rootHash } = input;
  out.add(exportHead({ resource, generatedAt: formatTimestamp(createdMs), filters }));
  const parts = input.isProved ? new ProofParts(context, input) : null;
  const counted = isJoined(input)
    ? await writeJoined(context, input, out)
    : await writeRows(context, input, { out, parts });
  const proof: ExportProof | undefined = parts === null ? undefined : await parts.end();
  const prunedBelow = input.prunedBelow === 0 ? undefined : input.prunedBelow;
  out.add(exportTail({ treeSize, rootHash, ...counted, prunedBelow }, proof));
  return counted;
}

async function writeRows(
  context: TaskContext,
  input: ExportInput,
  { out, parts }: { readonly out: Output; readonly parts: ProofParts | null },
): Promise<Counted> {
  const textOf = rowTextOf('json', input.resource);
  const count = new Count();
  for await (const rows of rowsOf(context, input)) {
    const gaps = parts === null ? [] : await parts.gapsBefore(rows);
    for (const [at, row] of rows.entries()) {
      const { leaf } = row;
      const gap = gaps[at];
      const evidence = leaf === null || gap === undefined ? undefined : { leaf, gap };
      if (leaf?.pieces === undefined) out.add(exportRowText(textOf(row), count.rows === 0, evidence));
      else await writePieces(leaf.pieces(), { out, isFirst: count.rows === 0, evidence });
      count.add(leaf);
    }
    await out.flush();
  }
  return count.counted;
}

/** VALIDATION_ERROR for a row with evidence that no verifier would read. */
async function writePieces(
  pieces: AsyncIterable<string>,
  {
    out,
    isFirst,
    evidence,
  }: { readonly out: Output; readonly isFirst: boolean; readonly evidence: RowEvidence | undefined },
): Promise<void> {
  let bytes = 0;
  for await (const piece of pieces) {
    out.add(bytes === 0 ? exportRowText(piece, isFirst, evidence) : piece);
    bytes += Buffer.byteLength(piece);
    if (evidence !== undefined && bytes > limits.exportLineBytes) {
      const detail = `expected rows of at most ${limits.exportLineBytes} bytes, which verifiers read, got more of leaf ${evidence.leaf.index}; export without proof, or run by run`;
      throw new GovError('VALIDATION_ERROR', detail);
    }
    await out.flush();
  }
}

async function writeCsv(context: TaskContext, input: ExportInput, out: Output): Promise<Counted> {
  out.add(csvHeader(columnsOf(input.resource).names));
  if (isJoined(input)) return writeJoined(context, input, out);
  const textOf = rowTextOf('csv', input.resource);
  const count = new Count();
  for await (const rows of rowsOf(context, input)) {
    for (const row of rows) {
      out.add(textOf(row));
      count.add(row.leaf);
    }
    await out.flush();
  }
  return count.counted;
}
