import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { EventEmitter } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { UnsentBytes } from '../../../src/http/answer/unsent.ts';
import type { Caller } from '../../../src/service/call/caller.ts';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

const MiB = 1024 * 1024;

describe('answers that wait to be read', () => {
  /** A request of a key, and its answer. */
  function asked(id: string, organizationId = 'org_x') {
    const socket = { timeout: 60_000, setTimeout: (ms: number) => (socket.timeout = ms), destroy: () => {} };
    const caller = { id, project: { organizationId } } as Caller;
    const request = { caller, raw: { socket, headers: {} } as unknown as IncomingMessage };
    const response = Object.assign(new EventEmitter(), { req: request.raw, destroyed: false });
    return { request, response: response as unknown as ServerResponse, socket };
  }
  const bounds = { callerBytes: 100, organizationBytes: 250, bytes: 400 };
  const unsent = (isHosted = true) => new UnsentBytes({ addressOf: () => '192.0.2.1', isHosted, bounds });

  it('unread answers may reach the limit of their caller; with one byte more, only others continue', () => {
    const held = unsent();
    const { request, response } = asked('key_a');
    held.hold(request, response, Buffer.alloc(bounds.callerBytes));
    expect(() => held.check(request)).not.toThrow();
    const second = asked('key_a');
    held.hold(second.request, second.response, 'x');
    expect(() => held.check(request)).toThrow(/101 bytes of answers to you wait, at most 100 may/);
    expect(() => held.check(asked('key_b').request)).not.toThrow();
    second.response.emit('close');
    expect(() => held.check(request)).not.toThrow();
  });

  it('unread answers count by organization too when there are several', () => {
    for (const isHosted of [true, false]) {
      const held = unsent(isHosted);
      const asking = (id: string, bytes: number) => {
        const { request, response } = asked(id);
        held.hold(request, response, Buffer.alloc(bytes));
      };
      for (const id of ['key_a', 'key_b']) asking(id, 100);
      asking('key_c', 50);
      expect(() => held.check(asked('key_d').request)).not.toThrow();
      asking('key_d', 1);
      const next = () => held.check(asked('key_e').request);
      if (isHosted) expect(next).toThrow(/251 bytes of answers to your organization wait/);
      else expect(next).not.toThrow();
      expect(() => held.check(asked('key_z', 'org_z').request)).not.toThrow();
    }
  });

  it('unread answers count in all: beyond that limit, only callers with unread answers are refused', () => {
    const held = unsent();
    for (const at of [0, 1, 2, 3]) {
      const { request, response } = asked(`key_${at}`, `org_${at}`);
      held.hold(request, response, Buffer.alloc(100));
      expect(() => held.check(request)).not.toThrow();
    }
    const { request, response } = asked('key_9', 'org_9');
    held.hold(request, response, 'x');
    expect(() => held.check(request)).toThrow(/401 bytes of answers wait in all, at most 400 may/);
    expect(() => held.check(asked('key_n', 'org_n').request)).not.toThrow();
  });

  it('the server restores the idle timeout of a socket once its responses are read', () => {
    const held = unsent();
    const { request, response, socket } = asked('key_a');
    held.hold(request, response, 'x');
    expect(socket.timeout).toBe(limits.unsentStallSeconds * 1000);
    response.emit('close');
    expect(socket.timeout).toBe(60_000);
  });
});

/** A socket that asks and does not read. */
function deaf(port: number, key: string, path: string): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  return socket;
}

const page = '/api/v1/events?runId=large&limit=1000';
const pageBytes = 6 * MiB;
/** So many fit, and one more is begun. */
const most = Math.ceil((limits.unsentBytesPerCaller + 1) / pageBytes);

async function fill(call: Tenant['call'] | TestPlane['call']): Promise<void> {
  for (let batch = 0; batch < 6; batch += 1) {
    const events = Array.from({ length: 16 }, (_, n) =>
      event({ runId: 'large', metadata: { n, fill: 'x'.repeat(64 * 1024) } }),
    );
    expect((await call('POST', '/events/batch', { body: { events } })).status).toBe(201);
  }
}

describe('a client that does not read', () => {
  let service: TestService;
  let ada: Tenant;
  let bob: Tenant;
  beforeAll(async () => {
    service = await startService({ timeouts: { unsent: 2 } });
    [ada, bob] = [await service.signUp('ada'), await service.signUp('bob')];
    await fill(ada.call);
  });
  afterAll(() => service.end());

  it('the server refuses a client that does not read, and no other, and then closes its sockets', async () => {
    const { body } = await ada.call('POST', '/api-keys', { body: { name: 'deaf' } });
    const before = process.memoryUsage().rss;
    const sockets = Array.from({ length: 3 * most }, () => deaf(service.port, body.key, page));
    const asks = () => ada.call('GET', '/events/count', { key: body.key });
    await expect.poll(async () => (await asks()).status, { timeout: 10_000 }).toBe(503);
    const refused = await asks();
    expect([refused.body.code, refused.headers['retry-after']]).toEqual([
      'OVERLOADED',
      String(limits.overloadRetrySeconds),
    ]);
    expect(refused.body.detail).toContain('wait');
    for (const call of [bob.call, ada.call]) {
      expect((await call('GET', '/events/count')).status).toBe(200);
      expect((await call('POST', '/events', { body: event() })).status).toBe(201);
    }
    expect((await service.call('GET', '/health', { key: body.key })).status).toBe(200);
    // each answer that was taken is in memory about twice: as it was made, and as it waits
    expect(process.memoryUsage().rss - before).toBeLessThan(4 * limits.unsentBytesPerCaller);
    await expect.poll(async () => (await asks()).status, { timeout: 20_000 }).toBe(200);
    for (const socket of sockets) socket.destroy();
  });

  it('the server does not refuse a client that reads slowly', async () => {
    const socket = connect(service.port, '127.0.0.1');
    socket.write(`GET ${page} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ada.keys.production}\r\n\r\n`);
    let got = 0;
    // 64 KiB every 20 ms: on the whole as long as the patience with those who do not read
    for (;;) {
      const chunk = socket.read() as Buffer | null;
      got += chunk?.byteLength ?? 0;
      if (got > pageBytes) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(socket.destroyed).toBe(false);
    }
    socket.destroy();
  });
});

it('a plane also limits unread responses by key', async () => {
  const plane = await startPlane({ extraKeys: { deaf: { scopes: ['events:read'] } } });
  await fill(plane.call);
  const key = plane.keys['deaf'] ?? '';
  const sockets = Array.from({ length: 2 * most }, () => deaf(plane.port, key, page));
  const asks = () => plane.call('GET', '/events/count', { key });
  await expect.poll(async () => (await asks()).status, { timeout: 10_000 }).toBe(503);
  expect((await plane.call('GET', '/events/count')).status).toBe(200);
  for (const socket of sockets) socket.destroy();
  await expect.poll(async () => (await asks()).status, { timeout: 10_000 }).toBe(200);
  await plane.end();
});
