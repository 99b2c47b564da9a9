/**
 * The columns of runs, and how a list of runs shows them.
 * Proven by `test/store/suite/log/lists.ts`.
 */
import type { RunSummary } from '../port/store.ts';
import { columnsOf } from '../rules/columns.ts';
import type { RunState } from './ledger.ts';

export const runColumns = columnsOf<RunState>('run', {
  no: 'run_no',
  runId: 'run_id',
  events: 'events',
  firstIndex: 'first_index',
  lastIndex: 'last_index',
  firstMs: 'first_ms',
  lastMs: 'last_ms',
  lastServerMs: 'last_server_ms',
  aiSystemId: 'ai_system_id',
});

/** The types of the columns in PostgreSQL. */
export const runTypes: { readonly [Member in keyof RunState]-?: 'int8' | 'text' } = {
  no: 'int8',
  runId: 'text',
  events: 'int8',
  firstIndex: 'int8',
  lastIndex: 'int8',
  firstMs: 'int8',
  lastMs: 'int8',
  lastServerMs: 'int8',
  aiSystemId: 'text',
};

/** `shown`: what a list reads from other tables. */
export function summaryOf(
  { firstMs, lastMs, ...run }: RunState,
  shown: Pick<RunSummary, 'sealed' | 'proofs' | 'lastDecision'>,
): RunSummary {
  return { ...run, firstTimestampMs: firstMs, lastTimestampMs: lastMs, ...shown };
}
