import { mkdtempSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { connect, createServer as createTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { serveProxy, servePort, type Gateway, type Target } from '../../../src/cli/sandbox/proxy.ts';

const path = join(mkdtempSync(join(tmpdir(), 'proxy-')), 'p');
const asked: Target[] = [];
const answers = new Map<string, boolean>();
const web = createServer((message, response) =>
  response.end(
    JSON.stringify({
      path: message.url,
      host: message.headers.host,
      auth: message.headers['proxy-authorization'],
    }),
  ),
);
let port = 0;
let proxy: Gateway;
const decide = async (target: Target) => {
  asked.push(target);
  const allowed = answers.get(target.host);
  if (allowed === undefined) throw new Error('no plane');
  return { allowed, reason: 'policy hosts' };
};
beforeAll(async () => {
  await new Promise<void>((done) => web.listen(0, '127.0.0.1', done));
  const address = web.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
  proxy = await serveProxy(path, { decide, own: { host: '127.0.0.1', port: 1 } });
});
afterAll(() => {
  proxy.close();
  web.close();
});

/** Sends the text, and returns all that comes back. */
const raw = (text: string, at = path): Promise<string> =>
  new Promise((done) => {
    let found = '';
    const socket = connect(at, () => socket.write(text));
    socket.on('data', (chunk) => (found += chunk.toString()));
    socket.on('close', () => done(found));
    socket.on('error', () => done(found));
  });
const get = (url: string): Promise<[number | undefined, string]> =>
  new Promise((done, fail) => {
    const headers = { 'proxy-authorization': 'secret', host: 'other.example' };
    request({ socketPath: path, path: url, headers }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => done([response.statusCode, text]));
    })
      .on('error', fail)
      .end();
  });

it('forwards a request to the host that was decided, and not to the one in its header', async () => {
  answers.set('127.0.0.1', true);
  const [status, text] = await get(`http://127.0.0.1:${port}/a?b`);
  expect([status, JSON.parse(text)]).toEqual([200, { path: '/a?b', host: `127.0.0.1:${port}` }]);
});

it('refuses a request and a tunnel, and says which policy did', async () => {
  answers.set('127.0.0.1', false);
  expect(await get(`http://127.0.0.1:${port}/`)).toEqual([403, 'gov: policy hosts\n']);
  expect(await raw(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`)).toMatch(
    /^HTTP\/1.1 403 Forbidden[^]*policy hosts/,
  );
});

it('a tunnel carries both directions', async () => {
  answers.set('127.0.0.1', true);
  const found = await raw(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\nGET /t HTTP/1.0\r\n\r\n`);
  expect(found).toMatch(/^HTTP\/1.1 200 Connection Established\r\n\r\nHTTP\/1.1 200[^]*"path":"\/t"/);
});

it('refuses where nobody can decide, and what names no host', async () => {
  expect(await get('http://unknown.example/')).toEqual([502, 'gov: no plane\n']);
  expect(await raw('CONNECT unknown.example:443 HTTP/1.1\r\n\r\n')).toMatch(/^HTTP\/1.1 502/);
  for (const url of ['CONNECT a@b:1', 'CONNECT x', 'GET /path', 'GET ftp://x/'])
    expect(await raw(`${url} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)).toMatch(/^HTTP\/1.1 400/);
});

it('a name that leads to an address of this machine is decided by the address too', async () => {
  answers.set('ip6-localhost.test', true).set('localhost', true).set('127.0.0.1', false);
  asked.length = 0;
  // localhost is private by its name: one question
  expect((await get(`http://localhost:${port}/`))[0]).toBe(200);
  expect(asked).toEqual([{ host: 'localhost', port }]);
});

it('a port is asked about at each connection, and closed where the answer is no', async () => {
  const tcp = createTcp((socket) => socket.end('hello'));
  await new Promise<void>((done) => tcp.listen(0, '127.0.0.1', done));
  const address = tcp.address();
  const at = typeof address === 'object' && address !== null ? address.port : 0;
  const gate = await servePort(`${path}2`, { port: at, decide });
  answers.set('127.0.0.1', true);
  expect(await raw('', `${path}2`)).toBe('hello');
  answers.set('127.0.0.1', false);
  expect(await raw('', `${path}2`)).toBe('');
  gate.close();
  tcp.close();
});
