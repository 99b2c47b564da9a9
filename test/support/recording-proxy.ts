/** A TCP proxy on loopback that keeps every byte of both directions, for tests of what crosses a wire. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

interface RecordedRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface RecordingProxy {
  readonly origin: string;
  /** Where it leads; 0: connections are refused. */
  port: number;
  /** Every byte so far, connection after connection. */
  sent(): Buffer;
  answered(): Buffer;
  /** What was sent, read as HTTP/1.1. Throws where that is not what it is. */
  requests(): RecordedRequest[];
  close(): Promise<void>;
}

export async function startRecordingProxy(): Promise<RecordingProxy> {
  const open = new Set<Socket>();
  const recorded: { readonly sent: Buffer[]; readonly answered: Buffer[] }[] = [];
  const server = createServer((socket) => {
    if (proxy.port === 0) return void socket.resetAndDestroy();
    const connection = { sent: [] as Buffer[], answered: [] as Buffer[] };
    recorded.push(connection);
    const through = connect(proxy.port, '127.0.0.1');
    for (const [from, to, kept] of [
      [socket, through, connection.sent],
      [through, socket, connection.answered],
    ] as const) {
      open.add(from);
      from.on('data', (chunk: Buffer) => kept.push(chunk));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        open.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: RecordingProxy = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    port: 0,
    sent: () => Buffer.concat(recorded.flatMap(({ sent }) => sent)),
    answered: () => Buffer.concat(recorded.flatMap(({ answered }) => answered)),
    requests: () => recorded.flatMap(({ sent }) => requestsIn(Buffer.concat(sent))),
    close: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy();
        server.close(() => resolve());
      }),
  };
  return proxy;
}

function requestsIn(bytes: Buffer): RecordedRequest[] {
  const requests: RecordedRequest[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf('\r\n\r\n', at);
    // cut off by a kill
    if (end === -1) break;
    const [first = '', ...lines] = bytes.toString('latin1', at, end).split('\r\n');
    const [, method, path] = /^([A-Z]+) (\S+) HTTP\/1\.1$/.exec(first) ?? [];
    if (method === undefined || path === undefined) throw new Error(`expected a request, got ${first}`);
    const headers = new Map(
      lines.map((line): [string, string] => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    if (headers.has('transfer-encoding')) throw new Error('expected a body with a length');
    const start = end + 4;
    at = start + Number(headers.get('content-length') ?? 0);
    requests.push({ method, path, headers, body: bytes.toString('utf8', start, at) });
  }
  return requests;
}
