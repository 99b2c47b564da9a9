import { afterEach, describe, expect, it } from 'vitest';
import { WebSocketServer, type WebSocket } from 'ws';
import type { AuditEvent } from '../../../src/contract/events.ts';
import {
  decisionOf,
  eventsKept,
  eventsState,
  isBad,
  reduceEvents,
  shownEvents,
  type EventsState,
} from '../../../src/cli/screens/events/state.ts';
import type { KeyAction } from '../../../src/cli/screens/keys.ts';
import { startServer } from '../../client/server.ts';
import { opened } from './support/opened.ts';

const event = (sequence: number, more: Partial<AuditEvent> = {}): AuditEvent => ({
  sequence,
  eventId: `evt_${sequence}`,
  runId: `run-${sequence % 3}`,
  eventType: sequence % 2 === 0 ? 'tool.call' : 'tool.denied',
  actor: { name: 'planner' },
  resource: 'search',
  action: 'look\u001b[2J up',
  timestamp: '2026-03-01T12:00:01.000Z',
  serverTimestamp: '2026-03-01T12:00:01.000Z',
  metadata: {},
  causedBy: null,
  aiSystemId: null,
  clientEventId: null,
  leafHash: 'sha256:0',
  ...more,
});
const add = (state: EventsState, from: number, count: number): EventsState =>
  reduceEvents(state, { kind: 'events', events: Array.from({ length: count }, (_, at) => event(from + at)) });
const press = (state: EventsState, ...actions: KeyAction[]): EventsState =>
  actions.reduce((now, action) => reduceEvents(now, { kind: 'key', action }), state);
const chosen = (state: EventsState): number | undefined => shownEvents(state)[state.list.cursor]?.sequence;
const begun = eventsState('plane', 0);

describe('the state of the live events', () => {
  it('the screen keeps 2,000 events, and drops the oldest at one more', () => {
    const full = add(begun, 1, eventsKept);
    expect([full.events.length, full.events[0]?.sequence]).toEqual([2000, 1]);
    const more = add(full, eventsKept + 1, 1);
    expect([more.events.length, more.events[0]?.sequence, more.received]).toEqual([2000, 2, 2001]);
    expect(chosen(more)).toBe(2001);
  });

  it('the cursor follows the newest event until it moves up, and again at the end', () => {
    const still = press(add(begun, 1, 10), 'up', 'up');
    expect(chosen(add(still, 11, 5))).toBe(8);
    expect(chosen(add(still, 11, eventsKept - 5))).toBe(8);
    expect(chosen(add(press(still, 'last'), 11, 5))).toBe(15);
  });

  it('a paused screen holds its events while others arrive', () => {
    const paused = add(press(add(begun, 1, 3), 'pause'), 4, 5);
    expect([shownEvents(paused).length, paused.events.length]).toEqual([3, 8]);
    expect(chosen(press(paused, 'pause'))).toBe(8);
  });

  it('errors only and the filter hide the other events', () => {
    const errors = press(add(begun, 1, 10), 'errors only');
    expect(shownEvents(errors).every(isBad)).toBe(true);
    expect(shownEvents(errors)).toHaveLength(5);
    const typed = reduceEvents(press(errors, 'filter'), { kind: 'text', text: 'run-1' });
    expect(shownEvents(typed).map(({ runId }) => runId)).toEqual(['run-1', 'run-1']);
    expect(shownEvents(press(typed, 'open', 'back'))).toHaveLength(5);
  });

  it('the decision of an event is the one it acted on', () => {
    expect(decisionOf(event(2, { metadata: { decision: 'deny' } }))).toBe('deny');
    expect(decisionOf(event(2, { metadata: { evaluationId: 'pev_1', status: 'deny' } }))).toBe('deny');
    expect(decisionOf(event(2, { metadata: { status: 'ok' } }))).toBeNull();
    expect(isBad(event(2, { metadata: { decision: 'deny' } }))).toBe(true);
  });
});

describe('gov events tail --tui', () => {
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });

  async function streaming() {
    const server = await startServer();
    let isAway = false;
    const sockets = new WebSocketServer({
      server: server.server,
      verifyClient: (_request, answer) => answer(!isAway, 503),
    });
    const urls: string[] = [];
    let send: WebSocket['send'] | undefined;
    const sends = (event: AuditEvent): void => send?.(JSON.stringify(event));
    sockets.on('connection', (socket, request) => {
      urls.push(request.url ?? '');
      send = socket.send.bind(socket) as WebSocket['send'];
      for (let sequence = 1; sequence <= 5; sequence += 1) sends(event(sequence));
    });
    const cut = (): void => {
      isAway = true;
      sockets.clients.forEach((socket) => socket.terminate());
    };
    const back = (): void => void (isAway = false);
    closers.push(cut, () => server.close());
    return { target: { baseUrl: server.baseUrl, key: 'gov_live_x' }, urls, sends, cut, back };
  }

  it('gov events tail --tui follows, filters and opens an event, and passes its flags on', async () => {
    const { target, urls, sends } = await streaming();
    const { terminal, code } = opened(target, 'events tail --tui --run run-1 --after 0', { columns: 100 });
    await terminal.shows('✓ live');
    await terminal.shows('5 events');
    expect(terminal.text).toMatch(/› 12:00:01 {2}! {2}tool\.denied/);
    expect(terminal.text).toContain('look\\u001b[');
    terminal.press('!');
    await terminal.shows('3 of 5 events');
    sends(event(7, { action: 'pay 中文' }));
    await terminal.shows('pay 中文');
    terminal.press('\r');
    await terminal.shows('eventId: evt_7');
    terminal.press('\u001b');
    await terminal.shows('6 events');
    terminal.press('q');
    expect(await code).toBe(0);
    expect(urls).toEqual(['/api/v1/events/stream?runId=run-1&after=0']);
  });

  it('gov events tail --tui shows a lost connection, and continues', async () => {
    const { target, cut, back, urls } = await streaming();
    const { terminal, code } = opened(target, 'events tail --tui', { columns: 120 });
    await terminal.shows('5 events');
    cut();
    await terminal.shows('connection lost');
    back();
    await terminal.shows('✓ live');
    expect(urls.length).toBeGreaterThan(1);
    terminal.press('q');
    expect(await code).toBe(0);
  });

  it('gov events tail --tui ends with the failure when the service refuses the stream', async () => {
    const server = await startServer();
    closers.push(() => server.close());
    const { terminal, code } = opened({ baseUrl: server.baseUrl, key: 'gov_live_x' }, 'events tail --tui');
    expect(await code).not.toBe(0);
    expect(terminal.buffer).toBe('normal');
    await terminal.shows('error:');
  });
});
