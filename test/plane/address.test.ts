/** A plane whose address is taken says so, names the flag to give, and leaves the data directory free. */
import { mkdtempSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { planeInit } from '../../plane/data/init.ts';
import { planeServe } from '../../plane/serve/start.ts';
import { silentLog } from '../../src/service/call/log.ts';

const dataDir = join(mkdtempSync(join(tmpdir(), 'gov-address-')), 'plane');
const other = createServer();
let taken = '';

beforeAll(async () => {
  await planeInit({ dataDir });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  taken = `127.0.0.1:${(other.address() as AddressInfo).port}`;
});
afterAll(() => other.close());

it.each([
  { flags: { metricsListen: 'off' }, flag: 'listen' },
  { flags: { listen: '127.0.0.1:0' }, flag: 'metricsListen' },
] as const)('a plane refuses a $flag address that is taken, and names the flag', async ({ flags, flag }) => {
  const serving = planeServe({ dataDir, log: silentLog, env: {}, ...flags, [flag]: taken });
  const named = flag === 'listen' ? '--listen HOST:PORT' : '--metrics-listen HOST:PORT or off';
  await expect(serving).rejects.toMatchObject({
    code: 'CONFLICT',
    message: `expected ${taken} to be free, but another program listens there; give ${named}`,
  });
  const plane = await planeServe({
    dataDir,
    log: silentLog,
    env: {},
    listen: '127.0.0.1:0',
    metricsListen: 'off',
  });
  await plane.close();
});
