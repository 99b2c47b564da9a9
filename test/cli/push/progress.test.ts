import { expect, it } from 'vitest';
import type { Amount } from '../../../src/cli/progress/text.ts';
import { PushProgress } from '../../../src/cli/push/progress.ts';

function started(totalBytes: number | null) {
  let shown: Amount | undefined;
  const at = (_what: string, amount?: Amount): void => void (shown = amount);
  const progress = new PushProgress('sending', { totalBytes, progress: { at, stop: () => {} } });
  return { progress, shown: () => shown };
}

it('the progress of a push counts recorded events, waiting events, and the recorded share of the input', () => {
  const { progress, shown } = started(1000);
  progress.bytes(250);
  progress.read(3000);
  expect(shown()).toMatchObject({ done: 0, waiting: 3000, share: 0 });
  progress.sent(1500);
  expect(shown()).toEqual({ done: 1500, total: null, unit: 'events', waiting: 1500, share: 0.125 });
  expect(progress.unsent).toBe(1500);
  progress.sent(1500);
  progress.bytes(750);
  progress.read(1000);
  progress.sent(1000);
  expect(shown()).toMatchObject({ done: 4000, waiting: 0, share: 1 });
});

it('the share never falls while more of the input is read', () => {
  const { progress, shown } = started(1000);
  progress.bytes(500);
  progress.read(10);
  progress.sent(10);
  expect(shown()?.share).toBe(0.5);
  progress.read(90);
  expect(shown()?.share).toBe(0.5);
});

it('events that the service has from before count for the share, not as sent', () => {
  const { progress, shown } = started(1000);
  progress.bytes(500);
  progress.known(50);
  expect(shown()).toMatchObject({ done: 0, waiting: 0, share: 0.5 });
});

it('the progress of a push from a pipe has no share', () => {
  const { progress, shown } = started(null);
  progress.bytes(250);
  progress.read(1);
  expect(shown()).toMatchObject({ total: null, share: null });
});
