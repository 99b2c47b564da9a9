/**
 * Row checks of an export: each row follows from its leaf and the disclosed values and matches the filters, and its leaf
 * counts towards the root of all leaves. Proven by `test/core/exports/artifact.test.ts`.
 */
import { openLeaf } from '../decided/leaf.ts';
import { openReplay, type ReplayRecord } from '../decided/replay.ts';
import { storedDigests } from '../events/disclosure.ts';
import { unkeptOf } from '../events/erased.ts';
import { digestsOf, erasedText, type ExportHead, type ReadRow } from './artifact.ts';
import { isAsked, planOf, type Members } from './filters.ts';
import { RowLists } from './row-lists.ts';
import { leafTypes, rowBounds, rowOfLeaf, type ExportLeaf, type LoggedResource } from './row.ts';
import type { ExportChecks } from './checks.ts';
import { readJson, type Json, type JsonObject } from '../json/parse.ts';
import { leafHash } from '../merkle/tree.ts';
import { MultiproofRoot } from '../merkle/multi-proof.ts';
import { withdrawnRowBy } from '../replay/withdrawn.ts';
import { readRecord, strictObject, strictValue } from '../events/run-entry.ts';
import type { DigestCounts } from '../proofs/verdict.ts';

/** A field that a row lacks: index of its leaf, and its digest. */
export interface ErasedField {
  readonly index: number;
  readonly digest: string;
}

/** A row that replaces the result of a replay, because leaf `by` withdrew the result. */
export interface Withdrawal extends Pick<ReplayRecord, 'runId' | 'kind'> {
  /** Leaf index of the replay. */
  readonly index: number;
  readonly by: number;
}

/** Returns the withdrawal that a row of a replay states, or null. Throws the errors of the parsers. */
export function withdrawalOf(leaf: ExportLeaf, row: string): Withdrawal | null {
  const { index } = leaf;
  const logged = openReplay(openLeaf(leaf));
  const { runId, kind } = logged;
  const by = withdrawnRowBy(logged, row);
  return by === null ? null : { index, runId, kind, by };
}

export class RowCheck {
  readonly #head: ExportHead & { readonly asked: JsonObject };
  readonly #checks: ExportChecks;
  readonly #root = new MultiproofRoot();
  readonly #counts = { disclosed: 0, withheld: 0, erased: 0, missing: 0 };
  /** By index of the leaf that erased them, according to the rows. */
  readonly erased = new Map<number, ErasedField[]>();
  first: number | null = null;
  last: number | null = null;
  count = 0;
  /** Withdrawn results of replays. */
  readonly withdrawn: Withdrawal[] = [];
  /** The lists of the index that the rows make; null if it has none for the filters. */
  readonly lists: RowLists | null;

  constructor(head: ExportHead & { readonly asked: JsonObject }, checks: ExportChecks) {
    this.#head = head;
    const plan = planOf(head.resource, head.asked);
    this.lists = plan === null ? null : new RowLists(plan, head.asked);
    this.#checks = checks;
  }

  get counts(): DigestCounts {
    return this.#counts;
  }

  /** Records a row without evidence. */
  unproved(): void {
    this.count++;
    this.#checks.fail('rows', 'EXPORT_WITHOUT_PROOF', `row ${this.count} has no evidence`);
  }

  /** Checks the next row. `line`: its line number, for messages. */
  add({ leaf, gap, row }: ReadRow, line: number): void {
    this.count++;
    this.first ??= leaf.index;
    this.last = leaf.index;
    const hash = leafHash(leaf.record);
    this.#root.leaf(leaf.index, hash, gap);
    const fault = this.#faultOf(leaf, row);
    if (fault === null) this.lists?.add(leaf.index, leaf.record, hash);
    if (fault !== null) {
      this.#checks.fail('rows', 'ROW_MISMATCH', `line ${line}, leaf ${leaf.index}: ${fault}`);
    } else if (this.#head.resource === 'replays') {
      const withdrawal = withdrawalIn(leaf, row);
      if (withdrawal !== null) this.withdrawn.push(withdrawal);
    }
  }

  /** Returns the root of the leaves below `size`; null if leaves and gap hashes do not form a tree. */
  root(size: number, gap: readonly Uint8Array[]): Buffer | null {
    return this.#root.root(size, gap);
  }

