import { afterEach, describe, expect, it } from 'vitest';
import { openScreen } from '../../../src/cli/screens/open.ts';
import { whyNoScreen } from '../../../src/cli/screens/start.ts';
import { Store } from '../../../src/cli/screens/store.ts';
import { reduceTop, topState } from '../../../src/cli/screens/top/state.ts';
import { FakeTerminal } from './support/terminal.ts';
import { sample, sampledMs } from './support/samples.ts';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** `gov top` in a terminal of this size, with one sample. */
function shown(
  columns: number,
  rows: number,
  more: { isAscii?: boolean; color?: boolean; isTTY?: boolean } = {},
) {
  const terminal = new FakeTerminal(columns, rows);
  if (more.isTTY === false) Object.assign(terminal.stdin, { isTTY: false });
  const store = new Store(topState('plane', sampledMs), reduceTop);
  store.dispatch({ kind: 'sample', sample, atMs: sampledMs });
  const stop = new AbortController();
  let [interrupts, stops] = [0, 0];
  let resume = (): void => {};
  const done = openScreen({
    name: 'top',
    store,
    stdin: terminal.stdin,
    stdout: terminal.stdout,
    stderr: terminal.stdout,
    color: more.color ?? false,
    isAscii: more.isAscii ?? false,
    signal: stop.signal,
    interrupt: () => {
      interrupts += 1;
      stop.abort();
    },
    stop: () => {
      stops += 1;
      return new Promise((resolve) => (resume = resolve));
    },
  });
  ends.push(() => {
    stop.abort();
    return done;
  });
  return {
    terminal,
    store,
    stop,
    done,
    interrupts: () => interrupts,
    stops: () => stops,
    resume: () => resume(),
  };
}

