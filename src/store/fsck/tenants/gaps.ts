/**
 * `fsck`: finds which reports of data planes were missing when later ones arrived.
 * It reads `telemetry.gap_detected` events. They are in the transaction of the report that found the gap, and
 * the service's own events are neither pruned nor erased.
 * Proven by `test/host/data/tamper-receipts.long.test.ts`.
 */
import { storedDigests } from '../../../core/events/disclosure.ts';
import { disclosuresMatch } from '../../../core/events/bodies.ts';
import { openLeaf } from '../../../core/decided/leaf.ts';
import type { EventRecord } from '../../../core/events/record.ts';
import type { Check } from '../check.ts';
import { openedRow } from '../../file/body-seal.ts';
import { parseRecord } from '../record.ts';
import type { Value } from '../../file/connection.ts';
import { positionSql } from '../../file/position.ts';

/** Reports of an epoch that were missing when `before` arrived: from `firstMissing` to the one before it. */
export interface Gap {
  readonly firstMissing: number;
  readonly before: number;
}

interface Row {
  readonly idx: number;
  readonly record: string;
  readonly disclosures: string | null;
}

/** The gaps of an epoch, in no order. Cost: one event for each gap. */
export function recordedGaps(
  check: Check,
  { no, planeId }: { readonly no: number; readonly planeId: string },
): (epoch: number) => readonly Gap[] {
  const find = check.db.prepare<Value[], Row>(
    `SELECT c.idx, leaf.record, body.disclosures FROM client_event c
     JOIN leaf ON leaf.position = ${positionSql('c')} LEFT JOIN body ON body.position = leaf.position
     WHERE c.project = ? AND c.client_event_id > ? AND c.client_event_id < ?`,
  );
  return (epoch) => {
    const names = `telemetry/${planeId}/gap/${epoch}`;
    // `0` is the character after `/`
    return find.all(no, `${names}/`, `${names}0`).flatMap((row) => gapIn(openedRow(check.db, row)));
  };
}

/** For an unreadable event: any report may have been missing. The check of the leaf reports the event. */
const unknown: Gap = { firstMissing: 1, before: Number.MAX_SAFE_INTEGER };

function gapIn({ idx, record, disclosures }: Row): Gap[] {
  const event = parseRecord(record);
  if (event?.type !== 'gov.event/1' || (event as EventRecord).eventType !== 'telemetry.gap_detected')
    return [];
  if (disclosures === null || !disclosuresMatch(record, disclosures)) return [unknown];
  if (new Set(storedDigests(disclosures)).size < event._sd.length) return [unknown];
  const metadata = openLeaf({ index: idx, record, disclosures }).committed.get('metadata');
  const { firstMissing, before } = metadata as unknown as Gap; // the format of the service
  return [{ firstMissing, before }];
}
