import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { draftEvaluation } from '../../../src/core/decided/evaluation.ts';
import { saltPool } from '../../../src/core/events/disclosure.ts';
import { leafHash } from '../../../src/core/merkle/tree.ts';
import { formatTimestamp } from '../../../src/core/time.ts';
import { policyHistory } from '../../../src/service/policies/history.ts';
import type {
  HistoryInput,
  HistorySide,
  PolicyHistory,
  TaskContext,
} from '../../../src/service/call/work.ts';
import type { StoreReader } from '../../../src/store/port/store.ts';
import type { Leaf } from '../../../src/store/port/store.ts';

const count = 3000;
const startMs = Date.UTC(2026, 0, 1);
const minuteMs = 60_000;
const salt = saltPool(randomBytes);

/** One evaluation a minute, at every third index of the log. */
const leaves: readonly Leaf[] = Array.from({ length: count }, (_, at) => {
  const { record, disclosures } = draftEvaluation(
    {
      id: `pev_${at}`,
      runId: `run-${at % 50}`,
      policySource: 'active',
      policyCount: 0,
      policyIds: null,
      policySetHash: `sha256:${'0'.repeat(64)}`,
      policyIndex: null,
      combined: 'allow',
      approval: null,
      evaluatedAt: formatTimestamp(startMs + at * minuteMs),
      decisions: [],
      shadow: [],
      checkpoint: { context: { at } },
      readSet: null,
    },
    salt,
  );
  return { index: at * 3, record, hash: leafHash(record), disclosures };
});

/** What the task reads of a store, over these leaves; counts what it reads. */
function reader(read: { leaves: number }): Pick<StoreReader, 'head' | 'leavesOf'> {
  return {
    head: async () => ({ size: count * 3, root: Buffer.alloc(32) }),
    leavesOf: async (_project, { beforeIndex = Infinity }, { after = Infinity, limit }) => {
      const found = leaves
        .filter(({ index }) => index < Math.min(after, beforeIndex))
        .toReversed()
        .slice(0, limit);
      read.leaves += found.length;
      return found;
    },
  };
}

async function run(input: Partial<HistoryInput>): Promise<PolicyHistory & { read: number }> {
  const read = { leaves: 0 };
  const breathe = async (): Promise<void> => {};
  const context = { reader: reader(read), breathe } as unknown as TaskContext;
  const condition: HistorySide['condition'] = { '>=': [{ val: ['context', 'at'] }, 1000] };
  const after: HistorySide = { version: 1, action: 'deny', onIndeterminate: null, condition };
  const result = await policyHistory(context, {
    projectId: 'p',
    before: null,
    after,
    limit: 10_000,
    ...input,
  });
  return { ...result, read: read.leaves };
}

describe('the history of a policy', () => {
  it('the history of a policy is complete when no period is given', async () => {
    const { evaluations, complete, impact } = await run({});
    expect([evaluations, complete, impact.tightened, impact.replayed]).toEqual([count, true, 2000, count]);
  });

  it('the history of a policy finds a period long ago without reading later evaluations', async () => {
    const at = (minute: number): number => startMs + minute * minuteMs;
    const { evaluations, complete, impact, read } = await run({ startMs: at(990), endMs: at(1009) });
    expect([evaluations, complete, impact.tightened]).toEqual([20, true, 10]);
    expect(read).toBeLessThan(100);
  });

  it('the history starts with the newest evaluation of the period, and says where it ends early', async () => {
    const { evaluations, complete, impact } = await run({ endMs: startMs + 1004 * minuteMs, limit: 10 });
    expect([evaluations, complete, impact.tightened]).toEqual([10, false, 5]);
  });

  it.each([
    [{ endMs: startMs - 1 }, 0],
    [{ startMs: startMs + count * minuteMs }, 0],
    [{ startMs, endMs: startMs }, 1],
  ])('the history of %o is %i evaluations', async (range, evaluations) => {
    expect(await run(range)).toMatchObject({ evaluations, complete: true });
  });
});
