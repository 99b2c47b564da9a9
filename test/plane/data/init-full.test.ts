/** What is made on a full disk: the same words for planes, services and witnesses, and nothing of it is left. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { planeInit } from '../../../plane/data/init.ts';
import { serviceInit } from '../../../src/host/service/init.ts';
import { witnessInit } from '../../../src/host/witness/server.ts';
import { mountSmall, takeRest } from '../../faults/full.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-initfull-'));
const unmount = mountSmall(folder, 8);
afterAll(() => {
  unmount?.();
  rmSync(folder, { recursive: true, force: true });
});

const inits = {
  plane: (dataDir: string) => planeInit({ dataDir }),
  service: (dataDir: string) => serviceInit({ dataDir, env: {} }),
  witness: (dataDir: string) => witnessInit({ dataDir }),
} as const;
const kinds = ['plane', 'service', 'witness'] as const;
const cases = kinds.flatMap((kind) => [0, 12, 16, 24, 200].map((free) => ({ kind, free })));
// a service has keys and settings alone
const fits = ({ kind, free }: (typeof cases)[number]): boolean => kind === 'service' && free > 20;

describe.skipIf(unmount === null)('a full disk (skipped where root may not mount a tmpfs)', () => {
  it.each(cases.filter((each) => !fits(each)))(
    'a $kind is not made where $free KiB are free, and nothing of it is left',
    async ({ kind, free }) => {
      takeRest(join(folder, 'rest'), free * 1024);
      const dataDir = join(folder, kind);
      await expect(inits[kind](dataDir)).rejects.toMatchObject({
        code: 'STORAGE_FULL',
        message: `expected space for the ${kind} at ${dataDir}, but that disk is full; nothing of it is left: free space there, or choose another disk`,
      });
      expect(readdirSync(folder)).toEqual(['rest']);
    },
  );
});
