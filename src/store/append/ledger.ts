/**
 * What a writer knows of one project in memory: both trees' right edges, the newest totals and server time,
 * the runs written lately. Engines read it from their tables when first needed, and forget it when a transaction
 * fails, so it never says more than the disk does.
 */
import type { Totals } from '../../core/plane/metering.ts';
import type { TileEdge } from '../../core/merkle/tile.ts';
import type { Period } from './quota.ts';

/** A row of `run`. */
export interface RunState {
  readonly no: number;
  readonly runId: string;
  events: number;
  readonly firstIndex: number;
  lastIndex: number;
  /** Smallest and largest client timestamp. */
  firstMs: number;
  lastMs: number;
  lastServerMs: number;
  aiSystemId: string | null;
}

export interface Ledger {
  readonly no: number;
  readonly audit: TileEdge;
  readonly metering: TileEdge;
  /** The newest server time of both trees. */
  lastMs: number;
  totals: Totals;
  /** The newest one, null before anything was metered. */
  period: Period | null;
  /** Index of the newest gov.policy/1 leaf, null where there is none. */
  policyIndex: number | null;
  /** As above, of gov.config/1. */
  configIndex: number | null;
  /** When the project was changed last, null where it never is: on a plane. */
  revisedMs: number | null;
  /** Recently written runs, least recently first; the tables hold the others. */
  readonly runs: Map<string, RunState>;
  readonly types: Map<string, number>;
}

/** Runs kept in memory per project, about 3 MB, and of all projects. */
export const heldRuns = 10_000;
export const heldRunsOfAll = 100_000;

/** Projects kept in memory, of up to 32 KiB each beside their runs. */
export const heldLedgers = 1000;
