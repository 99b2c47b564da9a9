import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mayFailOpen, reach, readConnection } from '../../../src/cli/agents/connection-file.ts';
import { emptyDirectory } from '../support/tool.ts';

const folder = emptyDirectory();
const file = (name: string, content: unknown, mode = 0o600): string => {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  chmodSync(path, mode);
  return path;
};

describe('the file with address and key', () => {
  it.each([
    ['no key', { baseUrl: 'http://127.0.0.1:1/api/v1' }],
    ['no place', { keyFile: '/k' }],
    ['two places', { keyFile: '/k', baseUrl: 'http://127.0.0.1:1/api/v1', dataDir: '/p' }],
    ['a number as its place', { keyFile: '/k', baseUrl: 7 }],
    ['a pin without a key', { keyFile: '/k', dataDir: '/p', pin: { projectId: 'prj_1' } }],
    ['a run without its time', { keyFile: '/k', dataDir: '/p', startedIn: { runId: 'r' } }],
    ['other text', 'no JSON'],
  ])('readConnection refuses a file with %s', (_what, content) => {
    expect(() => readConnection(file('bad.json', content))).toThrow(/expected/);
  });

  it('reach finds the port of a plane of this machine in its directory', () => {
    const keyFile = file('key', 'gov_x\n');
    const path = file('good.json', { dataDir: folder, keyFile });
    file('plane.json', { listen: '127.0.0.1:7460' });
    expect(reach(path)).toEqual({
      baseUrl: 'http://127.0.0.1:7460/api/v1',
      key: 'gov_x',
      ca: [],
      proxy: null,
      startedIn: null,
      pin: null,
    });
    file('run.json', { baseUrl: 'http://127.0.0.1:7999/api/v1' });
    expect(reach(path).baseUrl).toBe('http://127.0.0.1:7999/api/v1');
  });

  it.skipIf(process.getuid?.() !== 0)(
    'only a file of root that others cannot write lets hooks fail open',
    () => {
      const allows = { allowFailOpen: true };
      expect(mayFailOpen(file('admin.json', allows, 0o644))).toBe(true);
      expect(mayFailOpen(file('admin.json', allows, 0o664))).toBe(false);
      expect(mayFailOpen(file('admin.json', { allowFailOpen: 'true' }, 0o644))).toBe(false);
      const owned = file('owned.json', allows, 0o644);
      chownSync(owned, 65_534, 65_534);
      expect(mayFailOpen(owned)).toBe(false);
      expect(mayFailOpen(join(folder, 'none.json'))).toBe(false);
    },
  );
});
