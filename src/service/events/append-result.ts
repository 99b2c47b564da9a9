/** What the store answers to an append: stored, or refused because a decision was made with old data. */
import type { AppendOutcome } from '../../store/port/store.ts';

export type StoredAppend = Extract<AppendOutcome, { outcome: 'stored' }>;

/** The request expected another state of the log, the policies or the project; the caller decides again. */
export type RefusedAppend = Extract<AppendOutcome, { outcome: 'stale' | 'outdated' | 'revised' }>;
