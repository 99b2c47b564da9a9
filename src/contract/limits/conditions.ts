/** Limits: conditions of policies. */
import { KiB } from './units.ts';

export const conditions = {
  conditionBytes: 64 * KiB,
  conditionNodes: 512,
  conditionDepth: 32,
  conditionPath: 16,
  conditionList: 1024,
  conditionUnits: 10_000,
  conditionStringBytes: 4 * KiB,
  traceClauses: 64,
  nearestEvaluations: 256,
  nearestUnits: 100_000,
  reasoningUnits: 40_000,
  timeSliceUnits: 50_000,
} as const;