describe('a screen in a terminal', () => {
  it('a screen fills the alternate buffer, and q gives the terminal back', async () => {
    const { terminal, done } = shown(80, 24);
    await terminal.shows('1,243 leaves/s');
    expect([terminal.buffer, terminal.stdin.isRaw]).toEqual(['alternate', true]);
    expect(terminal.lines[0]).toMatch(/^ gov top {2}✓ ok/);
    expect(terminal.lines[23]).toContain('q quit');
    terminal.press('q');
    await done;
    expect([terminal.buffer, terminal.stdin.isRaw]).toEqual(['normal', false]);
    expect(terminal.text.trim()).toBe('');
    expect(terminal.written).toContain('\u001b[?25h');
  });

  it('a screen that was resized leaves no row behind, and follows the new size', async () => {
    const { terminal, done } = shown(120, 40);
    await terminal.shows('1,243 leaves/s');
    terminal.resize(60, 12);
    await terminal.shows(/^ {3}ingest {5}1,243/m);
    terminal.resize(200, 50);
    await terminal.shows('╭ ingest');
    expect(terminal.lines[49]).toContain('q quit');
    terminal.resize(59, 12);
    await terminal.shows('terminal too small: 59×12');
    terminal.resize(60, 11);
    await terminal.shows('terminal too small: 60×11');
    terminal.resize(100, 30);
    await terminal.shows('╭ ingest');
    // a frame of the old size may still have come: the whole screen is erased and drawn again
    const before = terminal.written.length;
    terminal.resize(80, 24);
    await expect.poll(() => terminal.lines[0], { timeout: 5000 }).toMatch(/^ gov top/);
    const erased = (): string => {
      const at = terminal.written.indexOf('\u001b[H\u001b[2J', before);
      return at === -1 ? '' : terminal.written.slice(at);
    };
    await expect.poll(erased, { timeout: 5000 }).toMatch(/gov top[^]* quit/);
    terminal.press('q');
    await done;
    expect(terminal.buffer).toBe('normal');
    expect(terminal.text.trim()).toBe('');
  });

  it('the signal ends a screen, and ctrl-c interrupts', async () => {
    const one = shown(80, 24);
    await one.terminal.shows('leaves/s');
    one.stop.abort();
    await one.done;
    expect(one.terminal.buffer).toBe('normal');
    const other = shown(80, 24);
    await other.terminal.shows('leaves/s');
    other.terminal.press('\u0003');
    await other.done;
    expect([other.interrupts(), other.terminal.buffer]).toEqual([1, 'normal']);
  });

  it('ctrl-z gives the terminal back until the shell continues the process', async () => {
    const { terminal, stops, resume } = shown(80, 24);
    await terminal.shows('leaves/s');
    terminal.press('\u001a');
    await expect.poll(stops).toBe(1);
    expect([stops(), terminal.buffer, terminal.stdin.isRaw]).toEqual([1, 'normal', false]);
    resume();
    await terminal.shows('leaves/s');
    expect([terminal.buffer, terminal.stdin.isRaw]).toEqual(['alternate', true]);
  });

  it('help shows every key over the screen, and goes away', async () => {
    const { terminal } = shown(80, 24);
    await terminal.shows('leaves/s');
    terminal.press('?');
    await terminal.shows('show only what needs attention');
    terminal.press('?');
    await terminal.shows('leaves/s');
  });

  it('a screen without colours has no style codes, and an ASCII screen only ASCII', async () => {
    const { terminal } = shown(80, 24, { isAscii: true });
    await terminal.shows('+ ingest -');
    expect(terminal.text).toBe(terminal.text.replace(/[^ -~\n]/g, ''));
    // oxlint-disable-next-line no-control-regex -- codes of colours and styles
    expect(terminal.written).not.toMatch(/\u001b\[[0-9;]*m/);
    expect(terminal.text).toContain('! failed');
    expect(terminal.text).toContain('????-42');
  });

  it('a screen without a keyboard says so, and shows', async () => {
    const { terminal } = shown(80, 24, { isTTY: false });
    await terminal.shows('standard input is no terminal');
    expect(terminal.text).toContain('leaves/s');
  });

  it('a screen at ten changes a second writes few bytes, and never clears the whole screen again', async () => {
    const { terminal, store } = shown(100, 24);
    await terminal.shows('leaves/s');
    const before = terminal.written.length;
    const frames = 20;
    for (let at = 1; at <= frames; at += 1) {
      const ingest = { ...sample.ingest, leavesPerSecond: 1000 + at };
      store.dispatch({ kind: 'sample', sample: { ...sample, ingest }, atMs: sampledMs + at * 100 });
      await terminal.shows(`${(1000 + at).toLocaleString('en')} leaves/s`);
    }
    const later = terminal.written.slice(before);
    expect(later).not.toContain('\u001b[2J');
    expect(later).not.toContain('\u001b[3J');
    expect(later.length / frames).toBeLessThan(1500);
  });
});

describe('whether a screen is shown', () => {
  const io = (env: Record<string, string>, isTTY = true) =>
    ({ env, stdout: { isTTY } }) as unknown as Parameters<typeof whyNoScreen>[0]['io'];
  const settings = (more: object = {}) =>
    ({ formatFrom: 'default', noInput: false, ...more }) as Parameters<typeof whyNoScreen>[0]['settings'];

  it('a pipe, CI, a dumb terminal, --no-input and an asked-for format get data', () => {
    expect(whyNoScreen({ io: io({}), settings: settings() })).toBeNull();
    expect(whyNoScreen({ io: io({}, false), settings: settings() })).toBe('');
    expect(whyNoScreen({ io: io({}), settings: settings({ formatFrom: 'flag' }) })).toBe('');
    expect(whyNoScreen({ io: io({ CI: '1' }), settings: settings({ noInput: true }) })).toBe('CI is set');
    expect(whyNoScreen({ io: io({}), settings: settings({ noInput: true }) })).toContain('--no-input');
    expect(whyNoScreen({ io: io({ TERM: 'dumb' }), settings: settings() })).toBe('TERM is dumb');
  });
});
