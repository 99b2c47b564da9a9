import { expect, it } from 'vitest';
import { actionOf, bindings, type ScreenName } from '../../../src/cli/screens/keys.ts';
import { keyName } from '../../../src/cli/screens/shell.ts';

it.each(Object.entries(bindings))('each key of the screen %s has one meaning', (_, list) => {
  const keys = list.flatMap((binding) => binding.keys);
  expect(new Set(keys).size).toBe(keys.length);
});

it.each(Object.keys(bindings) as ScreenName[])('the screen %s can be left, stopped and explained', (name) => {
  const found = ['q', 'ctrl-c', 'ctrl-z', '?'].map((key) => actionOf(name, key));
  expect(found).toEqual(['quit', 'interrupt', 'suspend', 'help']);
  expect(actionOf(name, '§')).toBeUndefined();
});

it('the names of keys from the terminal are those of the table', () => {
  const none = { ctrl: false } as Parameters<typeof keyName>[1];
  expect(keyName('c', { ...none, ctrl: true })).toBe('ctrl-c');
  expect(keyName('', { ...none, return: true })).toBe('enter');
  expect(keyName('', { ...none, delete: true })).toBe('backspace');
  expect([keyName(' ', none), keyName('G', none), keyName('!', none)]).toEqual(['space', 'G', '!']);
});
