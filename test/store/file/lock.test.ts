/** One process per data directory, and a lock that ends with its process. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { lockHolder, takeLock } from '../../../src/store/file/lock.ts';
import { projectRoot } from '../../paths.ts';
import { dropFolder, newFolder } from '../support/fixture.ts';
import { TestPlane } from '../support/plane.ts';

const undo: (() => void)[] = [];
afterEach(() => {
  for (const each of undo.splice(0).reverse()) each();
});

async function holder(path: string): Promise<ChildProcess> {
  const script = join(projectRoot, 'test/store/file/hold-lock.ts');
  const child = spawn(process.execPath, [script, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  undo.push(() => child.kill('SIGKILL'));
  await once(child.stdout!, 'data');
  return child;
}

describe('the lock', () => {
  it('the lock names the process that has it and is free after that process is killed', async () => {
    const folder = newFolder();
    undo.push(() => dropFolder(folder));
    const path = join(folder, 'lock');
    const child = await holder(path);
    expect(() => takeLock(path, process.pid)).toThrow(`process ${child.pid} holds it`);
    expect(lockHolder(path)).toEqual({ pid: child.pid });
    expect(() => takeLock(path, process.pid)).toThrow(expect.objectContaining({ code: 'CONFLICT' }) as Error);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(lockHolder(path)).toBeNull();
    expect(lockHolder(join(folder, 'missing'))).toBeNull();
    const lock = takeLock(path, process.pid);
    lock.release();
    takeLock(path, process.pid).release();
  });

  it('processes that keep asking who holds the lock stop nobody from taking it', async () => {
    const folder = newFolder();
    undo.push(() => dropFolder(folder));
    const path = join(folder, 'lock');
    takeLock(path, process.pid).release();
    const lock = pathToFileURL(join(projectRoot, 'src/store/file/lock.ts')).href;
    const script = `import { lockHolder } from ${JSON.stringify(lock)};
      for (let times = 0; ; times += 1) { lockHolder(${JSON.stringify(path)}); if (times === 0) process.stdout.write('.'); }`;
    for (let times = 0; times < 2; times += 1) {
      const asking = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      undo.push(() => asking.kill('SIGKILL'));
      await once(asking.stdout, 'data');
    }
    for (let times = 0; times < 50; times += 1) takeLock(path, process.pid).release();
  });

  it('the lock refuses a second store in the same process and stays locked after the attempt', async () => {
    const plane = new TestPlane();
    undo.push(() => plane.drop());
    const store = plane.open();
    expect(() => plane.open()).toThrow(`process ${process.pid} holds it`);
    const script = join(projectRoot, 'test/store/file/hold-lock.ts');
    const child = spawn(process.execPath, [script, join(plane.dataDir, 'lock')], { stdio: 'ignore' });
    const [code] = (await once(child, 'exit')) as [number];
    expect(code).not.toBe(0);
    await store.close();
    await plane.open().close();
  });
});
