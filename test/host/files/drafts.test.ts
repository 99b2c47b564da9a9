/** What a copy that is killed leaves, with keys in it, goes with the next copy beside it; nothing else does. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { draftLock, makeHeld } from '../../../src/host/files/drafts.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-drafts-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const drafts = (): string[] => readdirSync(folder).filter((name) => name.includes('.init-'));
const at = (name: string) => ({ what: 'a copy', path: join(folder, name) });
const fill = async (draft: string): Promise<void> => writeFileSync(join(draft, 'key'), 'secret');

/** A process that fills a directory for ever, once it does. */
async function filling(name: string) {
  const script =
    `import { makeHeld } from ${JSON.stringify(join(import.meta.dirname, '../../../src/host/files/drafts.ts'))};` +
    `await makeHeld({ what: 'it', path: ${JSON.stringify(join(folder, name))} }, () => { console.log('filling'); return new Promise(() => setInterval(() => {}, 1e6)); });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return async (): Promise<void> => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
}

it('a draft directory stays while a process fills it, and is removed after the process was killed', async () => {
  const kill = await filling('killed');
  const [draft] = drafts();
  expect(await makeHeld(at('beside'), fill)).toEqual([]);
  expect(drafts()).toEqual([draft]);
  await kill();
  expect(await makeHeld(at('later'), fill)).toEqual([join(folder, String(draft))]);
  expect(drafts()).toEqual([]);
  for (const made of ['beside', 'later'])
    expect(readdirSync(join(folder, made))).toEqual(['.gitignore', 'key']);
});

it('a directory that another program may have made is not removed', async () => {
  const [bare, open] = [join(folder, 'bare.init-abcDE1'), join(folder, 'open.init-abcDE1')];
  mkdirSync(bare, { mode: 0o700 });
  mkdirSync(open, { mode: 0o755 });
  writeFileSync(join(open, draftLock), 'not a database');
  expect(await makeHeld(at('third'), fill)).toEqual([]);
  expect([bare, open].every((path) => existsSync(path))).toBe(true);
});

it('a directory whose making fails leaves no files behind', async () => {
  const failing = makeHeld(at('failed'), async () => {
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(readdirSync(folder).some((name) => name.startsWith('failed'))).toBe(false);
});
