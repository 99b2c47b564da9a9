/** THE TABLE: every operation, once. A row without a handler does not compile (`service/handlers.ts`). */
import { events } from './events.ts';
import { graphs } from './graphs.ts';
import { health } from './health.ts';
import { jobs } from './jobs.ts';
import { log } from './log.ts';
import type { Operation } from './operation.ts';
import { proofs } from './proofs.ts';

export const table = {
  ...events,
  ...proofs,
  ...graphs,
  ...jobs,
  ...health,
  ...log,
} as const satisfies Record<string, Operation>;

export type Table = typeof table;
export type OperationId = keyof Table;
