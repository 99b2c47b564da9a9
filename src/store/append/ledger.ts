/**
 * The writer's memory of one project.
 * It has the right edges of both trees, the newest totals and server time, and the runs written lately. An
 * engine reads it from its tables on first use and forgets it when a transaction fails. It therefore never
 * contains more than the disk.
 * Proven by `test/store/suite/log/append.ts`.
 */
import type { Totals } from '../../core/planes/metering.ts';
import type { TileEdge } from '../../core/merkle/tile.ts';
import type { Period } from './period.ts';

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
  /** The newest period; null before the first metered append. */
  period: Period | null;
  /** Index of the newest gov.policy/1 leaf, or null. */
  policyIndex: number | null;
  /** Index of the newest gov.config/1 leaf, or null. */
  configIndex: number | null;
  /** Time of the project's last change; null on a plane, whose project never changes. */
  revisedMs: number | null;
  /** Recently written runs; the least recent comes first. The tables have the others. */
  readonly runs: Map<string, RunState>;
  readonly types: Map<string, number>;
}

/** Runs kept in memory: per project, about 3 MB, and over all projects. */
export const heldRuns = 10_000;
export const heldRunsOfAll = 100_000;

/** Projects kept in memory. Each takes up to 32 KiB besides its runs. */
export const heldLedgers = 1000;
