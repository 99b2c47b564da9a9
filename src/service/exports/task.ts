/**
 * Task: writes the artifact of an export page by page, so that memory holds one page only. Rows are those of
 * the log when the export was created (contract K9-K11). Proven by `test/service/exports/handlers.test.ts`.
 */
import type { ExportFilters } from '../../contract/exports.ts';
import { csvHeader, csvRow } from '../../core/csv.ts';
import {
  digestsOf,
  exportHead,
  exportRowText,
  exportTail,
  type ExportProof,
  type RowEvidence,
} from '../../core/exports/artifact.ts';
import { limits } from '../../contract/limits.ts';
import { eventCells, eventRow, type EventText } from '../../core/events/text.ts';
import { eventOf, exportRow, type ExportLeaf } from '../../core/exports/row.ts';
import { readJson, type Json, type JsonObject } from '../../core/json/parse.ts';
import { erasuresOf } from '../../core/events/erased.ts';
import { GovError } from '../../contract/problems.ts';
import { formatTimestamp } from '../../core/time.ts';
import { columnsOf } from './columns.ts';
import { Output } from './output.ts';
import { jobRows } from './job-list.ts';
import { ProofParts } from './proof.ts';
import { leavesOf } from './sources.ts';
import { Erasures, refuseLost } from '../erased/fields.ts';
import type { ExportInput, ExportOutput, Task, TaskContext } from '../call/work.ts';

export const exportTask: Task<'export'> = async (context, input) => {
  const out = new Output((bytes) => context.host.write(bytes));
  const counted =
    input.format === 'csv' ? await writeCsv(context, input, out) : await writeJson(context, input, out);
  return { ...counted, ...(await out.end()) };
};

type ExportCounts = Pick<ExportOutput, 'rowCount' | 'firstSequence' | 'lastSequence'>;

async function writeJson(context: TaskContext, input: ExportInput, out: Output): Promise<ExportCounts> {
  const { resource, filters, createdMs, treeSize, root: rootHash } = input;
  out.add(exportHead({ resource, generatedAt: formatTimestamp(createdMs), filters }));
  const parts = input.isProved ? new ProofParts(context, input) : null;
  const count = new Count();
  for await (const rows of rowsOf(context, input)) {
    const gaps = parts === null ? [] : await parts.gapsBefore(rows);
    for (const [at, { row, event, leaf }] of rows.entries()) {
      const gap = gaps[at];
      const evidence = leaf === null || gap === undefined ? undefined : { leaf, gap };
      const text = event === null ? row : eventRow(event);
      if (leaf?.pieces === undefined) out.add(exportRowText(text, count.rows === 0, evidence));
      else await writePieces(leaf.pieces(), { out, isFirst: count.rows === 0, evidence });
      count.add(leaf);
    }
    await out.flush();
  }
  const { rowCount, firstSequence, lastSequence } = count.counted;
  const proof: ExportProof | undefined = parts === null ? undefined : await parts.end();
  const prunedBelow = input.prunedBelow === 0 ? undefined : input.prunedBelow;
  out.add(exportTail({ treeSize, rootHash, firstSequence, lastSequence, rowCount, prunedBelow }, proof));
  return count.counted;
}

/** VALIDATION_ERROR for a row with evidence that is too large for verifiers. */
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

async function writeCsv(context: TaskContext, input: ExportInput, out: Output): Promise<ExportCounts> {
  const { names, numeric } = columnsOf(input.resource);
  out.add(csvHeader(names));
  const count = new Count();
  for await (const rows of rowsOf(context, input)) {
    for (const { row, event, leaf } of rows) {
      out.add(csvRow(event === null ? valuesOf(row, names) : eventCells(event), numeric));
      count.add(leaf);
    }
    await out.flush();
  }
  return count.counted;
}

function valuesOf(row: string, names: readonly string[]): Json[] {
  const value = readJson(row) as JsonObject;
  return names.map((name): Json => value[name] ?? null);
}

/** A row as JSON, or the texts of an event; and the leaf that it comes from. */
type Row =
  | { readonly row: string; readonly event: null; readonly leaf: ExportLeaf | null }
  | { readonly row: null; readonly event: EventText; readonly leaf: ExportLeaf };

async function* rowsOf(
  context: TaskContext,
  input: ExportInput,
): AsyncGenerator<readonly Row[], void, undefined> {
  const filters = JSON.parse(input.filters) as ExportFilters; // the operation that accepted it stored it
  const { projectId, resource, treeSize, jobsUntilMs } = input;
  if (resource === 'jobs') {
    for await (const rows of jobRows(context, { projectId, filters, untilMs: jobsUntilMs })) {
      yield rows.map((row) => ({ row, event: null, leaf: null }));
    }
    return;
  }
  const erasures = new Erasures(context.reader, projectId);
  for await (const leaves of leavesOf(context, { projectId, resource, filters, treeSize })) {
    const rows: Row[] = [];
    for (const leaf of leaves) {
      const event = resource === 'audit_events' ? eventOf(leaf) : null;
      if (event !== null) {
        rows.push({ row: null, event, leaf });
        continue;
      }
      if (erasuresOf(leaf.erased ?? null).length > 0)
        await erasures.require({ ...leaf, erased: leaf.erased ?? '' });
      refuseLost(leaf, digestsOf(leaf.record) ?? []);
      const row = leaf.pieces === undefined ? exportRow(resource, leaf) : '';
      rows.push({ row, event: null, leaf });
    }
    yield rows;
  }
}

class Count {
  rows = 0;
  #first: number | null = null;
  #last: number | null = null;

  add(leaf: ExportLeaf | null): void {
    this.rows += 1;
    if (leaf === null) return;
    this.#first ??= leaf.index;
    if (this.#last !== null && leaf.index <= this.#last) {
      throw new GovError(
        'STORAGE_FAULT',
        `expected a leaf after ${this.#last}, got ${leaf.index}; run gov log fsck`,
      );
    }
    this.#last = leaf.index;
  }

  get counted(): ExportCounts {
    return { rowCount: this.rows, firstSequence: this.#first, lastSequence: this.#last };
  }
}
