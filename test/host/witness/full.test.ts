/** A witness on a full disk: nothing says that its store is damaged, because a new witness would forget what was cosigned. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { witnessedLogs, witnessInit, witnessServe } from '../../../src/host/witness/server.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { mountSmall, takeRest } from '../../faults/full.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-witnessfull-'));
const unmount = mountSmall(folder, 8);
afterAll(() => {
  unmount?.();
  rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(unmount === null)('a full disk (skipped where root may not mount a tmpfs)', () => {
  it.each([0, 16, 24])(
    'a witness with %i KiB of free space says that the disk is full, and starts once there is space',
    async (free) => {
      const dataDir = join(folder, `witness-${free}`);
      const rest = join(folder, 'rest');
      await witnessInit({ dataDir, index: true });
      takeRest(rest, free * 1024);
      const full = { code: 'STORAGE_FULL', message: expect.stringContaining('the disk is full') };
      const options = { dataDir, listen: '127.0.0.1:0', index: true, log: silentLog };
      await expect(witnessServe(options)).rejects.toMatchObject(full);
      expect(() => witnessedLogs(dataDir)).toThrow(expect.objectContaining(full));
      rmSync(rest);
      const witness = await witnessServe(options);
      await witness.close();
      expect(witnessedLogs(dataDir)).toEqual([]);
    },
  );
});
