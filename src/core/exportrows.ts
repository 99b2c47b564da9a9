/**
 * The rows of an export that is verified, one after the other: each is what its leaf and the disclosed values give, fits
 * what was asked for, and its leaf goes into the root of all. Proven by `test/core/exportartifact.test.ts`.
 */
import { storedDigests } from './disclosure.ts';
import { unkeptOf } from './erased.ts';
import { digestsOf, erasedText, type ExportHead, type ReadRow } from './exportartifact.ts';
import { isWithdrawnRow, leafTypes, rowOfLeaf, type ExportLeaf, type LoggedResource } from './exportrow.ts';
import type { ExportChecks } from './exportverify.ts';
import type { JsonObject } from './json.ts';
import { leafHash } from './merkle.ts';
import { MultiproofRoot } from './multiproof.ts';
import { readRecord, strictObject } from './runevent.ts';
import { parseTimestamp } from './time.ts';
import type { DigestCounts } from './verdict.ts';

/** A field that a row lacks: of which leaf, and which leaf is said to have erased it. */
export interface ErasedField {
  readonly index: number;
  readonly digest: string;
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
  withdrawn = 0;

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
    } else if (this.#head.resource === 'replays' && isWithdrawnRow(leaf, row)) this.withdrawn++;
  }

  /** The root of the leaves below `size`; null where the leaves and the hashes between them have none. */
  root(size: number, gap: readonly Uint8Array[]): Buffer | null {
    return this.#root.root(size, gap);
  }

  #faultOf(leaf: ExportLeaf, row: string): string | null {
    const { resource, asked } = this.#head;
    if (resource === 'jobs') return 'expected a resource of the log, got jobs';
    const members = membersOf(resource, leaf.record);
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
    const opened = disclosures === null ? [] : storedDigests(disclosures);
    if (opened === null) return 'expected a list of disclosed values, got something else';
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

interface Members {
  readonly runId: string | null;
  readonly eventType: string | null;
  readonly timestamp: string | null;
}

/** What of a record filters speak of; null where it is of another type. */
function membersOf(resource: LoggedResource, record: string): Members | null {
  if (resource === 'audit_events') return readRecord(record);
  const clear = strictObject(record);
  if (clear?.['type'] !== leafTypes[resource]) return null;
  const { runId } = clear;
  return { runId: typeof runId === 'string' ? runId : null, eventType: null, timestamp: null };
}

/** Whether filters that the record can be held against let it pass. */
function isAsked({ runId, eventType, timestamp }: Members, asked: JsonObject): boolean {
  if (asked['runId'] !== undefined && asked['runId'] !== runId) return false;
  if (timestamp === null) return true;
  if (asked['eventType'] !== undefined && asked['eventType'] !== eventType) return false;
  const atMs = parseTimestamp(timestamp) ?? NaN;
  const { startTime, endTime } = asked;
  const isLate = typeof startTime !== 'string' || atMs >= (parseTimestamp(startTime) ?? NaN);
  return isLate && (typeof endTime !== 'string' || atMs <= (parseTimestamp(endTime) ?? NaN));
}

/** Attacker controlled: whatever reading it ends with, it is no row of the leaf. */
function isRowOf(resource: LoggedResource, leaf: ExportLeaf, row: string): boolean {
  try {
    return rowOfLeaf(resource, leaf, row) === row;
  } catch {
    return false;
  }
}
