import { describe, expect, it } from 'vitest';
import {
  balanceType,
  balanceWords,
  isWhole,
  readBalance,
  unbalanced,
  type Balance,
} from '../../../src/core/balance/statement.ts';
import { latestBalances } from './sample.ts';

const balance: Balance = {
  source: { name: 's.jsonl', sha256: 'a'.repeat(64), bytes: 10, format: 'codex', accounted: 1 },
  found: { calls: 9, results: 4 },
  recorded: { calls: 3, results: 4 },
  observed: { calls: 1 },
  inherited: [{ run: 'parent', calls: 2 }],
  repeated: { calls: 1 },
  excepted: [{ exception: 'codex-compacted', calls: 2 }],
  unseen: [{ exception: 'typed-during-a-turn', calls: 1 }],
  remainder: [],
  leftOut: { calls: 1, parts: 1 },
};

describe('the statement of a balance', () => {
  it('comes out where each kind does', () => {
    expect(unbalanced(balance)).toEqual([]);
    expect(unbalanced({ ...balance, found: { calls: 10, results: 3 } })).toEqual(['calls', 'results']);
  });

  it('is whole only where nothing is left out', () => {
    expect(isWhole(balance)).toBe(false);
    const whole = { ...balance, found: { ...balance.found, calls: 8 }, leftOut: { parts: 0 } };
    expect(isWhole(whole)).toBe(true);
    // members that contradict each other
    expect(isWhole({ ...balance, leftOut: { calls: 1, parts: 0 } })).toBe(false);
    const part = { where: 'line 1', why: 'unknown', bytes: 1, hash: '' };
    expect(isWhole({ ...whole, remainder: [part] })).toBe(false);
    expect(balanceWords([whole])).toBe('1 of 1 file, nothing left out');
    expect(balanceWords([whole, balance])).toBe('1 of 2 files; left out: 1 part with 1 call');
    expect(balanceWords([{ ...whole, found: {} }])).toBe('0 of 1 file, the sums do not come out');
  });

  it('is read back as it was written, and anything else is none', () => {
    expect(readBalance(JSON.parse(JSON.stringify(balance)))).toEqual(balance);
    for (const wrong of [
      null,
      [],
      {},
      { ...balance, found: { calls: -1 } },
      { ...balance, found: { calls: 1.5 } },
      { ...balance, leftOut: {} },
      { ...balance, source: { ...balance.source, bytes: 'many' } },
      { ...balance, inherited: [{ calls: 1 }] },
      { ...balance, remainder: [{ where: 1 }] },
      { ...balance, here: { calls: 'all' } },
    ])
      expect(readBalance(wrong)).toBeUndefined();
  });

  it('is that of the newest content of each file', () => {
    const event = (name: string, bytes: number) => ({
      eventType: balanceType,
      metadata: { ...balance, source: { ...balance.source, name, bytes } },
    });
    const events = [
      event('a', 1),
      event('b', 1),
      { eventType: 'tool.call', metadata: balance },
      event('a', 2),
    ];
    expect(latestBalances(events).map(({ source }) => [source.name, source.bytes])).toEqual([
      ['b', 1],
      ['a', 2],
    ]);
  });
});