  #faultOf(leaf: ExportLeaf, row: string): string | null {
    const { resource, asked } = this.#head;
    if (resource === 'jobs') return 'expected a resource with leaves in the log, got jobs';
    const members = membersOf(resource, leaf.record, row);
    const digests = digestsOf(leaf.record);
    if (members === null || digests === null)
      return `expected a leaf of type ${leafTypes[resource]}, got another type`;
    if (!isAsked(members, asked)) return 'expected a row that matches the filters, got another';
    return (
      this.#openFault(leaf, digests) ??
      (isRowOf(resource, leaf, row) ? null : 'expected the row of this leaf, got another text')
    );
  }

  /** Checks that every disclosed value belongs to the leaf, and that the leaf names an erasure for every other one. */
  #openFault(leaf: ExportLeaf, digests: readonly string[]): string | null {
    const { index, disclosures, erased = null } = leaf;
    if (digests.length === 0 && disclosures !== null)
      return 'expected no disclosed values for a leaf without commitments, got some';
    const opened = disclosures === null ? [] : storedDigests(disclosures);
    if (opened === null || (disclosures !== null && !areFields(disclosures)))
      return 'expected a list of disclosed values, got something else';
    const unopened = new Set(digests);
    for (const digest of opened)
      if (!unopened.delete(digest)) return 'expected values that the leaf commits to, got another value';
    this.#counts.disclosed += opened.length;
    if (unopened.size === 0) return erased === null ? null : 'expected no erased fields, got some';
    const { erased: gone, missing } = unkeptOf(digests, { disclosures, erased });
    if (erasedText(leaf) !== erased) return 'expected the erased fields in canonical form, got another text';
    this.#counts.missing += missing.length;
    this.#counts.erased += gone.length;
    for (const { digest, leaf: by } of gone) {
      const fields = this.erased.get(by) ?? [];
      fields.push({ index, digest });
      this.erased.set(by, fields);
    }
    return null;
  }
}

/** Returns whether a text is `JCS([[salt, pointer, value], …])`: rows contain its parts unchanged. Attacker controlled. */
function areFields(text: string): boolean {
  const value = strictValue(text, rowBounds);
  const isField = (item: Json): boolean =>
    Array.isArray(item) && item.length === 3 && typeof item[0] === 'string' && typeof item[1] === 'string';
  return Array.isArray(value) && value.every(isField);
}

/** Returns the members that filters compare, from the record or the row that it commits to; null for another leaf type. */
function membersOf(resource: LoggedResource, record: string, row: string): Members | null {
  if (resource === 'audit_events') return readRecord(record);
  const clear = strictObject(record);
  if (clear?.['type'] !== leafTypes[resource]) return null;
  const { runId } = clear;
  return {
    runId: typeof runId === 'string' ? runId : null,
    eventType: null,
    timestamp: timeOf(resource, clear, row),
  };
}

function timeOf(
  resource: Exclude<LoggedResource, 'audit_events'>,
  clear: JsonObject,
  row: string,
): string | null {
  switch (resource) {
    case 'risk_decisions':
    case 'policy_evaluations':
      return textOf(clear['evaluatedAt']);
    case 'compliance_proofs':
    case 'replays':
      return createdAt(row);
    case 'causal_graphs':
      return null; // causal graphs have no time filter
  }
}

/** Attacker controlled; `isRowOf` compares the row with its leaf afterwards. */
function createdAt(row: string): string {
  try {
    return textOf((readJson(row) as JsonObject)['createdAt']);
  } catch {
    return '';
  }
}

/** An empty text is outside of every time range. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Attacker controlled: null for a row that cannot be parsed as a withdrawal. */
function withdrawalIn(leaf: ExportLeaf, row: string): Withdrawal | null {
  try {
    return withdrawalOf(leaf, row);
  } catch {
    return null;
  }
}

/** Attacker controlled: false for any parse error. */
function isRowOf(resource: LoggedResource, leaf: ExportLeaf, row: string): boolean {
  try {
    return rowOfLeaf(resource, leaf, row) === row;
  } catch {
    return false;
  }
}
