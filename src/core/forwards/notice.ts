/**
 * Records that are not leaves: a test by the operator, a probe after a refusal, a notice that leaves were pruned before they
 * were sent, and a signed head, which a receiver can compare with the heads that others have.
 * They have no leaf hash, so the hash is 64 zeros. Proven by `test/core/forwards/record.test.ts`.
 */
import type { JsonObject } from '../json/parse.ts';
import type { ForwardRecord, LogSource } from './record.ts';

interface Notice {
  readonly source: LogSource;
  readonly nowMs: number;
  readonly index: number;
  readonly id: string;
  readonly eventType: string;
  readonly reason: string;
  readonly data: JsonObject;
}

const noHash = `sha256:${'0'.repeat(64)}`;

const notice = ({ source, nowMs, index, id, eventType, reason, data }: Notice): ForwardRecord => ({
  source,
  index,
  leafHash: noHash,
  leafType: eventType,
  id,
  eventType,
  runId: null,
  runSeq: null,
  timeMs: nowMs,
  loggedMs: nowMs,
  actor: { id: 'gov', name: 'gov', type: 'service' },
  action: eventType.replace('gov.forward.', ''),
  resource: null,
  decision: null,
  isDecision: false,
  severity: null,
  reason,
  policy: null,
  riskScore: null,
  aiSystemId: null,
  model: null,
  clientEventId: null,
  causedBy: [],
  erased: 0,
  data,
});

/** `id` makes the record findable at the receiver. */
export const testNotice = (source: LogSource, { nowMs, id }: { nowMs: number; id: string }): ForwardRecord =>
  notice({
    source,
    nowMs,
    index: 0,
    id,
    eventType: 'gov.forward.test',
    reason: 'a test by the operator, not an event of the log',
    data: { test: true },
  });

/** Whether a receiver that refused the record `refused` takes another one. Its index is none of a leaf. */
export const probeNotice = (
  source: LogSource,
  { nowMs, refused }: { nowMs: number; refused: number },
): ForwardRecord =>
  notice({
    source,
    nowMs,
    index: -1,
    id: `probe:${refused}`,
    eventType: 'gov.forward.probe',
    reason: `the receiver refused record ${refused}, and takes others if it takes this one`,
    data: { refused },
  });

export const isNotice = ({ leafType }: Pick<ForwardRecord, 'leafType'>): boolean =>
  leafType.startsWith('gov.forward.');

/** `checkpoint`: the signed note of a tree with `size` leaves. */
export const headNotice = (
  source: LogSource,
  { nowMs, size, root, checkpoint }: { nowMs: number; size: number; root: Uint8Array; checkpoint: string },
): ForwardRecord => {
  const hash = Buffer.from(root).toString('hex');
  return notice({
    source,
    nowMs,
    index: size - 1,
    id: `head:${size}`,
    eventType: 'gov.forward.head',
    reason: `the log signed a tree of ${size} leaves with the root ${hash}`,
    data: { size, root: hash, checkpoint },
  });
};

/** Leaves [from, to) were pruned before they were sent. */
export const gapNotice = (
  source: LogSource,
  { nowMs, from, to }: { nowMs: number; from: number; to: number },
): ForwardRecord =>
  notice({
    source,
    nowMs,
    index: from,
    id: `gap:${from}-${to}`,
    eventType: 'gov.forward.gap',
    reason: `leaves ${from} to ${to - 1} were pruned before they were sent`,
    data: { from, to },
  });
