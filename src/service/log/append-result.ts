/**
 * Results of an append: stored, or refused because the caller decided with old data. Proven by
 * `test/service/in-force/policies.test.ts`.
 */
import type { AppendOutcome } from '../../store/port/store.ts';

export type StoredAppend = Extract<AppendOutcome, { outcome: 'stored' }>;

/** The request expected another state of the log, the policies or the project. The caller decides again. */
export type RefusedAppend = Extract<AppendOutcome, { outcome: 'stale' | 'outdated' | 'revised' }>;
