import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AllowList } from '../../../src/host/outbound/allowed.ts';
import { openOutbound } from '../../../src/host/outbound/open.ts';
import type { OutboundAnswer } from '../../../src/service/hosting/outbound.ts';
import { makeAuthority, type Authority, type Issued } from '../../support/certificates.ts';
import { startNameServer } from '../../support/network/name-server.ts';
import { startReceiver, type Receiver } from '../../support/network/receiver.ts';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let authority: Authority;
let issued: Issued;
beforeAll(() => {
  authority = makeAuthority(mkdtempSync(join(tmpdir(), 'outbound-')));
  issued = authority.issue('receiver');
});

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const receiver = async (
  ...given: Parameters<typeof startReceiver> extends [unknown, ...infer Rest] ? Rest : never
) => {
  const started = await startReceiver(issued, ...given);
  closing.push(() => started.close());
  return started;
};

interface Given {
  readonly allow?: readonly string[];
  readonly nameServers?: readonly string[];
  readonly ca?: string | null;
}

const sender = ({ allow = [], nameServers, ca = authority.cert }: Given = {}) =>
  openOutbound({
    allowed: new AllowList(allow, 'test'),
    authorities: ca,
    now: Date.now,
    version: '1.2.3',
    ...(nameServers === undefined ? {} : { nameServers }),
  });

const send = (url: string, given: Given = {}, timeoutMs = 5000): Promise<OutboundAnswer> =>
  sender(given).post({ url, headers: { 'x-own': 'yes' }, body: Buffer.from('{"a":1}'), timeoutMs });

const allowing = ({ port }: Receiver): Given => ({ allow: [`127.0.0.1:${port}`] });

describe('post over HTTPS', () => {
  it('sends the next message on the same connection, and on a new one where the receiver closed it', async () => {
    const at = await receiver();
    const { post } = sender(allowing(at));
    const message = {
      url: `https://127.0.0.1:${at.port}/in`,
      headers: {},
      body: Buffer.from('{}'),
      timeoutMs: 5000,
    };
    for (const count of [1, 1, 2]) {
      expect(await post(message)).toMatchObject({ ok: true });
      expect(at.connections()).toBe(count);
      if (at.requests.length === 2) at.closeConnections();
    }
  });

  it('sends body and headers, and reports the status', async () => {
    const at = await receiver();
    const answer = await send(`https://127.0.0.1:${at.port}/in?x=1`, allowing(at));
    expect(answer).toEqual({
      ok: true,
      statusCode: 204,
      retryAfterMs: null,
      durationMs: expect.any(Number),
      failed: null,
      isFinal: false,
    });
    const [request] = at.requests;
    expect(request).toMatchObject({ path: '/in?x=1', body: '{"a":1}' });
    expect(request!.headers).toMatchObject({
      host: `127.0.0.1:${at.port}`,
      'x-own': 'yes',
      'content-length': '7',
      'user-agent': 'gov/1.2.3',
    });
  });

  it('follows no redirect, and says so', async () => {
    const inner = await receiver();
    const at = await receiver(
      (response) => void response.writeHead(307, { location: `https://127.0.0.1:${inner.port}/` }).end(),
    );
    const given = { allow: [`127.0.0.1:${at.port}`, `127.0.0.1:${inner.port}`] };
    const answer = await send(`https://127.0.0.1:${at.port}/`, given);
    expect(answer).toMatchObject({
      ok: false,
      statusCode: 307,
      failed: 'the receiver answered 307, and redirects are not followed',
    });
    expect(inner.connections()).toBe(0);
  });

  it.each([
    [500, {}, null, false],
    [429, { 'retry-after': '7' }, 7000, false],
    [503, { 'retry-after': 'soon' }, null, false],
    [410, {}, null, true],
  ])('reports %d with headers %j as failed', async (status, headers, retryAfterMs, isFinal) => {
    const at = await receiver((response) => void response.writeHead(status, headers).end('no'));
    const answer = await send(`https://127.0.0.1:${at.port}/`, allowing(at));
    expect(answer).toMatchObject({ ok: false, statusCode: status, retryAfterMs, isFinal });
    expect(answer.failed).toBe(`the receiver answered ${status}`);
  });

  it('uses no proxy of the environment', async () => {
    const at = await receiver();
    const proxy = await receiver();
    process.env['HTTPS_PROXY'] = `http://127.0.0.1:${proxy.port}`;
    process.env['NODE_USE_ENV_PROXY'] = '1';
    closing.push(() => {
      delete process.env['HTTPS_PROXY'];
      delete process.env['NODE_USE_ENV_PROXY'];
    });
    expect((await send(`https://127.0.0.1:${at.port}/`, allowing(at))).ok).toBe(true);
    expect(proxy.connections()).toBe(0);
  });
});

