/** What a process whose database is elsewhere remembers of signed heads. */
import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { openHeads } from '../../../src/store/file/heads.ts';
import { openSignedHeads, type SignedHeads } from '../../../src/store/file/signed-heads.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { dropFolder, newFolder } from '../support/fixture.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) dropFolder(folder);
});
function folder(): string {
  const made = newFolder();
  folders.push(made);
  return made;
}
const head = (size: number) => ({ size, root: Buffer.alloc(32, size % 256) });

describe('the saved heads of a data directory', () => {
  it('the heads file keeps the largest head of each log and the newest head after it is closed', async () => {
    const dataDir = folder();
    const heads = openSignedHeads(dataDir);
    expect([heads.newest(), heads.find('a')]).toEqual([null, null]);
    await heads.raise('a', head(5));
    await heads.raise('b', head(9));
    await heads.raise('b', head(8));
    expect(heads.newest()).toEqual({ origin: 'b', ...head(9) });
    await heads.raise('a', head(6));
    await heads.close();
    const again = openSignedHeads(dataDir);
    expect([again.find('a'), again.find('b')]).toEqual([head(6), head(9)]);
    expect(again.newest()).toEqual({ origin: 'a', ...head(6) });
    await again.close();
    expect(statSync(storeFiles(dataDir).heads).mode & 0o777).toBe(0o600);
  });

  it('several processes share the heads file when they open it at the same time', async () => {
    const dataDir = folder();
    const source = `
      import { openSignedHeads } from '${new URL('../../../src/store/file/signed-heads.ts', import.meta.url).href}';
      const heads = openSignedHeads(process.argv[1]);
      for (let size = 1; size <= 50; size += 1) await heads.raise('log', { size, root: Buffer.alloc(32, size) });
      await heads.raise(process.argv[2], { size: 1, root: Buffer.alloc(32, 1) });
      await heads.close();`;
    const start = (name: string) =>
      promisify(execFile)(process.execPath, ['--input-type=module', '-e', source, dataDir, name]);
    const names = ['one', 'two', 'three', 'four'];
    await Promise.all(names.map(start));
    const heads = openSignedHeads(dataDir);
    expect(heads.find('log')?.size).toBe(50);
    expect(names.map((name) => heads.find(name)?.size)).toEqual([1, 1, 1, 1]);
    await heads.close();
  });

  it('the heads file grows with the number of its logs, not with the number of updates', async () => {
    const dataDir = folder();
    const heads = openSignedHeads(dataDir);
    for (let size = 1; size <= 3000; size += 100) {
      await Promise.all(Array.from({ length: 100 }, async (_, at) => heads.raise('a', head(size + at))));
    }
    const { heads: path } = storeFiles(dataDir);
    expect(statSync(path).size + statSync(`${path}-wal`).size).toBeLessThan(1_500_000);
    await heads.close();
  });

  it('the heads file of the SQLite engine stays small after many updates', () => {
    const path = `${folder()}/heads.db`;
    const heads = openHeads(path);
    for (let size = 1; size <= 300; size += 1) heads.raise('a', head(size));
    expect(statSync(`${path}-wal`).size).toBeLessThan(1_500_000);
    heads.close();
  });

  it('a rebuild on request forgets the saved heads and warns what they were', async () => {
    const dataDir = folder();
    const heads = openSignedHeads(dataDir);
    await heads.raise('a', head(5));
    await heads.close();
    const warnings: string[] = [];
    const rebuilt = openSignedHeads(dataDir, { rebuild: true, onWarning: (text) => warnings.push(text) });
    expect([rebuilt.newest(), rebuilt.find('a')]).toEqual([null, null]);
    expect(warnings).toEqual([expect.stringMatching(/its newest was a of 5 leaves, root (05){32}/)]);
    await rebuilt.raise('a', head(3));
    await rebuilt.close();
    const again = openSignedHeads(dataDir);
    expect(again.find('a')).toEqual(head(3));
    await again.close();
  });

  it('heads stay in memory, with a warning, when no file can be written', async () => {
    const warnings: string[] = [];
    const nowhere = `${folder()}/none`;
    const heads: SignedHeads = openSignedHeads(nowhere, { onWarning: (text) => warnings.push(text) });
    expect(warnings).toEqual([expect.stringMatching(/none cannot be written: .* until this process ends/)]);
    await heads.raise('a', head(5));
    await heads.raise('a', head(4));
    expect([heads.find('a'), heads.newest()?.origin]).toEqual([{ origin: 'a', ...head(5) }, 'a']);
    await heads.close();
  });
});
