/** `fsck`: reading a record that may be anything, and what a part of the check does with it. */
import { disclosuresMatch } from '../../core/event/bodies.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import { canonicalize, readJson, type Json, type JsonObject } from '../../core/json/parse.ts';
import type { EventRecord } from '../../core/event/record.ts';

/** A part of the check that sees the records that are no events, in index order. */
export interface RecordCheck {
  visit(index: number, record: JsonObject, committed: Committed): void;
  finish(): void;
}

/** Opens the committed members of a record; none of them where its body is not the one that was logged. */
export type Committed = () => ReadonlyMap<string, Json>;

export const committedBy = (row: {
  readonly idx: number;
  readonly record: string;
  readonly disclosures: string | null;
}): Committed => {
  const { idx: index, record, disclosures } = row;
  return () =>
    disclosures !== null && disclosuresMatch(record, disclosures)
      ? openLeaf({ index, record, disclosures }).committed
      : new Map();
};

/** A member of a record that may be anything, as it is shown and compared. */
export const shown = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);

export type AnyRecord = Omit<EventRecord, 'type'> & { type: string };

const eventTexts = ['eventId', 'runId', 'eventType', 'timestamp', 'serverTimestamp'] as const;

/** Null where the text is not what the sequencer writes. Members of records that are no events may be anything. */
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