describe('a receiver that misbehaves', () => {
  it('a receiver that switches the protocol gets no connection, and its answer is a failure', async () => {
    const at = await receiver((response) => {
      response.socket!.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n');
    });
    const answer = await send(`https://127.0.0.1:${at.port}/`, allowing(at), 1000);
    expect(answer).toMatchObject({ ok: false, statusCode: 101, failed: 'the receiver answered 101' });
  });

  it('ends after the time limit where the receiver never answers', async () => {
    const at = await receiver(() => undefined);
    const answer = await send(`https://127.0.0.1:${at.port}/`, allowing(at), 300);
    expect(answer).toMatchObject({ ok: false, statusCode: null, failed: 'no answer within 0.3 s' });
  });

  it('ends after the time limit where the receiver sends its headers byte by byte', async () => {
    const at = await receiver((response) => {
      const timer = setInterval(() => response.socket?.write('H'), 20);
      response.socket?.once('close', () => clearInterval(timer));
    });
    const answer = await send(`https://127.0.0.1:${at.port}/`, allowing(at), 300);
    expect(answer).toMatchObject({ ok: false, statusCode: null });
    expect(answer.durationMs).toBeLessThan(3000);
  });

  it('ends after the time limit where the peer accepts and never speaks TLS', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    closing.push(() => silent.close());
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as AddressInfo;
    const answer = await send(`https://127.0.0.1:${port}/`, { allow: [`127.0.0.1:${port}`] }, 300);
    expect(answer.failed).toBe('no answer within 0.3 s');
  });

  it('drops an endless body after a few KiB and keeps the status', async () => {
    let written = 0;
    const at = await receiver((response) => {
      response.writeHead(200);
      const more = (): void => {
        if (response.destroyed) return;
        written += 65_536;
        response.write(Buffer.alloc(65_536), () => setImmediate(more));
      };
      more();
    });
    const answer = await send(`https://127.0.0.1:${at.port}/`, allowing(at));
    expect(answer).toMatchObject({ ok: true, statusCode: 200 });
    expect(written).toBeLessThan(32 * 1024 * 1024); // the buffers of two sockets
  });

  it('drops a body that comes byte by byte and keeps the status', async () => {
    const at = await receiver((response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('x'), 20);
      response.once('close', () => clearInterval(timer));
    });
    const answer = await send(`https://127.0.0.1:${at.port}/`, allowing(at), 20_000);
    expect(answer).toMatchObject({ ok: true, statusCode: 200 });
    expect(answer.durationMs).toBeLessThan(10_000);
  });

  it('keeps the status where the receiver breaks off its body', async () => {
    const at = await receiver((response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('part', () => response.socket?.destroy());
    });
    expect(await send(`https://127.0.0.1:${at.port}/`, allowing(at))).toMatchObject({
      ok: true,
      statusCode: 200,
    });
  });

  it('reports headers that are too long, and a connection that ends early', async () => {
    const long = await receiver(
      (response) => void response.socket?.end(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`),
    );
    expect((await send(`https://127.0.0.1:${long.port}/`, allowing(long))).failed).toBe(
      'the receiver sent too many headers',
    );
    const early = await receiver((response) => void response.socket?.destroy());
    expect((await send(`https://127.0.0.1:${early.port}/`, allowing(early))).failed).toBe(
      'the receiver closed the connection without an answer',
    );
  });

  it('refuses a certificate of an unknown authority, of another name, and one that has expired', async () => {
    const at = await receiver();
    expect((await send(`https://127.0.0.1:${at.port}/`, { ...allowing(at), ca: null })).failed).toBe(
      'an unknown authority signed the certificate of the receiver',
    );
    const dns = await startNameServer((_name, { family }) => (family === 4 ? ['127.0.0.1'] : []));
    closing.push(() => dns.close());
    const named = await send(`https://other.test:${at.port}/`, {
      ...allowing(at),
      nameServers: [dns.address],
    });
    expect(named.failed).toBe('the certificate of the receiver is for another name');
    const expired = await startReceiver(authority.issue('expired', -1));
    closing.push(() => expired.close());
    expect((await send(`https://127.0.0.1:${expired.port}/`, allowing(expired))).failed).toBe(
      'the certificate of the receiver has expired',
    );
    expect([...at.requests, ...expired.requests]).toEqual([]);
  });
});

