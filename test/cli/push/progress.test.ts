import { describe, expect, it } from 'vitest';
import { Progress } from '../../../src/cli/push/progress.ts';

function started(tty: boolean, totalBytes: number | null) {
  let now = 0;
  let written = '';
  const progress = new Progress({ totalBytes, tty, now: () => now, write: (text) => (written += text) });
  return { progress, at: (ms: number) => (now = ms), text: () => written };
}

describe('the progress', () => {
  it('the progress of a push shows nothing in the first 300 ms', () => {
    const { progress, at, text } = started(true, null);
    at(299);
    progress.show();
    progress.stop();
    expect(text()).toBe('');
  });

  it('the progress of a push shows count, rate, waiting events, share and time left', () => {
    const { progress } = started(false, 1000);
    progress.bytes(250);
    progress.read(3000);
    progress.sent(2000);
    expect(progress.line(10_000)).toBe('2,000 sent, 200/s, 1,000 waiting, 25 % read, 00:30 left');
    progress.bytes(750);
    progress.sent(1000);
    expect(progress.line(4_000_000)).toBe('3,000 sent, 1/s, 100 % read');
    expect(progress.unsent).toBe(0);
  });

  it('the progress of a push from a pipe leaves out unknown values', () => {
    const { progress } = started(false, null);
    progress.bytes(250);
    expect(progress.line(1000)).toBe('0 sent, 0/s');
  });

  it('the progress of a push rewrites and clears one line on a terminal, and writes lines elsewhere', () => {
    const terminal = started(true, null);
    terminal.at(400);
    terminal.progress.show();
    terminal.progress.stop();
    expect(terminal.text()).toBe('\r\u001b[2K0 sent, 0/s\r\u001b[2K');
    const plain = started(false, null);
    plain.at(10_000);
    plain.progress.show();
    plain.progress.stop();
    expect(plain.text()).toBe('0 sent, 0/s\n');
  });
});
