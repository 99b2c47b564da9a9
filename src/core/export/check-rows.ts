/**
 * The rows of an export that is verified, one after the other: each is what its leaf and the disclosed values give, fits
 * what was asked for, and its leaf goes into the root of all. Proven by `test/core/export/artifact.test.ts`.
 */
import { openLeaf } from '../decided/leaf.ts';
import { openReplay, type ReplayRecord } from '../decided/replay.ts';
import { storedDigests } from '../event/disclosure.ts';
import { unkeptOf } from '../event/erased.ts';
import { digestsOf, erasedText, type ExportHead, type ReadRow } from './artifact.ts';
import { leafTypes, rowBounds, rowOfLeaf, type ExportLeaf, type LoggedResource } from './row.ts';
import type { ExportChecks } from './checks.ts';
import { readJson, type Json, type JsonObject } from '../json/parse.ts';
import { leafHash } from '../merkle/tree.ts';
import { MultiproofRoot } from '../merkle/multi-proof.ts';
import { withdrawnRowBy } from '../replay/withdrawn.ts';
import { readRecord, strictObject, strictValue } from '../event/run-entry.ts';
import { parseTimestamp } from '../time.ts';
import type { DigestCounts } from '../proof/verdict.ts';

/** A field that a row lacks: of which leaf, and which leaf is said to have erased it. */
export interface ErasedField {
  readonly index: number;
  readonly digest: string;
}

/** A row that stands in place of the result of a replay, by the word of a leaf. */
export interface Withdrawal extends Pick<ReplayRecord, 'runId' | 'kind'> {
  /** Of the replay. */
  readonly index: number;
  readonly by: number;
}

/** Throws what parsers throw. */
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
  /** By the leaf that is said to have erased them. */
  readonly erased = new Map<number, ErasedField[]>();
  first: number | null = null;
  last: number | null = null;
  count = 0;
  /** Results of replays that are not shown. */
  readonly withdrawn: Withdrawal[] = [];

  constructor(head: ExportHead & { readonly asked: JsonObject }, checks: ExportChecks) {
    this.#head = head;
    this.#checks = checks;
  }

  get counts(): DigestCounts {
    return this.#counts;
  }

  /** A row without evidence. */
  unproved(): void {
    this.count++;
    this.#checks.fail('rows', 'EXPORT_WITHOUT_PROOF', `row ${this.count} has no evidence`);
  }

  /** `line`: where it stands, for people. */
  add({ leaf, gap, row }: ReadRow, line: number): void {
    this.count++;
    this.first ??= leaf.index;
    this.last = leaf.index;
    this.#root.leaf(leaf.index, leafHash(leaf.record), gap);
    const fault = this.#faultOf(leaf, row);
    if (fault !== null) {
      this.#checks.fail('rows', 'ROW_MISMATCH', `line ${line}, leaf ${leaf.index}: ${fault}`);
    } else if (this.#head.resource === 'replays') {
      const withdrawal = withdrawalIn(leaf, row);
      if (withdrawal !== null) this.withdrawn.push(withdrawal);
    }
  }

  /** The root of the leaves below `size`; null where the leaves and the hashes between them have none. */
  root(size: number, gap: readonly Uint8Array[]): Buffer | null {
    return this.#root.root(size, gap);
  }

  #faultOf(leaf: ExportLeaf, row: string): string | null {
    const { resource, asked } = this.#head;
    if (resource === 'jobs') return 'expected a resource of the log, got jobs';
    const members = membersOf(resource, leaf.record, row);
    const digests = digestsOf(leaf.record);
    if (members === null || digests === null) return `expected a leaf ${leafTypes[resource]}, got another`;
    if (!isAsked(members, asked))
      return 'expected a row that was asked for, got one that the filters leave out';
    return (
      this.#openFault(leaf, digests) ?? (isRowOf(resource, leaf, row) ? null : 'the row says something else')
    );
  }

  /** Every disclosed value belongs to the leaf, and every other one was erased, by the leaf's word. */
  #openFault(leaf: ExportLeaf, digests: readonly string[]): string | null {
    const { index, disclosures, erased = null } = leaf;
    if (digests.length === 0 && disclosures !== null)
      return 'expected no disclosed values of a leaf that commits to none, got some';
    const opened = disclosures === null ? [] : storedDigests(disclosures);
    if (opened === null || (disclosures !== null && !areFields(disclosures)))
      return 'expected a list of disclosed values, got something else';
    const unopened = new Set(digests);
    for (const digest of opened) if (!unopened.delete(digest)) return 'a disclosed value is not of this leaf';
    this.#counts.disclosed += opened.length;
    if (unopened.size === 0) return erased === null ? null : 'expected nothing erased, got some';
    const { erased: gone, missing } = unkeptOf(digests, { disclosures, erased });
    if (erasedText(leaf) !== erased)
      return 'expected the erased fields as they are written, got another text';
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

/** Whether a text is `JCS([[salt, pointer, value], …])`: rows are made of its parts as they stand. Attacker controlled. */
function areFields(text: string): boolean {
  const value = strictValue(text, rowBounds);
  const isField = (item: Json): boolean =>
    Array.isArray(item) && item.length === 3 && typeof item[0] === 'string' && typeof item[1] === 'string';
  return Array.isArray(value) && value.every(isField);
}

interface Members {
  readonly runId: string | null;
  readonly eventType: string | null;
  /** By which filters of time go; null where the resource has none. */
  readonly timestamp: string | null;
}

/** What filters speak of, in the record, or in a row that the record commits to; null where it is of another type. */
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
      return null; // no filter of time is taken for them
  }
}

/** Attacker controlled; whether the row is that of its leaf is asked next. */
function createdAt(row: string): string {
  try {
    return textOf((readJson(row) as JsonObject)['createdAt']);
  } catch {
    return '';
  }
}

/** What is no time is within no bounds. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Whether filters let it pass. */
function isAsked({ runId, eventType, timestamp }: Members, asked: JsonObject): boolean {
  if (asked['runId'] !== undefined && asked['runId'] !== runId) return false;
  if (asked['eventType'] !== undefined && asked['eventType'] !== eventType) return false;
  const { startTime, endTime } = asked;
  if (startTime === undefined && endTime === undefined) return true;
  const atMs = timestamp === null ? NaN : (parseTimestamp(timestamp) ?? NaN);
  const isLate = typeof startTime !== 'string' || atMs >= (parseTimestamp(startTime) ?? NaN);
  return isLate && (typeof endTime !== 'string' || atMs <= (parseTimestamp(endTime) ?? NaN));
}

/** Attacker controlled: what cannot be read as one is none. */
function withdrawalIn(leaf: ExportLeaf, row: string): Withdrawal | null {
  try {
    return withdrawalOf(leaf, row);
  } catch {
    return null;
  }
}

/** Attacker controlled: whatever reading it ends with, it is no row of the leaf. */
function isRowOf(resource: LoggedResource, leaf: ExportLeaf, row: string): boolean {
  try {
    return rowOfLeaf(resource, leaf, row) === row;
  } catch {
    return false;
  }
}
