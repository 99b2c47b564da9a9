/** The disk of the delivery folder is full, for real: a small file system. Needs root on Linux. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fileSender } from '../../../src/host/outbound/folder.ts';
import { mountSmall } from '../../faults/full.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-folder-full-'));
const unmount = mountSmall(folder, 1);

async function* mebibytes(count: number): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < count; n++) yield Buffer.alloc(1024 * 1024);
}

it.skipIf(unmount === null)(
  'a file that does not fit leaves nothing, may be repeated, and fits once there is room',
  async () => {
    try {
      const send = fileSender(folder);
      expect(await send('a.json', mebibytes(2))).toMatchObject({
        ok: false,
        isFinal: false,
        failed: 'the disk of the delivery folder is full',
      });
      expect(readdirSync(folder)).toEqual([]);
      expect(await send('a.json', mebibytes(0))).toMatchObject({ ok: true });
    } finally {
      unmount?.();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
