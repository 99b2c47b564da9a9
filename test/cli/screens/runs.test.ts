import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KeyAction } from '../../../src/cli/screens/keys.ts';
import type { RunDetail, TimelineRow } from '../../../src/cli/screens/runs/load.ts';
import {
  levelOf,
  reduceRuns,
  runsState,
  shownRuns,
  type RunsState,
} from '../../../src/cli/screens/runs/state.ts';
import { governing } from '../../service/support/governed.ts';
import { startPolicyPlane, type PolicyPlane } from '../support/policy-plane.ts';
import { opened } from './support/opened.ts';

const run = (runId: string) => ({
  runId,
  events: 1,
  firstTimestamp: '2026-03-01T12:00:00.000Z',
  lastTimestamp: '2026-03-01T12:00:00.000Z',
  lastServerTimestamp: '2026-03-01T12:00:00.000Z',
  aiSystemId: null,
  sealed: false,
  proofs: 0,
  lastDecision: null,
});
const page = (ids: readonly string[], nextCursor: string | null) => ({ rows: ids.map(run), nextCursor });
const press = (state: RunsState, ...actions: KeyAction[]): RunsState =>
  actions.reduce((now, action) => reduceRuns(now, { kind: 'key', action }), state);
const loaded = (state: RunsState, of: Parameters<typeof reduceRuns>[1] & { kind: 'loaded' }) =>
  reduceRuns(state, of);

function withRuns(ids: readonly string[], nextCursor: string | null = null): RunsState {
  const state = runsState('plane', 0);
  return loaded(state, {
    kind: 'loaded',
    for: state.wanted!,
    loaded: { kind: 'runs', page: page(ids, nextCursor) },
  });
}

const row = (more: Partial<TimelineRow>): TimelineRow => ({
  sequence: 1,
  time: '2026-03-01T12:00:00.000Z',
  type: 'tool.call',
  actor: 'planner',
  action: 'pay',
  decision: null,
  event: null,
  evaluation: null,
  ...more,
});

describe('the state of the browser of runs', () => {
  it('the next page is wanted at the end of the list, and its rows follow the first ones', () => {
    const first = withRuns(['a', 'b', 'c'], 'next');
    expect(press(first, 'down').wanted).toBeNull();
    const end = press(first, 'last');
    expect(end.wanted).toEqual({ kind: 'runs', cursor: 'next' });
    const both = loaded(end, {
      kind: 'loaded',
      for: end.wanted!,
      loaded: { kind: 'runs', page: page(['d'], null) },
    });
    expect(shownRuns(both).map(({ runId }) => runId)).toEqual(['a', 'b', 'c', 'd']);
    expect(press(both, 'last').wanted).toBeNull();
    const failed = reduceRuns(end, { kind: 'failed', for: end.wanted!, why: 'reset' });
    expect([shownRuns(failed).length, failed.wanted]).toEqual([3, null]);
  });

  it('an answer that nobody waits for any more changes nothing', () => {
    const state = press(withRuns(['a']), 'open');
    const wanted = state.wanted!;
    const left = press(state, 'back');
    expect([levelOf(left), left.wanted]).toEqual(['runs', null]);
    const detail: RunDetail = { runId: 'a', rows: [], notes: [], proofId: null };
    expect(loaded(left, { kind: 'loaded', for: wanted, loaded: { kind: 'run', run: detail } })).toBe(left);
    expect(reduceRuns(left, { kind: 'failed', for: wanted, why: 'late' })).toBe(left);
  });

  it('a filter narrows the runs while it is typed, enter keeps it, esc clears it', () => {
    let state = press(withRuns(['pay-1', 'pay-2', 'ship-1']), 'last', 'filter');
    state = reduceRuns(state, { kind: 'text', text: 'PAY' });
    expect(shownRuns(state)).toHaveLength(2);
    expect(state.list.cursor).toBe(1);
    state = press(state, 'open');
    expect([state.typing, shownRuns(state).length, levelOf(state)]).toEqual([null, 2, 'runs']);
    expect(shownRuns(press(state, 'back'))).toHaveLength(3);
    expect(shownRuns(press(press(state, 'filter'), 'back'))).toHaveLength(3);
  });

  it('a filter reads older runs until the screen is full of matches', () => {
    const typed = reduceRuns(press(withRuns(['pay-1', 'ship-1'], 'second'), 'filter'), {
      kind: 'text',
      text: 'invoice',
    });
    expect(typed.wanted).toEqual({ kind: 'runs', cursor: 'second' });
    const answer = (state: RunsState, ids: readonly string[], nextCursor: string | null) =>
      loaded(state, {
        kind: 'loaded',
        for: state.wanted!,
        loaded: { kind: 'runs', page: page(ids, nextCursor) },
      });
    const found = answer(typed, ['invoice-1'], 'third');
    expect([shownRuns(found).length, found.wanted]).toEqual([1, { kind: 'runs', cursor: 'third' }]);
    const many = Array.from({ length: 30 }, (_, at) => `invoice-2${at}`);
    expect(answer(found, many, 'fourth').wanted).toBeNull();
    const none = Array.from({ length: 5000 }, (_, at) => `ship-2${at}`);
    expect(answer(found, none, 'fourth').wanted).toBeNull();
    expect(press(press(withRuns(['a'], 'second'), 'filter'), 'open').wanted).toBeNull();
  });

  it('enter goes from an event without a decision to the proof, and esc goes back step by step', () => {
    const open = press(withRuns(['a']), 'open');
    const event = { eventId: 'evt_1' } as unknown as NonNullable<TimelineRow['event']>;
    const detail: RunDetail = { runId: 'a', rows: [row({ event })], notes: [], proofId: 'prf_1' };
    const state = loaded(open, { kind: 'loaded', for: open.wanted!, loaded: { kind: 'run', run: detail } });
    const proof = press(state, 'open', 'open');
    expect(proof.levels).toEqual(['runs', 'timeline', 'event', 'proof']);
    expect(proof.wanted).toEqual({ kind: 'proof', proofId: 'prf_1' });
    const without = press(state, 'decision');
    expect([without.levels, without.message]).toEqual([state.levels, 'no policy decided about this event']);
    expect(press(without, 'down').message).toBeNull();
    expect(press(proof, 'back', 'back', 'back', 'back').levels).toEqual(['runs']);
    const unproved = { ...state, run: { state: 'ready', value: { ...detail, proofId: null } } } as RunsState;
    expect(press(unproved, 'proof').proof).toMatchObject({
      state: 'ready',
      value: [expect.stringContaining('not proved'), expect.any(String)],
    });
  });
});

