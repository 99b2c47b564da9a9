import type { Socket } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { StreamTransport } from '../../../src/host/forwards/stream.ts';
import { makeAuthority, type Authority, type Issued } from '../../support/certificates.ts';
import { batch, target } from './support/batches.ts';
import { startSyslog, type SyslogReceiver } from './support/receivers.ts';

let folder: string;
let authority: Authority;
let server: Issued;
let client: Issued;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gov-stream-'));
  authority = makeAuthority(folder);
  server = authority.issue('server');
  client = authority.issue('client');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let receiver: SyslogReceiver | undefined;
let transport: StreamTransport | undefined;
afterEach(async () => {
  transport?.close();
  await receiver?.close();
});

const lines = (index: number): string => `<110>1 - - gov - - - m\u00e9ssage ${index}`;
const tcp = (port: number, more = {}) =>
  (transport = new StreamTransport(target('syslog', { to: `syslog+tcp://127.0.0.1:${port}`, ...more })));
const tls = (port: number, more = {}) =>
  (transport = new StreamTransport(
    target('syslog', { to: `syslog+tls://localhost:${port}`, ca: authority.certFile, ...more }),
  ));
const secured = () => ({ cert: server.cert, key: server.key });

describe('syslog over TCP', () => {
  it('counts octets, and confirms once the receiver has read everything', async () => {
    receiver = await startSyslog();
    const each = tcp(receiver.port);
    expect(await each.send(batch(0, 1000, lines))).toEqual({ ok: true, isKept: false });
    expect(await each.send(batch(1000, 1001, lines))).toEqual({ ok: true, isKept: false });
    expect(await each.confirm(5000)).toEqual({ ok: true, isKept: true });
    expect(receiver.messages).toEqual(Array.from({ length: 1001 }, (_, index) => lines(index)));
    expect(receiver.connections).toHaveLength(1);
  });

  it('does not confirm what a receiver left unread when it broke the connection', async () => {
    receiver = await startSyslog();
    receiver.handle = (socket) => {
      socket.pause();
      setImmediate(() => socket.resetAndDestroy());
    };
    const each = tcp(receiver.port);
    const sent = await each.send(batch(0, 10, lines));
    const kept = sent.ok ? await each.confirm(5000) : sent;
    expect(kept).toMatchObject({ ok: false, failed: expect.stringMatching(/ECONNRESET|EPIPE|closed/) });
  });

  it('does not confirm what a receiver left unread when it ended its side first', async () => {
    receiver = await startSyslog();
    const sides: Socket[] = [];
    receiver.handle = (socket) => {
      sides.push(socket.pause());
    };
    const each = tcp(receiver.port);
    expect(await each.send(batch(0, 10, lines))).toMatchObject({ ok: true });
    await vi.waitFor(() => expect(sides).toHaveLength(1), 20_000);
    sides[0]!.end();
    await vi.waitFor(async () => {
      // gov answers the end with its own, which makes the socket of the receiver unwritable and finished
      expect(sides[0]!.writableFinished).toBe(true);
    }, 20_000);
    expect(await each.confirm(5000)).toMatchObject({
      ok: false,
      failed: expect.stringContaining('before gov did'),
    });
  });

  it('does not confirm while the receiver keeps its side open, unless the target asks for no confirmation', async () => {
    receiver = await startSyslog();
    receiver.handle = (socket) => {
      socket.allowHalfOpen = true;
      socket.resume();
    };
    const each = tcp(receiver.port);
    await each.send(batch(0, 1, lines));
    expect(await each.confirm(50)).toMatchObject({
      ok: false,
      failed: expect.stringContaining('set confirm to none'),
    });
    const trusting = tcp(receiver.port, { confirm: 'none' });
    await trusting.send(batch(0, 1, lines));
    expect(await trusting.confirm(50)).toEqual({ ok: true, isKept: true });
  });

  it('says why no connection came about', async () => {
    receiver = await startSyslog();
    const { port } = receiver;
    await receiver.close();
    expect(await tcp(port).send(batch(0, 1, lines))).toMatchObject({
      ok: false,
      failed: expect.stringContaining('ECONNREFUSED'),
    });
  });
});

describe('syslog over TLS', () => {
  it('sends to a receiver whose certificate the authority signed, and confirms', async () => {
    receiver = await startSyslog(secured());
    const each = tls(receiver.port);
    expect(await each.send(batch(0, 500, lines))).toEqual({ ok: true, isKept: false });
    expect(await each.confirm(5000)).toEqual({ ok: true, isKept: true });
    expect(receiver.messages).toHaveLength(500);
    expect(await each.send(batch(500, 501, lines))).toMatchObject({ ok: true });
    expect(await each.confirm(5000)).toEqual({ ok: true, isKept: true });
    expect(receiver.connections).toHaveLength(2);
  });

  it('refuses a receiver of another authority, and one of another name', async () => {
    receiver = await startSyslog(secured());
    const other = makeAuthority(folder, 'other');
    expect(await tls(receiver.port, { ca: other.certFile }).send(batch(0, 1, lines))).toMatchObject({
      ok: false,
    });
    expect(await tls(receiver.port, { serverName: 'siem.example' }).send(batch(0, 1, lines))).toMatchObject({
      ok: false,
      failed: expect.stringContaining('siem.example'),
    });
    expect(receiver.messages).toEqual([]);
  });

  it('shows its certificate to a receiver that asks for one', async () => {
    receiver = await startSyslog({
      ...secured(),
      ca: authority.cert,
      requestCert: true,
      rejectUnauthorized: true,
    });
    const without = tls(receiver.port);
    const first = await without.send(batch(0, 1, lines));
    expect(first.ok ? await without.confirm(5000) : first).toMatchObject({ ok: false });
    const each = tls(receiver.port, { cert: client.certFile, key: client.keyFile });
    await each.send(batch(0, 1, lines));
    expect(await each.confirm(5000)).toEqual({ ok: true, isKept: true });
    expect(receiver.messages).toEqual([lines(0)]);
  });
});
