import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { syncDirectory, writeAll } from '../../src/files/durable.ts';
import { emptyDirectory } from '../cli/support/tool.ts';
import { projectRoot } from '../paths.ts';

/** Runs a text as a module in a process whose files end after `kibibytes`, as on a full disk: the last write is a part. */
function within(kibibytes: number, text: string): string {
  const line = `ulimit -f ${kibibytes}; exec "$0" --disable-warning=ExperimentalWarning --input-type=module-typescript -e "$1"`;
  return execFileSync('bash', ['-c', line, process.execPath, text], { cwd: projectRoot, encoding: 'utf8' });
}

describe('durable writes', () => {
  it('write all bytes one after the other', () => {
    const path = join(emptyDirectory(), 'file');
    const file = openSync(path, 'w');
    writeAll(file, Buffer.from('one '));
    writeAll(file, Buffer.alloc(0));
    writeAll(file, Buffer.from('two'));
    closeSync(file);
    expect(readFileSync(path, 'utf8')).toBe('one two');
    syncDirectory(join(path, '..'));
    expect(() => syncDirectory(join(path, '../none'))).toThrow(/ENOENT/);
  });

  it.skipIf(process.platform !== 'linux')('throw where the disk takes only a part of the bytes', () => {
    const path = join(emptyDirectory(), 'file');
    const text = `
      import { openSync } from 'node:fs';
      import { writeAll } from './src/files/durable.ts';
      try { writeAll(openSync(${JSON.stringify(path)}, 'w'), Buffer.alloc(1500, 'x')); } catch ({ code }) { console.log(code); }`;
    expect(within(1, text)).toBe('EFBIG\n');
    expect(readFileSync(path)).toHaveLength(1024);
  });

  it.skipIf(process.platform !== 'linux')(
    'leave the kept heads of a spool as they were where there is no room',
    () => {
      const path = join(emptyDirectory(), 'kept.json');
      writeFileSync(path, '{"newest":"old","contradicted":[]}');
      const text = `
      import { writeKeptHeads } from './src/client/sending/kept-head.ts';
      try { writeKeptHeads(${JSON.stringify(path)}, { newest: 'x'.repeat(1500), contradicted: [] }); } catch ({ code }) { console.log(code); }`;
      expect(within(1, text)).toBe('EFBIG\n');
      expect(readFileSync(path, 'utf8')).toBe('{"newest":"old","contradicted":[]}');
    },
  );
});
