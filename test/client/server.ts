/** A tiny real server for the client's and the tool's tests: it answers what each test scripts. */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}
export type Handler = (seen: Seen, response: ServerResponse) => void;

export interface TestServer {
  readonly server: Server;
  readonly origin: string;
  readonly baseUrl: string;
  readonly seen: Seen[];
  handle: Handler;
  readonly close: () => Promise<void>;
}

export const json = (response: ServerResponse, status: number, body: unknown, headers = {}): void => {
  const type = status >= 400 ? 'application/problem+json' : 'application/json; charset=utf-8';
  response.writeHead(status, { 'content-type': type, ...headers });
  response.end(JSON.stringify(body));
};

export const problem = (response: ServerResponse, code: string, status: number, more = {}): void =>
  json(response, status, {
    type: `https://example.test/problems/${code.toLowerCase()}`,
    title: 'A title',
    status,
    detail: 'A detail',
    code,
    requestId: 'req-12345678',
    retryable: status === 503,
    ...more,
  });

export async function startServer(
  handle: Handler = (_seen, response) => response.end(),
): Promise<TestServer> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const seen = { method, url, headers, body: Buffer.concat(chunks).toString() };
      test.seen.push(seen);
      test.handle(seen, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  const test: TestServer = { server, origin, baseUrl: `${origin}/api/v1`, seen: [], handle, close };
  return test;
}
