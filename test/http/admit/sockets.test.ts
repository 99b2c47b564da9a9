import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createServer, type HttpServer, type ServerOptions } from '../../../src/http/server.ts';
import { handlers } from '../../../src/service/handlers.ts';
import { startService, type TestService } from '../../support/hosted.ts';
import { send } from '../../support/serving.ts';

const most = 5;
let service: TestService;
let server: HttpServer;
let port: number;
const opened: Socket[] = [];

beforeAll(async () => {
  service = await startService();
});
afterEach(async () => {
  for (const socket of opened.splice(0)) socket.destroy();
  await server.close(0);
});
afterAll(() => service.end());

async function serve(options: Partial<ServerOptions> = {}): Promise<void> {
  const { services } = service;
  const operations = ['getHealth'] as const;
  server = createServer({ services, handlers, operations, socketsPerAddress: most, ...options });
  port = Number(new URL(await server.listen({ host: '127.0.0.1', port: 0 })).port);
}

/** Whether the server keeps a new socket open. */
async function isKept(from = '127.0.0.1'): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  opened.push(socket);
  socket.on('error', () => {});
  await once(socket, 'connect');
  const [answered] = await Promise.race([
    once(socket, 'data').then(() => [true]),
    once(socket, 'close').then(() => [false]),
    (socket.write('GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n'), new Promise<boolean[]>(() => {})),
  ]);
  return answered === true;
}

describe('the sockets of one address', () => {
  it('the server closes one socket above the limit of an address, and none of others', async () => {
    await serve();
    for (let at = 0; at < most; at++) expect(await isKept()).toBe(true);
    expect(await isKept()).toBe(false);
    expect(await isKept('127.0.0.2')).toBe(true);
    await expect(send('GET', `http://127.0.0.1:${port}/api/v1/health`, {})).rejects.toThrow();
  });

  it('the server frees the sockets of an address once they are closed', async () => {
    await serve();
    for (let at = 0; at < most; at++) expect(await isKept()).toBe(true);
    expect(await isKept()).toBe(false);
    for (const socket of opened.splice(0)) socket.destroy();
    await expect.poll(() => isKept(), { timeout: 5000 }).toBe(true);
  });

  it('the server does not count the sockets of a load balancer', async () => {
    await serve({ trustedProxies: ['127.0.0.1'] });
    for (let at = 0; at < most * 3; at++) expect(await isKept()).toBe(true);
  });
});
