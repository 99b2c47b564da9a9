/**
 * The way out of a sandbox: an HTTP proxy (RFC 9110 §9.3.6 for CONNECT), which has each host decided before it connects, and ports of
 * this machine that the sandbox may reach. All of it listens on Unix sockets; `gov-watch` carries loopback ports of the sandbox to
 * them. A name that leads to a private address is decided by that address too, and the connection goes to the address that was decided.
 * Tested by `test/cli/sandbox/proxy.test.ts`.
 */
import { lookup } from 'node:dns/promises';
import {
  createServer as createHttp,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { connect, createServer, isIP, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { hostTest } from '../../core/action/host.ts';

/** Where a connection goes. `host` as URLs have it: IPv6 in brackets. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

export interface Verdict {
  readonly allowed: boolean;
  readonly reason: string;
}

/** Decides a connection. Throws where nobody can decide: then it is refused. */
export type Decide = (target: Target) => Promise<Verdict>;

export interface Gateway {
  close(): void;
}

const isPrivate = hostTest('private') ?? (() => true);
const bare = (host: string): string => host.replace(/^\[|\]$/g, '');

/** Serves the proxy at the path of a Unix socket. `own`: the endpoint of the plane, which is always allowed. */
export function serveProxy(path: string, { decide, own }: { decide: Decide; own: Target }): Promise<Gateway> {
  const decided = async (target: Target): Promise<Verdict & { readonly address: string }> => {
    if (target.host === own.host && target.port === own.port)
      return { allowed: true, reason: '', address: await addressOf(target.host) };
    const verdict = await decide(target);
    if (!verdict.allowed) return { ...verdict, address: '' };
    const address = await addressOf(target.host);
    const isHidden = isPrivate(address) && !isPrivate(bare(target.host));
    if (!isHidden) return { ...verdict, address };
    const host = isIP(address) === 6 ? `[${address}]` : address;
    return { ...(await decide({ ...target, host })), address };
  };
  const server = createHttp((request, response) => void forward(request, response, decided));
  server.on(
    'connect',
    (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      void tunnel(request, { socket, head }, decided),
  );
  return listening(server, path);
}

/** Serves one port of this machine's loopback at the path of a Unix socket. */
export function servePort(
  path: string,
  { port, decide }: { port: number; decide: Decide | null },
): Promise<Gateway> {
  return listening(
    createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => socket.destroy());
      const allowed =
        decide === null
          ? Promise.resolve(true)
          : decide({ host: '127.0.0.1', port }).then((each) => each.allowed);
      allowed.then(
        (isAllowed) =>
          isAllowed
            ? join(socket, connect({ port, host: '127.0.0.1', allowHalfOpen: true }))
            : socket.destroy(),
        () => socket.destroy(),
      );
    }),
    path,
  );
}

function listening(server: Server, path: string): Promise<Gateway> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  const close = (): void => {
    server.close();
    for (const socket of open) socket.destroy();
  };
  return new Promise((done, fail) => {
    server.once('error', fail);
    server.listen(path, () => done({ close }));
  });
}

const addressOf = async (host: string): Promise<string> =>
  isIP(bare(host)) === 0 ? (await lookup(host)).address : bare(host);

type Decided = (target: Target) => Promise<Verdict & { readonly address: string }>;

async function tunnel(
  { url = '' }: IncomingMessage,
  { socket, head }: { readonly socket: Duplex; readonly head: Buffer },
  decided: Decided,
): Promise<void> {
  socket.on('error', () => socket.destroy());
  const [, host = '', port = ''] = /^(\[[0-9a-f:.]+\]|[^\s:/?#@]+):(\d{1,5})$/i.exec(url) ?? [];
  if (host === '') return refuse(socket, '400 Bad Request', 'expected CONNECT HOST:PORT');
  const verdict = await ruling({ host, port: Number(port) }, decided);
  if (!verdict.allowed) return refuse(socket, verdict.status, verdict.reason);
  const upstream = connect({ host: verdict.address, port: Number(port), allowHalfOpen: true });
  upstream.once('connect', () => {
    socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    if (head.length > 0) upstream.write(head);
    join(socket, upstream);
  });
  upstream.once('error', (cause) => refuse(socket, '502 Bad Gateway', cause.message));
}

async function forward(request: IncomingMessage, response: ServerResponse, decided: Decided): Promise<void> {
  const url = URL.parse(request.url ?? '');
  const answer = (status: number, text: string): void => {
    if (response.headersSent) return void response.destroy();
    response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`gov: ${text}\n`);
  };
  if (url?.protocol !== 'http:') return answer(400, 'expected CONNECT HOST:PORT, or an http:// URL');
  const port = Number(url.port || 80);
  const verdict = await ruling({ host: url.hostname, port }, decided);
  if (!verdict.allowed) return answer(Number(verdict.status.slice(0, 3)), verdict.reason);
  const {
    'proxy-connection': _connection,
    'proxy-authorization': _credentials,
    ...headers
  } = request.headers;
  const upstream = httpRequest({
    host: verdict.address,
    port,
    method: request.method ?? 'GET',
    path: `${url.pathname}${url.search}`,
    // a program chooses the header; the host that was decided counts
    headers: { ...headers, host: url.host },
  });
  upstream.on('response', (reply) => {
    response.writeHead(reply.statusCode ?? 502, reply.headers);
    reply.pipe(response);
  });
  upstream.on('error', (cause) => answer(502, cause.message));
  response.on('close', () => upstream.destroy());
  request.pipe(upstream);
}

async function ruling(
  target: Target,
  decided: Decided,
): Promise<Verdict & { readonly address: string; readonly status: string }> {
  try {
    const verdict = await decided(target);
    return { ...verdict, status: '403 Forbidden' };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return { allowed: false, reason, address: '', status: '502 Bad Gateway' };
  }
}

function refuse(socket: Duplex, status: string, reason: string): void {
  const text = `gov: ${reason}\n`;
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
  );
}

/** Carries both directions until both have ended. */
function join(one: Duplex, two: Duplex): void {
  for (const [from, to] of [
    [one, two],
    [two, one],
  ] as const) {
    from.on('error', () => to.destroy());
    from.pipe(to);
  }
}
