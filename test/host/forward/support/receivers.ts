/** Real receivers on loopback: syslog with octet counting over TCP and TLS. */
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
