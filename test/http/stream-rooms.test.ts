/** How many live streams one organization of a service may hold. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { limits } from '../../src/contract/limits.ts';
import { startService, type Tenant, type TestService } from '../support/hosted.ts';

let service: TestService;
let ada: Tenant;
let bob: Tenant;
beforeAll(async () => {
  service = await startService();
  ada = await service.signUp('ada');
  bob = await service.signUp('bob');
});
afterAll(() => service.end());

/** An open stream, or the problem that it was refused with. */
function open(key: string, base = '/api/v1'): Promise<WebSocket | { status: number; detail: string }> {
  const url = `${service.origin.replace('http', 'ws')}${base}/events/stream?runId=none`;
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${key}` } });
  socket.on('error', () => {});
  return new Promise((resolve) => {
    socket.on('open', () => resolve(socket));
    socket.on('unexpected-response', (_request, response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve(JSON.parse(text)));
    });
  });
}

describe('streams of one organization', () => {
  it('the streams of one organization are limited over all its keys and projects, without harm to others', async () => {
    const keys: string[] = [ada.keys.production];
    while (keys.length * limits.streamsPerKey < limits.streamsPerOrganization) {
      const { body } = await ada.call('POST', '/api-keys', { body: { name: 'k', scopes: ['events:read'] } });
      keys.push(body.key);
    }
    const opened: WebSocket[] = [];
    for (let at = 0; at < limits.streamsPerOrganization; at += 1) {
      const stream = await open(keys[Math.floor(at / limits.streamsPerKey)]!);
      if (!(stream instanceof WebSocket)) throw new Error(`stream ${at}: ${stream.detail}`);
      opened.push(stream);
    }
    const detail = `expected at most ${limits.streamsPerOrganization} streams of one organization at once; close some first`;
    expect(await open(keys.at(-1)!)).toMatchObject({ status: 429, code: 'RATE_LIMITED', detail });
    expect(await open(ada.keys.sandbox, '/sandbox/api/v1')).toMatchObject({ status: 429, detail });
    const others = await open(bob.keys.production);
    expect(others).toBeInstanceOf(WebSocket);
    const closed = new Promise((resolve) => opened[0]?.once('close', resolve));
    opened[0]?.close();
    await closed;
    await expect
      .poll(async () => (await open(ada.keys.sandbox, '/sandbox/api/v1')) instanceof WebSocket)
      .toBe(true);
    for (const socket of [...opened, others as WebSocket]) socket.terminate();
  }, 60_000);
});
