/**
 * The leaf of a pruning, `gov.prune/1` (`docs/explanation/how-erasure-works.md`): events below `minIndex` moved from the store to an archive.
 * The root of the tree at that size identifies them. Hash tiles stay, so every proof still verifies.
 * Proven by `test/core/decided/prune.test.ts`.
 */
import { readJson, type JsonObject } from '../json/parse.ts';
import { draftLeaf, systemRun, type OtherDraft } from '../events/record.ts';

/** A type, not an interface, because it is JSON. */
export type PruneRecord = {
  readonly minIndex: number;
  /** `sha256:` and the RFC 6962 root of the first `minIndex` leaves. */
  readonly rootAtMinIndex: string;
  /** Hash of the archive file, `sha256:` and 64 hex digits, and its size in bytes. */
  readonly archiveHash: string;
  readonly archiveSize: number;
  readonly reasonCode: string;
  readonly prunedAt: string;
};

export const draftPrune = (prune: PruneRecord): OtherDraft => draftLeaf('gov.prune/1', { ...prune });

/** Reads a pruning; null for another record. Attacker controlled; never throws. */
export function readPrune(record: string): PruneRecord | null {
  if (!record.includes('"type":"gov.prune/1"')) return null;
  let value: JsonObject;
  try {
    value = readJson(record) as JsonObject;
  } catch {
    return null;
  }
  const { type, minIndex, rootAtMinIndex, archiveHash } = value;
  const isOne =
    type === 'gov.prune/1' &&
    Number.isSafeInteger(minIndex) &&
    typeof rootAtMinIndex === 'string' &&
    typeof archiveHash === 'string';
  return isOne ? (value as unknown as PruneRecord) : null;
}

const eventEnding = '"type":"gov.event/1"}';
const ofSystem = `"runId":"${systemRun}"`;

/**
 * Returns the SQL, for both engines, of whether a pruning removes the record in this column: only events, except those of
 * the service. Decisions, proofs and changes stay. Clear members match patterns without quotes, so a text search is as
 * exact as parsing.
 */
export const prunableSql = (record: string): string =>
  `(substr(${record}, length(${record}) - ${eventEnding.length - 1}) = '${eventEnding}'
    AND replace(${record}, '${ofSystem}', '') = ${record})`;
