/** A port that leads to one server, then to another, as a virtual address does. It can stand still, as a network does. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface Relay {
  readonly port: number;
  /** Ends all connections. Later ones go to another port. */
  move(port: number): void;
  /** Passes nothing on any more; what it holds is lost at the end. */
  freeze(): void;
  close(): void;
}

export async function startRelay(port: number): Promise<Relay> {
  let target = port;
  let isFrozen = false;
  const open = new Set<Socket>();
  const pass = (from: Socket, to: Socket): void => {
    open.add(from);
    from.pipe(to);
    from.on('error', () => to.destroy());
    from.once('close', () => {
      open.delete(from);
      to.destroy();
    });
    if (isFrozen) from.unpipe().pause();
  };
  const server = createServer((client) => {
    const onward = connect(target, '127.0.0.1');
    pass(client, onward);
    pass(onward, client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const drop = (): void => open.forEach((socket) => socket.destroy());
  return {
    port: (server.address() as AddressInfo).port,
    move: (to) => {
      target = to;
      drop();
    },
    freeze: () => {
      isFrozen = true;
      open.forEach((socket) => socket.unpipe().pause());
    },
    close: () => {
      server.close();
      drop();
    },
  };
}
