import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
beforeAll(async () => {
  // the limits of the contract are 10, 30 and 60 s; what is proved is that each of them cuts
  plane = await startPlane({ timeouts: { headers: 0.4, request: 0.8, idle: 1.2 } });
});
afterAll(() => plane.end());

interface Slow {
  readonly answered: string;
  readonly afterMs: number;
}

/** Writes `first`, then one byte of `drip` every 50 ms, until the server closes. */
function drip(first: string, rest: string): Promise<Slow> {
  const started = performance.now();
  return new Promise((resolve) => {
    let answered = '';
    let at = 0;
    const socket: Socket = connect(plane.port, '127.0.0.1', () => socket.write(first));
    const timer = setInterval(() => {
      const byte = rest[at++ % Math.max(1, rest.length)];
      if (byte !== undefined && socket.writable) socket.write(byte);
    }, 50);
    socket.on('data', (chunk) => (answered += chunk.toString('latin1')));
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(timer);
      resolve({ answered, afterMs: performance.now() - started });
    });
  });
}

const head = (): string =>
  `POST /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${plane.key}\r\nContent-Type: application/json\r\n`;

describe('a slow client', () => {
  it('a slow client that never ends its headers gets 408 and is cut', async () => {
    const { answered, afterMs } = await drip(head(), 'X-Slow: a\r\n');
    expect(answered).toMatch(/^HTTP\/1\.1 408 /);
    expect(answered).toContain('"code":"REQUEST_TIMEOUT"');
    expect(afterMs).toBeLessThan(5000);
  });

  it('a slow client that never ends its body is cut', async () => {
    const { answered, afterMs } = await drip(`${head()}Content-Length: 100000\r\n\r\n`, ' ');
    expect(answered === '' || answered.startsWith('HTTP/1.1 4')).toBe(true);
    expect(afterMs).toBeLessThan(5000);
  });

  it('a client that sends nothing is cut', async () => {
    const { afterMs } = await drip('', '');
    expect(afterMs).toBeLessThan(5000);
  });

  it('a slow client does not delay a good one', async () => {
    const patient = await startPlane();
    const attackers = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const socket = connect(patient.port, '127.0.0.1').on('error', () => {});
        await once(socket, 'connect');
        socket.write(head());
        return socket;
      }),
    );
    const times: number[] = [];
    for (let at = 0; at < 20; at += 1) {
      const started = performance.now();
      expect((await patient.call('POST', '/events', { body: event() })).status).toBe(201);
      times.push(performance.now() - started);
    }
    expect(times.toSorted((a, b) => a - b)[10]).toBeLessThan(500);
    // nothing waited for them: all of them are still connected, and none has sent its headers
    expect(attackers.filter((socket) => socket.closed)).toEqual([]);
    for (const socket of attackers) socket.destroy();
    await patient.end();
  });
});
