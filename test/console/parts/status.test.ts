import { expect, it } from 'vitest';
import { toneOf } from '../../../src/console/parts/status.tsx';

it('a state has the tone of its word, and a word that others wrote has none', () => {
  expect(['approved', 'pending', 'revoked'].map(toneOf)).toEqual(['good', 'wait', 'bad']);
  expect(['', 'constructor', '__proto__'].map(toneOf)).toEqual(['plain', 'plain', 'plain']);
});
