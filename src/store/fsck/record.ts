/**
 * `fsck`: reads a record of any content, and defines a part of the check that reads records.
 * Proven by `test/store/fsck/tamper.test.ts`.
 */
import { disclosuresMatch } from '../../core/events/bodies.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import { canonicalize, readJson, type Json, type JsonObject } from '../../core/json/parse.ts';
import type { EventRecord } from '../../core/events/record.ts';

/** A part of the check that gets the records other than events, in index order. */
export interface RecordCheck {
  visit(index: number, record: JsonObject, committed: CommittedReader): void;
  finish(): void;
}

/** Opens the committed members of a record. Returns none of them if the body is altered or missing. */
export type CommittedReader = () => ReadonlyMap<string, Json>;

export const committedBy = (row: {
  readonly idx: number;
  readonly record: string;
  readonly disclosures: string | null;
}): CommittedReader => {
  const { idx: index, record, disclosures } = row;
  return () =>
    disclosures !== null && disclosuresMatch(record, disclosures)
      ? openLeaf({ index, record, disclosures }).committed
      : new Map();
};

/** The text of a record's member, for display and comparison. The member may have any type. */
export const shown = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);

export type AnyRecord = Omit<EventRecord, 'type'> & { type: string };

const eventTexts = ['eventId', 'runId', 'eventType', 'timestamp', 'serverTimestamp'] as const;

/**
 * Returns null if the sequencer could not have written the text. Records other than events may have any
 * members.
 */
export function parseRecord(record: string): AnyRecord | null {
  try {
    const value = readJson(record) as JsonObject;
    if (canonicalize(value) !== record || !Array.isArray(value['_sd'] as Json)) return null;
    if (value['type'] !== 'gov.event/1') return value as unknown as AnyRecord;
    const isEvent =
      eventTexts.every((name) => typeof value[name] === 'string') && Number.isSafeInteger(value['runSeq']);
    return isEvent ? (value as unknown as AnyRecord) : null;
  } catch {
    return null;
  }
}
