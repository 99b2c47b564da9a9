import { expect, it } from 'vitest';
import { DownloadProgress, progressLine, WaitProgress } from '../../../src/cli/download/progress.ts';

function shown(tty: boolean, seconds: readonly number[]): string[] {
  let ms = 0;
  const written: string[] = [];
  const progress = new DownloadProgress({ tty, now: () => ms, write: (text) => written.push(text) });
  for (const second of seconds) {
    ms = second * 1000;
    progress.at(10_000_000 + second * 1e6, 100_000_000);
  }
  progress.clear();
  return written;
}

it('the progress line shows amount, rate and time left', () => {
  const of = { received: 30_000_000, total: 100_000_000, fresh: 20_000_000, elapsedMs: 10_000 };
  expect(progressLine(of)).toBe('30.0 of 100.0 MB, 30 %, 2.0 MB/s, 00:35 left');
  expect(progressLine({ ...of, received: 100_000_000 })).toBe('100.0 of 100.0 MB, 100 %, 2.0 MB/s');
  expect(progressLine({ received: 5, total: 0, fresh: 0, elapsedMs: 0 })).toBe('0.0 of 0.0 MB, 0.0 MB/s');
});

it('the progress rewrites one line on a terminal, and writes one every ten seconds elsewhere', () => {
  const clear = '\r\u001b[2K';
  expect(shown(true, [0, 0.1, 0.4, 0.5, 0.7])).toEqual([
    expect.stringContaining(`${clear}10.4 of 100.0 MB`),
    expect.stringContaining(`${clear}10.7 of`),
    clear,
  ]);
  expect(shown(false, [0, 1, 5, 9.9, 10.5, 15, 21])).toEqual([
    '20.5 of 100.0 MB, 20 %, 1.0 MB/s, 01:20 left\n',
    '31.0 of 100.0 MB, 31 %, 1.0 MB/s, 01:09 left\n',
  ]);
});

it('the progress shows how long an export has been waited for', () => {
  let ms = 0;
  const written: string[] = [];
  const progress = new WaitProgress({ tty: true, now: () => ms, write: (text) => written.push(text) });
  for (ms of [0, 100, 12_000]) progress.at('processing');
  progress.clear();
  expect(written).toEqual(['\r\u001b[2Kprocessing, 00:12', '\r\u001b[2K']);
});
