/** The rows of an export, out of the leaves that they show. Proven by `test/service/exports.test.ts`. */
import type { ExportFilters } from '../contract/exports.ts';
import { GovError } from '../contract/problems.ts';
import { erasuresOf } from '../core/erased.ts';
import type { EventText } from '../core/eventtext.ts';
import { eventOf, exportRow, type ExportLeaf, type LoggedResource } from '../core/exportrow.ts';
import { openEvent } from '../core/record.ts';
import { Erasures, lostFields } from './erased.ts';
import { jobRows } from './exportjobs.ts';
import { leavesOf, type LeafPages } from './exportsources.ts';
import type { ExportInput, ExportOutput, TaskContext } from './work.ts';

/** A row as JSON, or the texts of the event that it is; and the leaf that it comes from. */
export type Row =
  | { readonly row: string; readonly event: null; readonly leaf: ExportLeaf | null }
  | { readonly row: null; readonly event: EventText; readonly leaf: ExportLeaf };

export type RowPages = AsyncGenerator<readonly Row[], void, undefined>;

/** As the operation that accepted them stored them. */
export const filtersOf = ({ filters }: Pick<ExportInput, 'filters'>): ExportFilters =>
  JSON.parse(filters) as ExportFilters;

/** All rows of an export. */
export async function* rowsOf(context: TaskContext, input: ExportInput): RowPages {
  const filters = filtersOf(input);
  const { projectId, resource, treeSize, jobsUntilMs } = input;
  if (resource !== 'jobs') {
    const leaves = leavesOf(context, { projectId, resource, filters, treeSize });
    yield* rowsOfLeaves(context, { projectId, resource, leaves });
    return;
  }
  for await (const rows of jobRows(context, { projectId, filters, untilMs: jobsUntilMs })) {
    yield rows.map((row) => ({ row, event: null, leaf: null }));
  }
}

/** STORAGE_FAULT where a leaf lost fields that nothing erased. */
export async function* rowsOfLeaves(
  context: TaskContext,
  {
    projectId,
    resource,
    leaves: pages,
  }: { readonly projectId: string; readonly resource: LoggedResource; readonly leaves: LeafPages },
): RowPages {
  const erasures = new Erasures(context.reader, projectId);
  for await (const leaves of pages) {
    const rows: Row[] = [];
    for (const leaf of leaves) {
      const event = resource === 'audit_events' ? eventOf(leaf) : null;
      if (event !== null) {
        rows.push({ row: null, event, leaf });
        continue;
      }
      if (erasuresOf(leaf.erased ?? null).length > 0)
        await erasures.require({ ...leaf, erased: leaf.erased ?? '' });
      if (resource === 'audit_events') refuseLost(leaf);
      const row = leaf.pieces === undefined ? exportRow(resource, leaf) : '';
      rows.push({ row, event: null, leaf });
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

export type Counted = Pick<ExportOutput, 'rowCount' | 'firstSequence' | 'lastSequence'>;

/** Counts rows, of which each must come from a leaf behind the one before. */
export class Count {
  #rows = 0;
  #first: number | null = null;
  #last: number | null = null;

  get rows(): number {
    return this.#rows;
  }

  add(leaf: ExportLeaf | null): void {
    if (leaf !== null) this.#take(leaf.index, leaf.index);
    this.#rows += 1;
  }

  /** Rows that were counted elsewhere. */
  addAll({ rowCount, firstSequence, lastSequence }: Counted): void {
    if (firstSequence !== null && lastSequence !== null) this.#take(firstSequence, lastSequence);
    this.#rows += rowCount;
  }

  #take(first: number, last: number): void {
    this.#first ??= first;
    if (this.#last !== null && first <= this.#last) {
      throw new GovError('STORAGE_FAULT', `expected a leaf after ${this.#last}, got ${first}; run fsck`);
    }
    this.#last = last;
  }

  get counted(): Counted {
    return { rowCount: this.#rows, firstSequence: this.#first, lastSequence: this.#last };
  }
}
