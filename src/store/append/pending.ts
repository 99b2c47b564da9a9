/**
 * The additions of one open transaction to a project, and the plan of one request.
 * The ledger has the durable state; these additions come on top of it. A plan joins them only after the whole
 * request is accepted.
 * Proven by `test/store/suite/log/append.ts`.
 */
import { hashText } from '../../core/hash.ts';
import type { Totals } from '../../core/planes/metering.ts';
import type { LossRecord } from '../../core/decided/loss.ts';
import type { LeafDraft } from '../../core/events/record.ts';
import type { LeafOutcome, Expectations, LeafRange, StoredLeaves } from '../port/store.ts';
import { fineWidth } from './buckets.ts';
import type { Ledger, RunState } from './ledger.ts';
import type { StoredEventId } from './repeats.ts';

import type { Period } from './period.ts';

/** A leaf with its index, before it becomes a row. */
export interface PendingLeaf {
  readonly draft: LeafDraft;
  readonly index: number;
  readonly record: string;
  readonly leaf: Buffer;
  /** Null for leaves that are not events. */
  readonly event: {
    readonly eventId: string;
    readonly run: RunState;
    readonly runSeq: number;
    readonly typeNo: number;
  } | null;
}

/** A metering leaf and the audit leaves that it covers. */
export interface MeterRow {
  readonly index: number;
  readonly firstIndex: number;
  readonly count: number;
  readonly nonce: Buffer;
  readonly record: string;
}

export interface Plan {
  readonly serverMs: number;
  /** The period that meters the request. */
  readonly period: Period;
  readonly entries: PendingLeaf[];
  readonly assigned: LeafOutcome[];
  /** Copies, changed as if the request were accepted. */
  readonly runs: Map<string, RunState>;
  readonly types: Map<string, number>;
}

/** The leaves of a request, whose place in the tree is known after COMMIT. */
export interface AwaitedLeaves extends LeafRange {
  readonly stored: { leaves: StoredLeaves | null };
}

export class PendingCommit {
  readonly ledger: Ledger;
  lastMs: number;
  totals: Totals;
  period: Period | null;
  policyIndex: number | null;
  configIndex: number | null;
  revisedMs: number | null;
  readonly hashes: Buffer[] = [];
  readonly meterHashes: Buffer[] = [];
  readonly awaited: AwaitedLeaves[] = [];
  /** The loss that these additions begin with. */
  loss: LossRecord | null = null;
  /** By position among the leaves of this transaction. */
  readonly eventIds: (string | null)[] = [];
  readonly runs = new Map<string, RunState>();
  readonly types = new Map<string, number>();
  /** Events added by type number, and by run and type number. */
  readonly typeEvents = new Map<number, number>();
  readonly runTypeEvents = new Map<number, Map<number, number>>();
  /** Events added by type number and fine bucket of their time (`buckets.ts`). */
  readonly typeTimes = new Map<number, Map<number, number>>();

  constructor(ledger: Ledger) {
    this.ledger = ledger;
    this.lastMs = ledger.lastMs;
    this.totals = ledger.totals;
    this.period = ledger.period;
    this.policyIndex = ledger.policyIndex;
    this.configIndex = ledger.configIndex;
    this.revisedMs = ledger.revisedMs;
  }

  get size(): number {
    return this.ledger.audit.size + this.hashes.length;
  }

  get meterSize(): number {
    return this.ledger.metering.size + this.meterHashes.length;
  }

  /** An event that this transaction added, or null. */
  eventAt(index: number): StoredEventId | null {
    const at = index - this.ledger.audit.size;
    const [eventId, leaf] = [this.eventIds[at], this.hashes[at]];
    return typeof eventId === 'string' && leaf !== undefined ? { eventId, leafHash: hashText(leaf) } : null;
  }

  /**
   * Whether the log has the expected size, and the expected policies and configuration in force. An absent
   * member always matches.
   */
  isCurrent({ policyIndex, configIndex, auditSize }: Expectations): boolean {
    return (
      (policyIndex === undefined || policyIndex === this.policyIndex) &&
      (configIndex === undefined || configIndex === this.configIndex) &&
      (auditSize === undefined || auditSize === this.size)
    );
  }

  /** Adds an accepted plan. */
  accept(plan: Plan): void {
    this.lastMs = plan.serverMs;
    for (const [runId, run] of plan.runs) this.runs.set(runId, run);
    for (const [name, no] of plan.types) this.types.set(name, no);
    for (const { draft, index, leaf, event } of plan.entries) {
      this.hashes.push(leaf);
      this.eventIds.push(event?.eventId ?? null);
      if (draft.kind === 'other' && draft.type === 'gov.policy/1') this.policyIndex = index;
      if (draft.kind === 'other' && draft.type === 'gov.config/1') this.configIndex = index;
      if (event === null) continue;
      raise(this.typeEvents, event.typeNo);
      raise(countsOf(this.runTypeEvents, event.run.no), event.typeNo);
      if (draft.kind === 'event') {
        raise(countsOf(this.typeTimes, event.typeNo), Math.floor(draft.timestampMs / 2 ** fineWidth));
      }
    }
  }
}

function countsOf(of: Map<number, Map<number, number>>, key: number): Map<number, number> {
  let counts = of.get(key);
  if (counts === undefined) of.set(key, (counts = new Map()));
  return counts;
}

const raise = (counts: Map<number, number>, key: number): void => {
  counts.set(key, (counts.get(key) ?? 0) + 1);
};
