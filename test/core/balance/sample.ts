import { balanceType, LatestBalances, type Balance } from '../../../src/core/balance/statement.ts';

/** The balance of a file with one call, which was recorded. */
export const sampleBalance: Balance = {
  source: { name: 's.jsonl', sha256: 'a'.repeat(64), bytes: 10, format: 'codex', accounted: 1 },
  found: { calls: 1 },
  recorded: { calls: 1 },
  observed: {},
  inherited: [],
  repeated: {},
  excepted: [],
  unseen: [],
  remainder: [],
  leftOut: { parts: 0 },
};

/** Returns the newest balance of each file. */
export function latestBalances(
  events: Iterable<{ readonly eventType: string; readonly metadata?: unknown }>,
): readonly Balance[] {
  const latest = new LatestBalances<Balance>();
  for (const { eventType, metadata } of events)
    if (eventType === balanceType) latest.add(metadata, (balance) => balance);
  return latest.list();
}
