import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createSecureServer } from 'node:https';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Connection } from '../../src/client/transport.ts';
import type { Exchange } from '../../src/client/transport.ts';
import { startServer } from './server.ts';

const exchange = (more: Partial<Exchange> = {}): Exchange => ({
  method: 'GET',
  path: '/x',
  headers: {},
  body: undefined,
  timeoutMs: 10_000,
  maxBytes: 1000,
  signal: undefined,
  ...more,
});

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function plain(handle: Parameters<typeof startServer>[0]) {
  const server = await startServer(handle);
  const connection = new Connection({ baseUrl: server.baseUrl, env: {} });
  closers.push(
    () => connection.close(),
    () => server.close(),
  );
  return { server, connection };
}

describe('an exchange', () => {
  it('an exchange accepts an answer of exactly the size limit and refuses one byte more', async () => {
    const { connection } = await plain((seen, response) =>
      response.end('x'.repeat(Number(seen.url.split('=')[1]))),
    );
    const reply = await connection.exchange(exchange({ path: '/x?n=1000' }));
    expect(reply.bytes.length).toBe(1000);
    await expect(connection.exchange(exchange({ path: '/x?n=1001' }))).rejects.toMatchObject({
      code: 'RESPONSE_TOO_LARGE',
      retryable: false,
    });
  });

  it('an exchange times out at its deadline, before the answer or in the middle of it', async () => {
    const { connection } = await plain((seen, response) => {
      if (seen.url.endsWith('/begun')) response.write('x');
    });
    for (const path of ['/silent', '/begun']) {
      await expect(connection.exchange(exchange({ path, timeoutMs: 50 }))).rejects.toMatchObject({
        code: 'TIMEOUT',
        message: expect.stringContaining('did not answer within 0.05 s'),
        retryable: true,
      });
    }
  });

  it('an exchange ends with the reason of its signal', async () => {
    const { connection } = await plain(() => {});
    const signal = AbortSignal.timeout(20);
    await expect(connection.exchange(exchange({ signal }))).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it('a connection is reused for the next exchange', async () => {
    const { server, connection } = await plain((_seen, response) => response.end('ok'));
    let sockets = 0;
    server.server.on('connection', () => (sockets += 1));
    await connection.exchange(exchange());
    await connection.exchange(exchange());
    expect(sockets).toBe(1);
  });

  it('the error explains a refused connection, an unknown host and a port that does not speak HTTP', async () => {
    const { server } = await plain(() => {});
    await server.close();
    const refused = new Connection({ baseUrl: server.baseUrl, env: {} });
    await expect(refused.exchange(exchange())).rejects.toMatchObject({
      code: 'ECONNREFUSED',
      message: `could not reach ${server.origin}: no process listens there`,
    });
    const other = createServer((socket) => socket.end('SSH-2.0-x\r\n'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    closers.push(() => other.close());
    const port = (other.address() as AddressInfo).port;
    const odd = new Connection({ baseUrl: `http://127.0.0.1:${port}`, env: {} });
    await expect(odd.exchange(exchange())).rejects.toMatchObject({
      message: expect.stringContaining('does not speak HTTP'),
    });
  });
});

describe('TLS', () => {
  const directory = mkdtempSync(join(tmpdir(), 'gov-tls-'));
  const key = join(directory, 'key.pem');
  const cert = join(directory, 'cert.pem');
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  const flags = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-keyout',
    key,
    '-out',
    cert,
  ];
  execFileSync('openssl', ['req', '-x509', ...flags, ...subject], { stdio: 'ignore' });
  const pem = readFileSync(cert, 'utf8');
  const secrets = { key: readFileSync(key), cert: pem };
  rmSync(directory, { recursive: true });

  async function secure() {
    const server = createSecureServer(secrets, (_request, response) => response.end('ok'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => server.close());
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it('TLS refuses an unknown authority, names the flag to use, and accepts the authority once given', async () => {
    const baseUrl = await secure();
    const unknown = new Connection({ baseUrl, env: {} });
    closers.push(() => unknown.close());
    await expect(unknown.exchange(exchange())).rejects.toMatchObject({
      code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
      hint: expect.stringContaining('--cacert'),
      retryable: false,
    });
    const known = new Connection({ baseUrl, env: {}, ca: [pem] });
    closers.push(() => known.close());
    expect((await known.exchange(exchange())).status).toBe(200);
  });

  it('the error explains that a port speaks HTTP instead of TLS', async () => {
    const { server } = await plain((_seen, response) => response.end('ok'));
    const wrong = new Connection({ baseUrl: server.origin.replace('http:', 'https:'), env: {} });
    closers.push(() => wrong.close());
    await expect(wrong.exchange(exchange())).rejects.toMatchObject({
      message: expect.stringContaining('does not speak TLS'),
    });
  });
});

describe('a proxy', () => {
  it('a proxy receives the absolute URL for http, and the answer reports the proxy', async () => {
    const proxy = await startServer((_seen, response) => response.end('via proxy'));
    closers.push(() => proxy.close());
    const env = { http_proxy: proxy.origin.replace('http://', '') };
    const connection = new Connection({ baseUrl: 'http://gov.example.test/api/v1', env });
    closers.push(() => connection.close());
    const reply = await connection.exchange(exchange());
    expect(Buffer.from(reply.bytes).toString()).toBe('via proxy');
    expect(proxy.seen[0]?.url).toBe('http://gov.example.test/api/v1/x');
    await proxy.close();
    connection.close();
    await expect(connection.exchange(exchange())).rejects.toMatchObject({
      message: expect.stringContaining('through the proxy'),
      hint: expect.stringContaining('NO_PROXY'),
    });
  });
});
