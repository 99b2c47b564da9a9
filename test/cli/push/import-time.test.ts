import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { importTime, stateDirectory } from '../../../src/cli/push/import-time.ts';
import { Folder } from './harness.ts';

let folder: Folder;
beforeEach(() => (folder = new Folder()));
afterEach(() => folder.remove());

describe('the time of an import', () => {
  it('the time of an import is that of the first import of the same bytes', () => {
    const [a, b] = ['aa', 'bb'];
    expect(importTime(folder.path, a, 1000)).toBe(1000);
    expect(importTime(folder.path, b, 2000)).toBe(2000);
    expect(importTime(folder.path, a, 3000)).toBe(1000);
    expect(readdirSync(join(folder.path, 'imports')).length).toBe(2);
  });

  it('the time of an import throws when its stored file is damaged', () => {
    importTime(folder.path, 'aa', 1000);
    const [name = ''] = readdirSync(join(folder.path, 'imports'));
    writeFileSync(join(folder.path, 'imports', name), 'torn');
    expect(() => importTime(folder.path, 'aa', 2000)).toThrow(/EEXIST/);
  });

  it('the time of an import throws when it cannot be stored', () => {
    const file = folder.write('file', '');
    expect(() => importTime(file, 'aa', 1000)).toThrow();
    expect(existsSync(join(folder.path, 'imports'))).toBe(false);
  });

  it('the times of imports are stored in the XDG state directory', () => {
    expect(stateDirectory({ XDG_STATE_HOME: '/s' })).toBe('/s/gov');
    expect(stateDirectory({ HOME: '/h' })).toBe('/h/.local/state/gov');
  });
});
