/** An HTTPS receiver on loopback, with a certificate of a test's authority. */
import { createServer, type ServerOptions } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Issued } from '../certificates.ts';

interface Received {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** The address that the sender connected to. */
  readonly localAddress: string | undefined;
}

export interface Receiver {
  readonly port: number;
  readonly requests: readonly Received[];
  /** Accepted TCP connections. */
  readonly connections: () => number;
  /** Resolves once this many requests have come. */
  until(count: number): Promise<void>;
  /** Closes every connection, and goes on listening. */
  closeConnections(): void;
  close(): Promise<void>;
}

type Answer = (response: ServerResponse, request: Received, count: number) => void;

/** `answer` gets each request with its body; by default it answers 204. `count` is 1 for the first request. */
export async function startReceiver(
  { cert, key }: Pick<Issued, 'cert' | 'key'>,
  answer: Answer = (response) => void response.writeHead(204).end(),
  options: ServerOptions & { readonly host?: string; readonly port?: number } = {},
): Promise<Receiver> {
  const requests: Received[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let waiting: { count: number; resolve: () => void }[] = [];
  const server = createServer({ cert, key, ...options }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => undefined);
    request.on('end', () => {
      const received = {
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
        localAddress: request.socket.localAddress,
      };
      requests.push(received);
      answer(response, received, requests.length);
      for (const each of waiting) if (requests.length >= each.count) each.resolve();
      waiting = waiting.filter(({ count }) => requests.length < count);
    });
  });
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) =>
    server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve),
  );
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    connections: () => connections,
    until: (count) =>
      requests.length >= count
        ? Promise.resolve()
        : new Promise((resolve) => waiting.push({ count, resolve })),
    closeConnections: () => sockets.forEach((socket) => socket.destroy()),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
