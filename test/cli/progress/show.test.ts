import { PassThrough, Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { resolveSettings } from '../../../src/cli/context/settings.ts';
import { startProgress } from '../../../src/cli/progress/show.ts';
import { Writer } from '../../../src/cli/terminal/io.ts';
import { Out } from '../../../src/cli/terminal/out.ts';
import { safe } from '../../../src/cli/terminal/safe.ts';

/** A stream that keeps what is written, as a terminal of some columns or as a pipe. */
class Stream extends Writable {
  readonly written: string[] = [];
  readonly isTTY: boolean;
  columns: number;

  constructor(columns: number | null) {
    super();
    this.isTTY = columns !== null;
    this.columns = columns ?? 80;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.written.push(chunk.toString());
    done();
  }

  /** What a terminal shows of the current line. */
  get line(): string {
    const text = this.written.join('').split('\n').at(-1) ?? '';
    const last = text.slice(text.lastIndexOf('\r') + 1);
    // oxlint-disable-next-line no-control-regex -- the codes that erase
    return last.replace(/\u001b\[[2]?K/g, '');
  }
}

function started(columns: number | null, more: { globals?: object; env?: object; stdout?: Stream } = {}) {
  const stderr = new Stream(columns);
  const stdout = more.stdout ?? new Stream(null);
  const env = { LANG: 'C.UTF-8', NO_COLOR: '1', ...more.env };
  const io = { stdin: new PassThrough(), stdout, stderr, env, cwd: '/', now: Date.now };
  const settings = resolveSettings({ ...more.globals }, io);
  const out = new Out({ stdout: new Writer(stdout), stderr: new Writer(stderr) }, settings, Date.now);
  const stop = new AbortController();
  const progress = startProgress({ out, io, signal: stop.signal });
  return { progress, stderr, out, stop };
}

const leaves = (done: number, total: number | null = 1000) => ({ done, total, unit: 'leaves' }) as const;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }));
afterEach(() => void vi.useRealTimers());

