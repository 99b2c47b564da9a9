import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { planeInit } from '../../../plane/data/init.ts';
import { planeServe } from '../../../plane/serve/start.ts';

it('a plane starts in a directory of its group, and not in one that every user may write to', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gov-open-'));
  const dataDir = join(folder, 'plane');
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
  chmodSync(dataDir, 0o772);
  const refusal = /got mode 0772, by which every user may write; run chmod 700/;
  await expect(planeServe({ dataDir, env: {} })).rejects.toThrow(refusal);
  chmodSync(dataDir, 0o770);
  const plane = await planeServe({ dataDir, env: {} });
  await plane.close();
  rmSync(folder, { recursive: true });
});
