import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolder } from '../../src/files/make-folder.ts';
import { projectRoot } from '../paths.ts';
import { emptyDirectory } from '../cli/support/tool.ts';

describe('makeFolder', () => {
  it('makes a folder and those above it with the mode, returns the first, and leaves one that is there', () => {
    const path = join(emptyDirectory(), 'a/b');
    expect(makeFolder(path, 0o700)).toBe(join(path, '..'));
    expect(makeFolder(path, 0o755)).toBeUndefined();
    for (const each of [path, join(path, '..')]) expect(statSync(each).mode & 0o777).toBe(0o700);
  });

  it('fails at a file, and below one', () => {
    const file = join(emptyDirectory(), 'file');
    writeFileSync(file, '');
    expect(() => makeFolder(file)).toThrow(/EEXIST/);
    expect(() => makeFolder(join(file, 'a/b'))).toThrow(/EEXIST.*file/);
  });

  it.skipIf(process.platform !== 'linux')('fails below /proc, where no folder can be made', () => {
    expect(() => makeFolder('/proc/x/gov/imports')).toThrow(/ENOENT/);
  });

  it('makes every folder of the product, because the recursive option of Node never returns below /proc', () => {
    const files = globSync('{src,plane}/**/*.{ts,tsx}', { cwd: projectRoot });
    expect(files.length).toBeGreaterThan(100);
    const others = files.filter((path) =>
      /\bmkdir(?:Sync)?\([^;]*recursive: true/.test(readFileSync(join(projectRoot, path), 'utf8')),
    );
    expect(others).toEqual([]);
  });
});
