/**
 * The leaf of a pruning, `gov.prune/1` (docs/how-to/keep-and-prune.md): events below `minIndex` stand in an archive from here on, and
 * no longer in the store; the root of the tree at that size says which. Hash tiles stay, so every proof verifies as before.
 * Proven by `test/core/decided/prune.test.ts`.
 */
import { readJson, type JsonObject } from '../json/parse.ts';
import { draftLeaf, systemRun, type OtherDraft } from '../event/record.ts';

/** A type, not an interface: it is JSON. */
export type PruneRecord = {
  readonly minIndex: number;
  /** `sha256:` and the RFC 6962 root of the first `minIndex` leaves. */
  readonly rootAtMinIndex: string;
  /** Of the file: `sha256:` and 64 hex digits, and its bytes. */
  readonly archiveHash: string;
  readonly archiveSize: number;
  readonly reasonCode: string;
  readonly prunedAt: string;
};

export const draftPrune = (prune: PruneRecord): OtherDraft => draftLeaf('gov.prune/1', { ...prune });

/** Null where the record is no pruning. The text may be anything; never throws. */
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
 * Whether pruning takes the record: events do, but those of the service itself; what was decided, proved and changed
 * stays. Clear members match patterns without quotes, so their text is what parsing would say.
 */
export const isPrunable = (record: string): boolean =>
  record.endsWith(eventEnding) && !record.includes(ofSystem);

/** The same in SQL of both engines; `record` is a column. */
export const prunableSql = (record: string): string =>
  `(substr(${record}, length(${record}) - ${eventEnding.length - 1}) = '${eventEnding}'
    AND replace(${record}, '${ofSystem}', '') = ${record})`;
