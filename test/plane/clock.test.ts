import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os, { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { planeInit } from '../../plane/data/init.ts';
import { planeServe } from '../../plane/serve/start.ts';
import type { Log } from '../../src/service/call/log.ts';
import { ask, serve as startProcess } from '../faults/serving.ts';
import { event, send } from '../support/serving.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

// here a jump is a jump: in test/support/setup.ts it looks as if the machine had slept
const { now: rightNow } = Date;
os.uptime = () => rightNow() / 1000;
syncBuiltinESMExports();

const dayMs = 86_400_000;
function setClock(aheadMs: number): void {
  const right = Date.now;
  Date.now = () => right() + aheadMs;
  undo.push(() => (Date.now = right));
}

async function serve() {
  const lines: string[] = [];
  const note = (_: unknown, text: string): void => void lines.push(text);
  const folder = mkdtempSync(join(tmpdir(), 'gov-clock-'));
  undo.push(() => rmSync(folder, { recursive: true }));
  const dataDir = join(folder, 'plane');
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
  const log: Log = { debug: () => {}, info: () => {}, warn: note, error: note };
  const plane = await planeServe({ dataDir, env: {}, log });
  undo.push(() => plane.close());
  const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
  const call = (method: string, path: string, body?: unknown) =>
    send(method, `${plane.baseUrl}${path}`, { key, body });
  return { call, lines };
}

describe('a plane whose system clock jumps', () => {
  it.each([2 * dayMs, -dayMs])(
    'a plane records the right time after a clock jump of %d ms, and health, log and gov.system report it',
    async (jump) => {
      const { call, lines } = await serve();
      const before = Date.now();
      setClock(jump);
      // its own time is right, so it is no time in the future
      const sent = event({ runId: 'jump', timestamp: new Date(before).toISOString() });
      const { status, body } = await call('POST', '/events', sent);
      expect(status).toBe(201);
      const stored = (await call('GET', `/events/${body.eventId}`)).body;
      expect(Math.abs(Date.parse(stored.serverTimestamp) - before)).toBeLessThan(60_000);
      const health = (await call('GET', '/health')).body;
      expect(health).toMatchObject({
        status: 'degraded',
        reasons: [expect.stringMatching(/^clock_skew: the system clock jumped/)],
      });
      await vi.waitFor(async () => {
        const { events } = (await call('GET', '/events?runId=gov.system')).body;
        expect(events.at(-1)).toMatchObject({ eventType: 'clock.jumped', resource: { type: 'clock' } });
      }, 5000);
      undo.pop()!();
      await vi.waitFor(async () => {
        const { events } = (await call('GET', '/events?runId=gov.system')).body;
        expect(events.at(-1)).toMatchObject({ eventType: 'clock.corrected' });
      }, 5000);
      expect((await call('GET', '/health')).body.reasons).toEqual([]);
      expect(lines.join('\n')).toMatch(
        /the system clock jumped 1?\d+ s (ahead|back), and is not followed\nthe system clock is right again/,
      );
    },
  );

  it('a plane reports that the time of its log stands still when the log is ahead of the clock', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gov-clock-'));
    undo.push(() => rmSync(folder, { recursive: true }));
    const dataDir = join(folder, 'plane');
    await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
    const early = await startProcess(dataDir, { aheadMs: dayMs });
    expect((await ask(early, '/events', { body: event() })).status).toBe(201);
    early.child.kill('SIGTERM');
    await early.ended;
    const late = await startProcess(dataDir);
    expect((await ask(late, '/health')).body).toMatchObject({
      status: 'degraded',
      reasons: [expect.stringMatching(/^clock_skew: the newest time of the log is 86\d{3} s ahead/)],
    });
    late.child.kill('SIGTERM');
    await late.ended;
  });
});
