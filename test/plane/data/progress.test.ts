import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { planeBackup } from '../../../plane/data/backup.ts';
import type { CopyProgress } from '../../../plane/data/progress.ts';
import { planeRestore } from '../../../plane/data/restore.ts';
import { govHere } from '../../cli/support/tool.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-backup-'));
const at = (name: string): string => join(folder, name);
const dataDir = at('small');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(async () => {
  const init = ['plane', 'init', '--data', dataDir, '--listen', '127.0.0.1:0', '--metrics-listen', 'off'];
  await govHere(init, { env: { GOV_CONFIG_DIR: at('config') }, cwd: folder });
  await planeBackup({ dataDir, out: at('good'), withKeys: true });
});

it('a backup and a restore report each step from its beginning to its end', async () => {
  const steps = new Map<string, { done: number; of: number }[]>();
  const onProgress = ({ step, done, of }: CopyProgress): void => {
    steps.set(step, [...(steps.get(step) ?? []), { done, of }]);
  };
  const made = await planeBackup({ dataDir, out: at('watched'), withKeys: true, onProgress });
  expect([...steps.keys()]).toEqual(['copying', 'hashing']);
  expect(steps.get('hashing')?.at(-1)).toEqual({ done: made.bytes, of: made.bytes });
  steps.clear();
  await planeRestore({ from: at('watched'), dataDir: at('from-watched'), lastCheckpoints: [], onProgress });
  expect([...steps.keys()]).toEqual(['copying', 'checking']);
  expect(steps.get('copying')?.at(-1)).toEqual({ done: made.bytes, of: made.bytes });
  for (const each of steps.values()) {
    const done = each.map((one) => one.done);
    expect(done).toEqual(done.toSorted((one, other) => one - other));
    expect(each.at(-1)?.done).toBe(each.at(-1)?.of);
  }
});

it('an error in the progress stops a backup and a restore, and leaves no files behind', async () => {
  for (const stopAt of ['copying', 'hashing', 'checking']) {
    const onProgress = ({ step }: CopyProgress): void => {
      if (step === stopAt) throw new Error('stopped');
    };
    if (stopAt !== 'checking') {
      const copy = planeBackup({ dataDir, out: at('stopped'), withKeys: true, onProgress });
      await expect(copy).rejects.toThrow('stopped');
    }
    if (stopAt === 'hashing') continue;
    const back = planeRestore({
      from: at('good'),
      dataDir: at('stopped'),
      lastCheckpoints: [],
      onProgress,
    });
    await expect(back).rejects.toThrow('stopped');
  }
  expect(readdirSync(folder).filter((name) => name.startsWith('stopped'))).toEqual([]);
});
