import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lookFor } from '../../../src/cli/screens/draw.ts';
import type { TopSample } from '../../../src/cli/screens/top/sample.ts';
import { reduceTop, topState, type TopState } from '../../../src/cli/screens/top/state.ts';
import { topView } from '../../../src/cli/screens/top/view.ts';
import { widthOf } from '../../../src/cli/terminal/width.ts';
import { event } from '../../support/serving.ts';
import { startPolicyPlane, type PolicyPlane } from '../support/policy-plane.ts';
import { opened } from './support/opened.ts';
import { sample, sampledMs } from './support/samples.ts';

const look = lookFor(false);
const begun = topState('plane', sampledMs);
const sampled = (more: Partial<TopSample> = {}): TopState =>
  reduceTop(begun, { kind: 'sample', sample: { ...sample, ...more }, atMs: sampledMs });
const drawn = (state: TopState): string => {
  const { title, body } = topView(state, look);
  return [title, ...body].map((line) => String(line).trimEnd()).join('\n');
};

describe('the state of gov top', () => {
  it('gov top keeps the rates of two minutes, and p and ! switch', () => {
    let state = begun;
    for (let at = 0; at < 130; at += 1) {
      const ingest = { ...sample.ingest, leavesPerSecond: at };
      state = reduceTop(state, { kind: 'sample', sample: { ...sample, ingest }, atMs: sampledMs });
    }
    expect([state.rates.length, state.rates[0], state.rates.at(-1)]).toEqual([120, 10, 129]);
    const paused = reduceTop(state, { kind: 'key', action: 'pause' });
    expect([paused.isPaused, reduceTop(paused, { kind: 'key', action: 'pause' }).isPaused]).toEqual([
      true,
      false,
    ]);
    expect(reduceTop(state, { kind: 'key', action: 'errors only' }).isErrorsOnly).toBe(true);
    expect(reduceTop(state, { kind: 'key', action: 'approve' })).toBe(state);
  });
});

describe('the view of gov top', () => {
  it.each([
    [60, 12],
    [80, 24],
    [120, 40],
    [200, 50],
  ])('gov top at %i×%i fills the screen, and no line is too wide', (columns, rows) => {
    const state = reduceTop(sampled({ reasons: ['disk_space_low: 3 days left'] }), {
      kind: 'size',
      columns,
      rows,
    });
    const { body } = topView(state, look);
    expect(body.length).toBeLessThanOrEqual(rows - 2);
    if (columns >= 80) expect(body).toHaveLength(rows - 2);
    // below 80 columns the shell cuts lines
    if (columns >= 80) for (const line of body) expect(widthOf(line)).toBeLessThanOrEqual(columns);
    const text = drawn(state);
    for (const part of ['ingest', 'checkpoint', 'jobs', 'approvals', 'sources', 'disk', '! disk_space_low'])
      expect(text).toContain(part);
    expect(text).not.toContain('\u001b');
    expect(text).toContain('100+ failed');
  });

  it('many reasons leave room for the panels, and the last line counts the others', () => {
    const reasons = Array.from({ length: 40 }, (_, at) => `coverage: run ${at}`);
    const text = drawn(sampled({ reasons }));
    expect(text).toContain('! coverage: run 2');
    expect(text).toContain('and 37 more: gov plane status, or gov health');
    expect(text).toContain('ingest');
    expect(text).toContain('disk');
  });

  it('errors only shows the parts that need attention, or that nothing does', () => {
    const errors = reduceTop(sampled(), { kind: 'key', action: 'errors only' });
    const text = drawn(errors);
    expect(text).toContain('! jobs');
    expect(text).toContain('! failed');
    expect(text).not.toMatch(/ingest|processing|disk/);
    const well = reduceTop(sampled({ jobs: null, sources: null }), { kind: 'key', action: 'errors only' });
    expect(drawn(well)).toContain('✓ nothing needs attention');
  });

  it('stale data says how old it is, and why', () => {
    const failed = reduceTop(sampled(), { kind: 'failed', why: 'connection refused' });
    const later = reduceTop(failed, { kind: 'tick', nowMs: sampledMs + 12_000 });
    expect(drawn(later)).toContain('! 12 s old: connection refused');
    const bodyOf = (state: TopState) => topView(state, lookFor(true)).body.map(String);
    expect(bodyOf(later).every((line) => line === '' || line.startsWith('\u001b[2m'))).toBe(true);
    expect(drawn(reduceTop(begun, { kind: 'failed', why: 'connection refused' }))).toContain(
      'no answer: connection refused',
    );
  });
});

