/** `fsck`: reading a record that may be anything, and what a part of the check does with it. */
import { canonicalize, readJson, type Json, type JsonObject } from '../../core/json.ts';
import type { EventRecord } from '../../core/record.ts';

/** A part of the check that sees the records that are no events, in index order. */
export interface RecordCheck {
  visit(index: number, record: JsonObject): void;
  finish(): void;
}

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
