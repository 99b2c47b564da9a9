/**
 * How many sockets one address may hold open (reliability S19), so that nobody takes all of them. Load balancers hold
 * those of their clients, and are not counted. Proven by `test/http/admit/sockets.test.ts`.
 */
import type { Server } from 'node:http';
import { limits } from '../../contract/limits.ts';
import type { Addresses } from './address.ts';

/** A socket above `most` is closed without an answer. */
export function boundSockets(
  server: Server,
  addresses: Addresses,
  most: number = limits.connectionsPerAddress,
): void {
  const open = new Map<string, number>();
  server.on('connection', (socket) => {
    const address = socket.remoteAddress ?? '';
    if (addresses.isProxy(address)) return;
    const count = open.get(address) ?? 0;
    if (count >= most) {
      socket.destroy();
      return;
    }
    open.set(address, count + 1);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left === 0) open.delete(address);
      else open.set(address, left);
    });
  });
}