describe('addresses inside our networks', () => {
  it.each([
    ['http://93.184.216.34/', 'expected an https URL'],
    ['ftp://example.com/', 'expected an https URL'],
    ['no url', 'expected an https URL'],
    ['https://user:secret@example.com/', 'expected a URL without a user and password'],
    ['https://example.com:22/', 'expected port 443 or 8443, got 22'],
    ['https://127.0.0.1/', 'public address'],
    ['https://2130706433/', 'public address'],
    ['https://0x7f000001/', 'public address'],
    ['https://017700000001/', 'public address'],
    ['https://127.0.0.1.:8443/', 'public address'],
    ['https://[::1]/', 'public address'],
    ['https://[::ffff:127.0.0.1]/', 'public address'],
    ['https://[64:ff9b::127.0.0.1]/', 'public address'],
    ['https://[2002:7f00:1::]/', 'public address'],
    ['https://169.254.169.254/latest/meta-data/', 'public address'],
    ['https://0.0.0.0/', 'public address'],
    ['https://100.64.1.1/', 'public address'],
  ])('refuses %s for good', async (url, reason) => {
    const answer = await send(url);
    expect(answer).toMatchObject({ ok: false, statusCode: null, isFinal: true });
    expect(answer.failed).toContain(reason);
    expect(answer.failed).not.toContain('secret');
  });

  it.each([
    ['127.0.0.1', []],
    ['10.0.0.7', []],
    ['93.184.216.34', ['::1']],
    ['93.184.216.34', ['::ffff:a00:1']],
  ])('refuses a name with the addresses %s and %j, one of which is inside', async (v4, v6) => {
    const dns = await startNameServer((_name, { family }) => (family === 4 ? [v4] : v6));
    closing.push(() => dns.close());
    const answer = await send('https://hook.test/', { nameServers: [dns.address] });
    expect(answer).toMatchObject({ ok: false, isFinal: true });
    expect(answer.failed).toContain('hook.test leads elsewhere');
  });

  it.each(['localhost', 'localhost.', 'LOCALHOST', 'ｌocalhost'])('refuses the name %s', async (name) => {
    const dns = await startNameServer((_name, { family }) => (family === 4 ? ['127.0.0.1'] : ['::1']));
    closing.push(() => dns.close());
    const answer = await send(`https://${name}/`, { nameServers: [dns.address] });
    expect(answer.failed).toContain('localhost leads elsewhere');
  });

  it('connects to the address that it checked although the name has another one afterwards', async () => {
    // 127.0.0.2 stands for a public address, 127.0.0.1 for one of ours; the receiver listens on both
    const at = await receiver(undefined, { host: '0.0.0.0' });
    const dns = await startNameServer((_name, { family, time }) =>
      family === 6 ? [] : [time === 0 ? '127.0.0.2' : '127.0.0.1'],
    );
    closing.push(() => dns.close());
    const given = { allow: [`127.0.0.2:${at.port}`], nameServers: [dns.address] };
    expect((await send(`https://gov.test:${at.port}/`, given)).ok).toBe(true);
    expect(at.requests.map(({ localAddress }) => localAddress)).toEqual(['127.0.0.2']);
    expect(dns.questions.filter((question) => question === 'A gov.test')).toHaveLength(1);
    // the second message asks again, and the answer is refused
    expect(await send(`https://gov.test:${at.port}/`, given)).toMatchObject({ ok: false, isFinal: true });
    expect(at.requests).toHaveLength(1);
  });

  it('tries again later where a name has no address, or no name server answers', async () => {
    const none = await startNameServer(() => []);
    closing.push(() => none.close());
    expect(await send('https://hook.test/', { nameServers: [none.address] })).toMatchObject({
      failed: 'found no address of hook.test',
      isFinal: false,
    });
    const silent = await startNameServer(() => null);
    closing.push(() => silent.close());
    const answer = await send('https://hook.test/', { nameServers: [silent.address] }, 300);
    expect(answer).toMatchObject({ failed: 'no answer within 0.3 s', isFinal: false });
  });

  it('asks the system, with /etc/hosts, for a name that the operator allows', async () => {
    const at = await receiver();
    const answer = await send(`https://localhost:${at.port}/`, { allow: [`localhost:${at.port}`] });
    expect(answer).toMatchObject({ ok: true, statusCode: 204 });
    expect(at.requests[0]!.headers.host).toBe(`localhost:${at.port}`);
  });
});
