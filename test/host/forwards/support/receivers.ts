/** Real receivers on loopback: syslog with octet counting over TCP and TLS, and an HTTP Event Collector. */
import { createServer as createHttp, type ServerResponse } from 'node:http';
import { createServer as createTcp, type AddressInfo, type Socket } from 'node:net';
import { createServer as createTls, type TlsOptions } from 'node:tls';

export interface SyslogReceiver {
  readonly port: number;
  readonly messages: string[];
  readonly connections: Socket[];
  /** What to do with a connection; by default its messages are read. */
  handle: (socket: Socket) => void;
  close(): Promise<void>;
}

/** Reads `MSG-LEN SP SYSLOG-MSG` (RFC 6587 §3.4.1). */
function octetReader(take: (message: string) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const space = rest.indexOf(0x20);
      if (space === -1) return;
      const length = Number(rest.toString('latin1', 0, space));
      if (!Number.isInteger(length))
        throw new Error(`expected a length, got ${rest.toString('utf8', 0, 40)}`);
      if (rest.length < space + 1 + length) return;
      take(rest.toString('utf8', space + 1, space + 1 + length));
      rest = rest.subarray(space + 1 + length);
    }
  };
}

export async function startSyslog(tls: TlsOptions | null = null, port = 0): Promise<SyslogReceiver> {
  const messages: string[] = [];
  const connections: Socket[] = [];
  const receiver: SyslogReceiver = {
    port: 0,
    messages,
    connections,
    handle: (socket) =>
      socket.on(
        'data',
        octetReader((message) => messages.push(message)),
      ),
    close: () =>
      new Promise((resolve) => {
        for (const socket of connections) socket.destroy();
        server.close(() => resolve());
      }),
  };
  const accept = (socket: Socket): void => {
    connections.push(socket);
    socket.on('error', () => {});
    receiver.handle(socket);
  };
  const server = tls === null ? createTcp(accept) : createTls(tls, accept).on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return Object.assign(receiver, { port: (server.address() as AddressInfo).port });
}

export interface Collector {
  readonly url: string;
  /** Leaf indexes in the order in which they were indexed. */
  readonly indexed: number[];
  requests: number;
  /** Whether to answer the request of this number, from 1, with 503. */
  isDown: (requests: number) => boolean;
  /** Answers a request in place of the collector, before it indexes; false lets the collector answer. */
  instead: (response: ServerResponse, requests: number) => boolean;
  close(): Promise<void>;
}

/**
 * Indexes the events of a request up to the first one that it refuses. Then it answers 400 with code 6 and what `numberOf`
 * makes of the number of that event, as Splunk does.
 */
export async function startCollector(
  isRefused: (index: number) => boolean,
  numberOf: (at: number) => unknown = (at) => at,
): Promise<Collector> {
  const server = createHttp(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    collector.requests += 1;
    if (collector.isDown(collector.requests)) return void response.writeHead(503).end();
    if (collector.instead(response, collector.requests)) return;
    const lines = Buffer.concat(chunks).toString('utf8').trim().split('\n');
    const events = lines.map(
      (line) => (JSON.parse(line) as { event: { log: { index: number } } }).event.log.index,
    );
    const at = events.findIndex(isRefused);
    collector.indexed.push(...(at === -1 ? events : events.slice(0, at)));
    const fault = { text: 'Invalid data format', code: 6, 'invalid-event-number': numberOf(at) };
    const reply = at === -1 ? { text: 'Success', code: 0 } : fault;
    response.writeHead(at === -1 ? 200 : 400).end(JSON.stringify(reply));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/services/collector/event`,
    indexed: [],
    requests: 0,
    isDown: () => false,
    instead: () => false,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return collector;
}
