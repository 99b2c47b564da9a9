/** A service on a full disk: it starts with the room of its reserve, serves reads, and writes again once there is space. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { serviceInit } from '../../../src/host/service/init.ts';
import { serviceServe } from '../../../src/host/service/serve.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { mountSmall, takeRest } from '../../faults/full.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-servicefull-'));
const unmount = mountSmall(folder, 20);
afterAll(() => {
  unmount?.();
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(unmount === null)('a full disk (skipped where root may not mount a tmpfs)', () => {
  it('a service that was started before starts on a full disk, and says that it cannot write', async () => {
    const dataDir = join(folder, 'service');
    await serviceInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off', env: {} });
    const options = { dataDir, env: {}, log: silentLog } as const;
    const first = await serviceServe(options);
    await first.close();
    expect(existsSync(join(dataDir, 'reserve'))).toBe(true);
    takeRest(join(folder, 'rest'));
    const service = await serviceServe(options);
    const { status } = await fetch(`${service.baseUrl}/health/ready`);
    await service.close();
    expect(status).toBe(503);
  });
});
