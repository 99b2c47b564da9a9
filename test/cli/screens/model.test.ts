import { describe, expect, it } from 'vitest';
import type { KeyAction } from '../../../src/cli/screens/keys.ts';
import {
  bodyRows,
  browsed,
  common,
  filterOf,
  firstVisible,
  matches,
  moved,
  reduceCommon,
  reduceList,
  refitted,
  type Common,
} from '../../../src/cli/screens/model.ts';

describe('the model of all screens', () => {
  it('a list keeps its cursor on a row that exists', () => {
    const size = { count: 30, page: 10 };
    expect(moved(0, 'up', size)).toBe(0);
    expect(moved(29, 'down', size)).toBe(29);
    expect(moved(5, 'page down', size)).toBe(14);
    expect(moved(5, 'last', size)).toBe(29);
    expect(moved(5, 'first', { count: 0, page: 10 })).toBe(0);
    expect(moved(0, 'last', { count: 0, page: 10 })).toBe(0);
    expect(moved(5, 'approve', size)).toBeUndefined();
  });

  it('the filter of a list is typed, kept and cleared, and the cursor stays on its row', () => {
    type State = Common & { readonly names: readonly string[] };
    const screen = {
      ids: (state: State) => state.names.filter((name) => matches(name, filterOf(state))),
      isText: () => false,
      key: (state: State, action: KeyAction) => browsed(state, action, screen),
    };
    const press = (state: State, ...actions: KeyAction[]): State =>
      actions.reduce((now, action) => reduceList(now, { kind: 'key', action }, screen), state);
    const type = (state: State, text: string) => reduceList(state, { kind: 'text', text }, screen);
    const chosen = (state: State) => screen.ids(state)[state.list.cursor];
    const begun: State = { ...common, names: ['pay-1', 'ship-1', 'pay-2', 'pay-3'] };
    const typed = type(press(begun, 'down', 'down', 'filter'), 'pay');
    expect([screen.ids(typed).length, chosen(typed)]).toEqual([3, 'pay-2']);
    const kept = press(typed, 'open');
    expect([kept.typing, kept.list]).toEqual([null, { cursor: 1, filter: 'pay' }]);
    expect(press(kept, 'back').list).toEqual({ cursor: 2, filter: '' });
    expect(press(typed, 'back').list).toEqual({ cursor: 2, filter: '' });
    expect(chosen(type(press(begun, 'last', 'filter'), 'ship'))).toBe('ship-1');
    expect(chosen(refitted(kept, { ...kept, names: ['pay-0', ...kept.names] }, screen))).toBe('pay-2');
    expect(refitted(kept, { ...kept, names: [] }, screen).list.cursor).toBe(0);
  });

  it('a text scrolls between its first line and its last, and starts no filter', () => {
    const text = { ids: () => [], isText: () => true };
    const at = (scroll: number): Common => ({ ...common, scroll, lastScroll: 30 });
    expect(browsed(at(30), 'down', text).scroll).toBe(30);
    expect(browsed(at(99), 'up', text).scroll).toBe(29);
    expect(browsed(at(0), 'page down', text).scroll).toBe(19);
    expect(browsed(at(5), 'filter', text)).toEqual(at(5));
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
