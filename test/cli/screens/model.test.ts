import { describe, expect, it } from 'vitest';
import {
  bodyRows,
  common,
  emptyList,
  firstVisible,
  matches,
  moved,
  reduceCommon,
  within,
  type Common,
} from '../../../src/cli/screens/model.ts';

describe('the model of all screens', () => {
  it('a list keeps its cursor on a row that exists', () => {
    const size = { count: 30, page: 10 };
    const at = (cursor: number) => ({ ...emptyList, cursor });
    expect(moved(at(0), 'up', size)?.cursor).toBe(0);
    expect(moved(at(29), 'down', size)?.cursor).toBe(29);
    expect(moved(at(5), 'page down', size)?.cursor).toBe(14);
    expect(moved(at(5), 'last', size)?.cursor).toBe(29);
    expect(moved(at(5), 'first', { count: 0, page: 10 })?.cursor).toBe(0);
    expect(moved(at(0), 'last', { count: 0, page: 10 })?.cursor).toBe(0);
    expect(moved(at(5), 'approve', size)).toBeUndefined();
    expect(within(at(29), 3).cursor).toBe(2);
    expect(within(at(2), 0).cursor).toBe(0);
  });

  it('the cursor of a list is always visible, and the last page is full', () => {
    for (let count = 0; count < 40; count += 1) {
      for (let cursor = 0; cursor < Math.max(1, count); cursor += 1) {
        const first = firstVisible(cursor, count, 10);
        expect(first).toBeGreaterThanOrEqual(0);
        expect(cursor - first).toBeGreaterThanOrEqual(0);
        expect(cursor - first).toBeLessThan(10);
        if (count >= 10) expect(first).toBeLessThanOrEqual(count - 10);
      }
    }
  });

  it('typing takes text up to 500 characters, and backspace removes whole characters', () => {
    let state: Common = { ...common, typing: { purpose: 'filter', text: '' } };
    const type = (text: string): string | undefined => {
      state = reduceCommon(state, { kind: 'text', text }) ?? state;
      return state.typing?.text;
    };
    expect(type('a中😀')).toBe('a中😀');
    expect(type('\b')).toBe('a中');
    expect(type('x'.repeat(600))).toHaveLength(500);
    state = { ...state, typing: null };
    expect(type('ignored')).toBeUndefined();
  });

  it('while help is open, only keys that close it do something', () => {
    const open = reduceCommon(common, { kind: 'key', action: 'help' });
    expect(open?.isHelpOpen).toBe(true);
    expect(reduceCommon(open!, { kind: 'key', action: 'approve' })).toBe(open);
    expect(reduceCommon(open!, { kind: 'key', action: 'back' })?.isHelpOpen).toBe(false);
    expect(reduceCommon(common, { kind: 'key', action: 'approve' })).toBeUndefined();
  });

  it('the same size changes nothing, and a filter ignores case', () => {
    expect(reduceCommon(common, { kind: 'size', columns: 80, rows: 24 })).toBe(common);
    expect(bodyRows({ rows: 24 })).toBe(22);
    expect([matches('Tool.Call', 'tool'), matches('a', ''), matches('a', 'b')]).toEqual([true, true, false]);
  });
});