describe('on a terminal', () => {
  it('work of less than 300 ms shows nothing', () => {
    const { progress, stderr } = started(80);
    progress.at('checking', leaves(1));
    vi.advanceTimersByTime(299);
    progress.at('checking', leaves(2));
    progress.stop();
    vi.advanceTimersByTime(60_000);
    expect(stderr.written).toEqual([]);
  });

  it('one line is repainted at most ten times a second, and erased at the end', () => {
    const { progress, stderr } = started(80);
    for (let ms = 0; ms < 2000; ms += 1) {
      progress.at('checking', leaves(ms / 4));
      vi.advanceTimersByTime(1);
    }
    expect(stderr.written.length).toBeGreaterThan(14);
    expect(stderr.written.length).toBeLessThanOrEqual(18); // 1.7 s
    expect(stderr.line).toMatch(/^checking █{4}░{6} \d\d %, \d{3} of 1,000 leaves, 250\/s, 00:03 left$/);
    progress.stop();
    expect(stderr.written.at(-1)).toBe('\r\u001b[2K');
    expect(stderr.line).toBe('');
    expect(stderr.written.join('')).not.toContain('\n');
    progress.at('checking', leaves(999));
    vi.advanceTimersByTime(1000);
    expect(stderr.line).toBe('');
  });

  it('the line goes before other output on the terminal, and comes back', async () => {
    const { progress, stderr, out } = started(80);
    progress.at('checking', leaves(100));
    vi.advanceTimersByTime(300);
    await out.note(safe`a remark`);
    expect(stderr.written.slice(-2)).toEqual(['\r\u001b[2K', 'a remark\n']);
    expect(stderr.line).toBe('');
    vi.advanceTimersByTime(100);
    expect(stderr.line).toContain('100 of 1,000 leaves');
    progress.stop();
  });

  it('data on the same terminal erases the line, data in a pipe does not', async () => {
    for (const [stdout, erased] of [
      [new Stream(80), true],
      [new Stream(null), false],
    ] as const) {
      const { progress, stderr, out } = started(80, { stdout });
      progress.at('checking', leaves(100));
      vi.advanceTimersByTime(300);
      await out.line(safe`data`);
      expect(stderr.line === '').toBe(erased);
      progress.stop();
    }
  });

  it('the line fits the columns that the window has at that moment', () => {
    const { progress, stderr } = started(160);
    progress.at('checking', leaves(100));
    vi.advanceTimersByTime(300);
    expect(stderr.line.length).toBeGreaterThan(60);
    stderr.columns = 44;
    vi.advanceTimersByTime(100);
    expect(stderr.line.length).toBeLessThan(44);
    expect(stderr.line).toContain('10 %');
    progress.stop();
  });

  it('a signal erases the line at once, and nothing is shown after it', () => {
    const { progress, stderr, stop } = started(80);
    progress.at('checking', leaves(100));
    vi.advanceTimersByTime(300);
    stop.abort();
    expect(stderr.line).toBe('');
    progress.at('checking', leaves(200));
    vi.advanceTimersByTime(1000);
    expect(stderr.line).toBe('');
  });

  it('a stalled work has no time left, and its line does not change', () => {
    const { progress, stderr } = started(80);
    progress.at('checking', leaves(100));
    vi.advanceTimersByTime(1000);
    const { length } = stderr.written;
    expect(stderr.line).toBe('checking █░░░░░░░░░ 10 %, 100 of 1,000 leaves, 0/s');
    vi.advanceTimersByTime(5000);
    expect(stderr.written).toHaveLength(length);
    progress.stop();
  });

  it('the next step starts with a rate of its own', () => {
    const { progress, stderr } = started(80);
    progress.at('copying', leaves(0));
    vi.advanceTimersByTime(1000);
    progress.at('copying', leaves(1000));
    progress.at('checking', leaves(0));
    vi.advanceTimersByTime(1000);
    progress.at('checking', leaves(10));
    vi.advanceTimersByTime(100);
    expect(stderr.line).toMatch(/^checking ░+ 1 %, 10 of 1,000 leaves, (9|10)\/s, 01:\d\d left$/);
    progress.stop();
  });

  it('a locale without UTF-8 gets ASCII', () => {
    const { progress, stderr } = started(80, { env: { LANG: 'C' } });
    progress.at('checking', leaves(500));
    vi.advanceTimersByTime(300);
    expect(stderr.line).toContain('checking #####..... 50 %');
    progress.stop();
  });
});

describe('elsewhere', () => {
  it.each([
    ['a pipe', null, {}],
    ['a dumb terminal', 80, { TERM: 'dumb' }],
  ])('%s gets one whole line every ten seconds, for work of more than ten', (_, columns, env) => {
    const { progress, stderr } = started(columns, { env });
    for (let second = 0; second < 35; second += 1) {
      progress.at('checking', leaves(second * 10));
      if (second < 10) expect(stderr.written).toEqual([]);
      vi.advanceTimersByTime(1000);
    }
    progress.stop();
    expect(stderr.written).toEqual([
      expect.stringMatching(/^checking 9 %, 90 of 1,000 leaves, 10\/s, 01:3\d left\n$/),
      expect.stringMatching(/^checking 19 %, 190 of 1,000 leaves, 10\/s, 01:\d\d left\n$/),
      expect.stringMatching(/^checking 29 %, 290 of 1,000 leaves, 10\/s, 01:\d\d left\n$/),
    ]);
  });

  it('--quiet silences the line on a terminal and in a pipe', () => {
    for (const columns of [80, null]) {
      const { progress, stderr } = started(columns, { globals: { quiet: true } });
      progress.at('checking', leaves(1));
      vi.advanceTimersByTime(30_000);
      progress.stop();
      expect(stderr.written).toEqual([]);
    }
  });
});
