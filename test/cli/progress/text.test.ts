import { expect, it } from 'vitest';
import { clock, lineText, plainText, shareOf, type ProgressLine } from '../../../src/cli/progress/text.ts';
import { counted } from '../../../src/cli/terminal/numbers.ts';
import { Safe, stylesFor } from '../../../src/cli/terminal/safe.ts';
import { widthOf } from '../../../src/cli/terminal/width.ts';

const reading: ProgressLine = {
  what: 'checking',
  amount: { done: 20_480, total: 50_000, unit: 'leaves' },
  elapsedMs: 6000,
  perSecond: 3400.4,
  leftMs: 8700,
};
const plain = { isAscii: false, styles: stylesFor(false) };
const at = (columns: number, more: Partial<ProgressLine> = {}): string =>
  lineText({ ...reading, ...more }, { ...plain, columns });

it('a wide terminal gets a bar, share, amount, rate and time left', () => {
  expect(at(160)).toBe(
    `checking ${'█'.repeat(12)}${'░'.repeat(18)} 40 %, 20,480 of 50,000 leaves, 3,400/s, 00:09 left`,
  );
  expect(at(80)).toBe('checking ████░░░░░░ 40 %, 20,480 of 50,000 leaves, 3,400/s, 00:09 left');
});

it('a narrow terminal keeps the rate and the time left longest', () => {
  expect(at(69)).toBe('checking 40 %, 20,480 of 50,000 leaves, 3,400/s, 00:09 left');
  expect(at(49)).toBe('checking 40 %, 20,480 leaves, 3,400/s, 00:09 left');
  expect(at(44)).toBe('40 %, 20,480 leaves, 3,400/s, 00:09 left');
  expect(at(30)).toBe('40 %, 3,400/s, 00:09 left');
  expect(at(20)).toBe('40 %, 3,400/s, 00:0…');
});

it('no line is wider than the terminal, also with wide characters in what the service sent', () => {
  for (let columns = 1; columns < 200; columns += 1) {
    const line = at(columns, { what: '作業', amount: undefined });
    expect(widthOf(Safe.cell(line))).toBeLessThanOrEqual(columns);
    expect(at(columns).length).toBeLessThanOrEqual(columns);
  }
  expect(at(40, { what: 'job \u001b[2J\u202e', amount: undefined })).toBe('job \\u001b[2J\\u202e 00:06');
});

it('an unknown total shows count and rate, without a bar', () => {
  const amount = { done: 12_000, total: null, unit: 'events', waiting: 1500 } as const;
  expect(at(80, { amount, leftMs: null })).toBe('checking 12,000 events, 3,400/s, 1,500 waiting');
  expect(at(30, { amount, leftMs: null })).toBe('12,000 events, 3,400/s');
  expect(at(80, { amount, leftMs: null, perSecond: null })).toBe('checking 12,000 events, 1,500 waiting');
  expect(shareOf({ ...amount, total: 0 })).toBeNull();
});

it('bytes have units, and work without an amount shows its time', () => {
  const amount = { done: 12.5 * 2 ** 20, total: 2 ** 30, unit: 'bytes' } as const;
  expect(plainText({ ...reading, what: 'copying', amount, perSecond: 3 * 2 ** 20 })).toBe(
    'copying 1 %, 12.5 MiB of 1.0 GiB, 3.0 MiB/s, 00:09 left',
  );
  expect(plainText({ ...reading, what: 'export processing', amount: undefined })).toBe(
    'export processing 00:06',
  );
});

it('a share stays between 0 and 100 %', () => {
  expect(shareOf({ done: 7, total: 5, unit: 'events' })).toBe(1);
  expect(shareOf({ done: -1, total: 5, unit: 'events' })).toBe(0);
  expect(at(80, { amount: { done: 29, total: 100, unit: 'events' } })).toContain(' 29 %');
  expect(shareOf({ done: 1, total: null, unit: 'events', share: 0.25 })).toBe(0.25);
});

it('a locale without UTF-8 gets ASCII, and colour only marks the bar', () => {
  expect(lineText(reading, { ...plain, isAscii: true, columns: 80 })).toBe(
    'checking ####...... 40 %, 20,480 of 50,000 leaves, 3,400/s, 00:09 left',
  );
  expect(lineText(reading, { isAscii: false, styles: stylesFor(true), columns: 80 })).toBe(
    'checking \u001b[36m████\u001b[39m\u001b[2m░░░░░░\u001b[22m 40 %, 20,480 of 50,000 leaves, 3,400/s, 00:09 left',
  );
});

it('times and counts are short', () => {
  expect([0, 1, 12_000, 3_612_000].map(clock)).toEqual(['00:00', '00:01', '00:12', '01:00:12']);
  expect([counted(1, 'event'), counted(1_200_000, 'event')]).toEqual(['1 event', '1,200,000 events']);
});
