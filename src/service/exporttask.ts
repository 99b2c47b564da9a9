/**
 * Task: writes the artifact of an export, a page of rows at a time, so that memory is that of a page whatever is
 * exported. Rows are those of the log as it stood when the export was asked for (contract K9-K11).
 * Proven by `test/service/exports.test.ts`.
 */
import { createHash } from 'node:crypto';
import type { ExportFilters } from '../contract/exports.ts';
import { csvHeader, csvRow } from '../core/csv.ts';
import { exportHead, exportRowText, exportTail, type ExportProof } from '../core/exportartifact.ts';
import { exportRow, type ExportLeaf } from '../core/exportrow.ts';
import { readJson, type Json, type JsonObject } from '../core/json.ts';
import { erasuresOf } from '../core/erased.ts';
import { GovError } from '../contract/problems.ts';
import { openEvent } from '../core/record.ts';
import { formatTimestamp } from '../core/time.ts';
import { chunkBytes } from './artifacts.ts';
import { columnsOf } from './exportcolumns.ts';
import { jobRows } from './exportjobs.ts';
import { ProofParts } from './exportproof.ts';
import { leavesOf } from './exportsources.ts';
import { Erasures, lostFields } from './erased.ts';
import type { ExportInput, ExportOutput, Task, TaskContext } from './work.ts';

export const exportTask: Task<'export'> = async (context, input) => {
  const out = new Output((bytes) => context.host.write(bytes));
  const counted =
    input.format === 'csv' ? await writeCsv(context, input, out) : await writeJson(context, input, out);
  return { ...counted, ...(await out.end()) };
};

type Counted = Pick<ExportOutput, 'rowCount' | 'firstSequence' | 'lastSequence'>;

async function writeJson(context: TaskContext, input: ExportInput, out: Output): Promise<Counted> {
  const { resource, filters, createdMs, treeSize, root: rootHash } = input;
  await out.add(exportHead({ resource, generatedAt: formatTimestamp(createdMs), filters }));
  const parts = input.isProved ? new ProofParts(context, input) : null;
  const count = new Count();
  for await (const rows of rowsOf(context, input)) {
    const gaps = parts === null ? [] : await parts.gapsBefore(rows);
    for (const [at, { row, leaf }] of rows.entries()) {
      const gap = gaps[at];
      const evidence = leaf === null || gap === undefined ? undefined : { leaf, gap };
      out.push(exportRowText(row, count.rows === 0, evidence));
      count.add(leaf);
    }
    await out.flush();
  }
  const { rowCount, firstSequence, lastSequence } = count.counted;
  const proof: ExportProof | undefined = parts === null ? undefined : await parts.end();
  await out.add(exportTail({ treeSize, rootHash, firstSequence, lastSequence, rowCount }, proof));
  return count.counted;
}

async function writeCsv(context: TaskContext, input: ExportInput, out: Output): Promise<Counted> {
  const { names, numeric } = columnsOf(input.resource);
  await out.add(csvHeader(names));
  const count = new Count();
  for await (const rows of rowsOf(context, input)) {
    for (const { row, leaf } of rows) {
      const value = readJson(row) as JsonObject;
      out.push(
        csvRow(
          names.map((name): Json => value[name] ?? null),
          numeric,
        ),
      );
      count.add(leaf);
    }
    await out.flush();
  }
  return count.counted;
}

/** A row as JSON, and the leaf that it comes from. */
export interface Row {
  readonly row: string;
  readonly leaf: ExportLeaf | null;
}

async function* rowsOf(
  context: TaskContext,
  input: ExportInput,
): AsyncGenerator<readonly Row[], void, undefined> {
  const filters = JSON.parse(input.filters) as ExportFilters; // stored by the operation that accepted it
  const { projectId, resource, treeSize, createdMs } = input;
  if (resource === 'jobs') {
    for await (const rows of jobRows(context, { projectId, filters, createdMs })) {
      yield rows.map((row) => ({ row, leaf: null }));
    }
    return;
  }
  const erasures = new Erasures(context.reader, projectId);
  for await (const leaves of leavesOf(context, { projectId, resource, filters, treeSize })) {
    const rows: Row[] = [];
    for (const leaf of leaves) {
      if (erasuresOf(leaf.erased ?? null).length > 0)
        await erasures.require({ ...leaf, erased: leaf.erased ?? '' });
      const row = exportRow(resource, leaf);
      if (resource === 'audit_events' && row.includes('"sequence":-1}')) refuseLost(leaf);
      rows.push({ row, leaf });
    }
    yield rows;
  }
}

/** STORAGE_FAULT where the event lost a field that nothing erased, as its reads refuse. */
function refuseLost({ index, record, disclosures, erased }: ExportLeaf): void {
  const event = openEvent(index, record, disclosures ?? '[]', erased ?? null);
  if (event.erased?.some(({ sequence }) => sequence < 0) !== true) return;
  throw lostFields(index, 'a field that was not erased');
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
      throw new GovError('STORAGE_FAULT', `expected a leaf after ${this.#last}, got ${leaf.index}; run fsck`);
    }
    this.#last = leaf.index;
  }

  get counted(): Counted {
    return { rowCount: this.rows, firstSequence: this.#first, lastSequence: this.#last };
  }
}

/** Gathers texts into chunks; one is being written while the next is gathered. */
class Output {
  readonly #write: (bytes: Uint8Array) => Promise<void>;
  readonly #hash = createHash('sha256');
  #texts: string[] = [];
  #chars = 0;
  #bytes = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(write: (bytes: Uint8Array) => Promise<void>) {
    this.#write = write;
  }

  push(text: string): void {
    this.#texts.push(text);
    this.#chars += text.length;
  }

  async add(text: string): Promise<void> {
    this.push(text);
    await this.flush();
  }

  /** Writes what is gathered where it is enough for a chunk. */
  async flush(): Promise<void> {
    if (this.#chars >= chunkBytes / 4) await this.#send();
  }

  async #send(): Promise<void> {
    const bytes = Buffer.from(this.#texts.join(''));
    this.#texts = [];
    this.#chars = 0;
    this.#hash.update(bytes);
    this.#bytes += bytes.length;
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      await this.#writing;
      this.#writing = this.#write(bytes.subarray(at, at + chunkBytes));
      // told where it is waited for
      this.#writing.catch(() => {});
    }
  }

  async end(): Promise<Pick<ExportOutput, 'sizeBytes' | 'digest'>> {
    await this.#send();
    await this.#writing;
    return { sizeBytes: this.#bytes, digest: this.#hash.digest() };
  }
}
