/** The receiver in the documentation, run as a program, gets a message of a real service and refuses a forged one. */
import { spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { projectRoot } from '../paths.ts';
import { makeAuthority } from '../support/certificates.ts';
import { startService } from '../support/hosted.ts';

const page = readFileSync(join(projectRoot, 'docs/how-to/receive-webhooks.md'), 'utf8');
const program = /```js\n(.*?)```/s.exec(page)![1]!;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

it('the receiver of the documentation has at most 20 lines and accepts only what the service signed', async () => {
  expect(program.trim().split('\n').length).toBeLessThanOrEqual(20);
  const folder = mkdtempSync(join(tmpdir(), 'receiver-'));
  const authority = makeAuthority(folder);
  const { certFile, keyFile } = authority.issue('receiver');
  copyFileSync(certFile, join(folder, 'cert.pem'));
  copyFileSync(keyFile, join(folder, 'key.pem'));
  writeFileSync(join(folder, 'receiver.mjs'), program);
  const service = await startService({
    file: { outboundAllow: ['127.0.0.1:*'], outboundCa: authority.certFile },
  });
  const tenant = await service.signUp('ada');
  const port = await freePort();
  const input = { url: `https://127.0.0.1:${port}/`, events: ['job.failed'] };
  const { secret, endpoint } = (await tenant.call('POST', '/webhooks/endpoints', { body: input })).body;
  const env = { ...process.env, WEBHOOK_SECRET: secret as string, PORT: String(port), NODE_OPTIONS: '' };
  const receiver = spawn(process.execPath, ['receiver.mjs'], { cwd: folder, env });
  try {
    const test = async (): Promise<Record<string, unknown>> => {
      for (;;) {
        const { body } = await tenant.call('POST', `/webhooks/endpoints/${endpoint.endpointId}/test`);
        // until the program listens
        if (body.statusCode !== null) return body;
      }
    };
    expect(await test()).toMatchObject({ status: 'delivered', statusCode: 204 });
    const forged = request({
      host: '127.0.0.1',
      port,
      method: 'POST',
      ca: authority.cert,
      headers: { 'webhook-id': 'msg_1', 'webhook-timestamp': '1', 'webhook-signature': 'v1,x' },
    });
    forged.end('{}');
    const [response] = (await once(forged, 'response')) as [{ statusCode: number; resume(): void }];
    response.resume();
    expect(response.statusCode).toBe(401);
  } finally {
    receiver.kill();
    await service.end();
  }
});
