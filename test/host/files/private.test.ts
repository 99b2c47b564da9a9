/** Small files that are replaced whole: what a process that is killed in between leaves, and who takes it away. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeDirectory, removeDrafts, replacePrivate } from '../../../src/host/files/private.ts';
import { projectRoot } from '../../paths.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'gov-files-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));
const names = (): string[] => readdirSync(folder).toSorted();
const text = (): string => readFileSync(join(folder, 'secret'), 'utf8');

/** Replaces `secret` in a process of its own that does this before the rename. */
const replacing = (before: string): string[] => [
  '--input-type=module',
  '--eval',
  `import fs from 'node:fs';
   import { syncBuiltinESMExports } from 'node:module';
   const { renameSync } = fs;
   fs.renameSync = (...names) => { ${before}; renameSync(...names); };
   syncBuiltinESMExports();
   const { replacePrivate } = await import(${JSON.stringify(join(projectRoot, 'src/host/files/private.ts'))});
   replacePrivate(${JSON.stringify(join(folder, 'secret'))}, 'theirs');`,
];

describe('a file that is replaced', () => {
  it('a replaced file has its old text after a kill, and the next replacement removes the draft', () => {
    replacePrivate(join(folder, 'secret'), 'old');
    const { signal, pid } = spawnSync(process.execPath, replacing(`process.kill(process.pid, 'SIGKILL')`));
    expect([signal, text(), names()]).toEqual(['SIGKILL', 'old', ['secret', `secret.${pid}.tmp`]]);
    replacePrivate(join(folder, 'other'), 'not that file');
    expect(names()).toHaveLength(3);
    replacePrivate(join(folder, 'secret'), 'new');
    expect([text(), names()]).toEqual(['new', ['other', 'secret']]);
  });

  it('two processes that replace a file keep their drafts, and the last rename wins', async () => {
    const wait = `fs.writeSync(1, 'written'); fs.readSync(0, Buffer.alloc(1))`;
    const child = spawn(process.execPath, replacing(wait), { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    replacePrivate(join(folder, 'secret'), 'ours');
    removeDrafts(folder);
    expect(names()).toEqual(['secret', `secret.${child.pid}.tmp`]);
    child.stdin.end('\n');
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect([text(), names()]).toEqual(['theirs', ['secret']]);
  });

  it('a replacement that fails leaves no draft', () => {
    mkdirSync(join(folder, 'secret'));
    writeFileSync(join(folder, 'secret/inside'), '');
    expect(() => replacePrivate(join(folder, 'secret'), 'new')).toThrow(/EISDIR|ENOTEMPTY/);
    expect(names()).toEqual(['secret']);
  });

  it('the removal of drafts deletes only files with the whole name of a draft', () => {
    const ended = spawnSync('true').pid;
    const kept = ['secret.12x.tmp', 'secret.tmp', `secret.${process.ppid}.tmp`, `secret.${ended}`];
    for (const name of [...kept, `secret.${ended}.tmp`]) writeFileSync(join(folder, name), '');
    removeDrafts(folder);
    expect(names()).toEqual(kept.toSorted());
  });
});

describe('a directory that is made', () => {
  it('a new directory replaces nothing but an empty directory', async () => {
    const made = join(folder, 'made');
    writeFileSync(made, 'a file');
    await expect(makeDirectory(made, async () => {})).rejects.toMatchObject({
      code: 'CONFLICT',
      message: `expected ${made} to be absent or an empty directory, got something else`,
    });
    expect(readFileSync(made, 'utf8')).toBe('a file');
    rmSync(made);
    mkdirSync(made);
    await makeDirectory(made, async (draft) => writeFileSync(join(draft, 'one'), ''));
    expect(readdirSync(made).sort()).toEqual(['.gitignore', 'one']);
  });
});
