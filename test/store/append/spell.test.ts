import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { TroubleReport } from '../../../src/store/append/spell.ts';

beforeEach(() => void vi.useFakeTimers({ now: Date.parse('2026-03-01T12:00:00Z') }));
afterEach(() => void vi.useRealTimers());

it('a spell of trouble gives one line when it begins and one when it has ended for good', () => {
  const lines: string[] = [];
  const spell = new TroubleReport({ now: Date.now, warn: (text) => lines.push(text) });
  spell.end('fine');
  spell.begin('full');
  spell.begin('full');
  vi.advanceTimersByTime(42_000);
  spell.end('writing continues');
  vi.advanceTimersByTime(9_999);
  // full again before it has settled: the same spell
  spell.begin('full');
  vi.advanceTimersByTime(20_000);
  expect(lines).toEqual(['full']);
  spell.end('writing continues');
  spell.end('writing continues');
  vi.advanceTimersByTime(10_000);
  expect(lines).toEqual(['full', 'writing continues, after 72 s; it began at 2026-03-01T12:00:00.000Z']);
  spell.begin('full');
  spell.end('writing continues');
  spell.close();
  vi.advanceTimersByTime(60_000);
  expect(lines.slice(2)).toEqual([
    'full',
    'writing continues, after 0 s; it began at 2026-03-01T12:01:21.999Z',
  ]);
});