describe('gov runs browse against a plane', () => {
  let plane: PolicyPlane;
  beforeAll(async () => {
    plane = await startPolicyPlane();
    plane.write('p/pay.policy', 'deny "too-much"\nwhen tool.name == "pay" && arguments.amount > 100');
    await plane.json('policy create p --publish');
    const governed = governing(plane);
    const denied = await governed.tool('checkout-42', 'pay', {
      arguments: { amount: 101, to: '客户\u001b[2J' },
    });
    await governed.ran(
      'checkout-42',
      { evaluationId: denied.evaluationId, status: 'deny', toolCallId: 'c1' },
      'tool.denied',
    );
    await plane.json('proofs create --run checkout-42');
  });
  afterAll(() => plane.end());

  it('gov runs browse goes from a run to its timeline, event, decision with clause, and proof', async () => {
    const { terminal, code } = opened(plane, 'runs browse', { columns: 100, rows: 30 });
    await terminal.shows(/› checkout-42 +\d/);
    terminal.press('\r');
    await terminal.shows('tool.denied');
    terminal.press('G');
    await terminal.shows(/› .*tool\.denied +deny/);
    terminal.press('\r');
    await terminal.shows('eventType: tool.denied');
    terminal.press('\r');
    await terminal.shows('context.arguments.amount 101 > 100');
    expect(terminal.text).toContain('too-much v1: deny, matched');
    expect(terminal.text).toContain('policy  context.tool.name == "pay" && context.arguments.amount > 100');
    terminal.press('\r');
    await terminal.shows('authentic');
    expect(terminal.text).toMatch(/compliant +(yes|no)/);
    terminal.press('q');
    expect(await code).toBe(0);
  });

  it('gov runs browse into a pipe prints every run as a JSON line', async () => {
    const { stdout, code } = await plane.gov('runs browse');
    expect(code).toBe(0);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).runId),
    ).toContain('checkout-42');
    expect((await plane.gov('runs browse -o id')).stdout).toContain('checkout-42\n');
  });

  it('gov runs browse says why it shows nothing, and r asks again', async () => {
    const { terminal, code } = opened({ ...plane, key: 'gov_live_wrong' }, 'runs browse', { columns: 120 });
    await terminal.shows('r loads again');
    // both keys in one chunk, as a slow terminal sends them
    terminal.press('rq');
    expect(await code).toBe(0);
  });
});