describe('gov top against a plane', () => {
  let plane: PolicyPlane;
  beforeAll(async () => {
    plane = await startPolicyPlane({ extraKeys: { reader: { scopes: ['events:read'] } } });
    plane.write('p/ask.policy', 'escalate "ask"\nwhen tool.name == "pay"');
    await plane.json('policy create p --publish');
    plane.write('call.json', { tool: { name: 'pay' }, arguments: { amount: 5 }, runId: 'r1' });
    await plane.json('tools evaluate call.json');
  });
  afterAll(() => plane.end());

  it('gov top shows the approval that waits, and q ends it with exit code 0', async () => {
    const { terminal, code } = opened(plane, 'top');
    await terminal.shows('1 waiting');
    expect(terminal.text).toMatch(/│ +\d+ s {2}pay {2}r1/);
    const events = Array.from({ length: 100 }, () => event({ runId: 'r1' }));
    const { status } = await plane.call('POST', '/events/batch', { body: { events } });
    expect(status).toBe(201);
    await terminal.shows(/ [1-9]\d* leaves\/s/);
    terminal.press('q');
    expect(await code).toBe(0);
    expect(terminal.buffer).toBe('normal');
  });

  it('gov top into a pipe prints one JSON object for each sample', async () => {
    const { stdout, code } = await plane.gov('top --count 2');
    const samples = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(code).toBe(0);
    expect(samples).toHaveLength(2);
    expect(samples[0]).toMatchObject({
      status: 'ok',
      approvals: { waiting: { count: 1 }, shown: [{ tool: 'pay', runId: 'r1' }] },
      jobs: { failed: { count: 0 } },
      ingest: { leavesPerSecond: null },
      unread: [],
    });
    expect(samples[1].ingest.leavesPerSecond).toBe(0);
    expect((await plane.json('top')).status).toBe('ok');
  });

  it('gov top says which parts a key may not read', async () => {
    const env = { GOV_API_KEY: plane.keys['reader'] ?? '' };
    const { stdout } = await plane.gov('top --count 1', { env });
    const { jobs, approvals, integrity, sources, unread } = JSON.parse(stdout);
    expect({ jobs, approvals, integrity }).toEqual({ jobs: null, approvals: null, integrity: null });
    expect(sources.known.count).toBe(0);
    expect(unread.toSorted()).toEqual(
      ['approvals', 'integrity', 'jobs'].map((part) => `${part}: this key may not read it`),
    );
  });

  it('gov top in a terminal of CI prints data, and says why', async () => {
    const { terminal, code } = opened(plane, 'top --count 1', { env: { CI: '1' }, columns: 200 });
    expect(await code).toBe(0);
    expect(terminal.buffer).toBe('normal');
    expect(terminal.text).toContain('"status":"ok"');
    const runs = opened(plane, 'runs browse', { env: { CI: '1' }, columns: 200 });
    expect(await runs.code).toBe(0);
    expect(runs.terminal.text).toContain('CI is set: data instead of a screen');
  });

  it('gov top refuses formats that cannot hold samples, and many samples in one value', async () => {
    expect(await plane.gov('top -o csv')).toMatchObject({ code: 2 });
    expect(await plane.gov('top -o json --count 2')).toMatchObject({ code: 2 });
    expect(await plane.gov('top --interval 999ms')).toMatchObject({ code: 2 });
  });
});
