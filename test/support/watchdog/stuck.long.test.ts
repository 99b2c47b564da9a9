import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cleanEnv } from '../../cli/support/tool.ts';
import { projectRoot } from '../../paths.ts';

const support = (name: string): string => JSON.stringify(join(projectRoot, 'test/support/watchdog', name));

const files: Readonly<Record<string, string>> = {
  'spins.test.ts': `import { it } from 'vitest';
    it('a loop', function spins() { for (;;); });`,
  'waits.test.ts': `import { connect, createServer } from 'node:net';
    const silent = createServer();
    await new Promise((resolve) => silent.listen(0, '127.0.0.1', resolve));
    await new Promise((resolve) => connect(silent.address().port, '127.0.0.1').once('close', resolve));`,
  'ends.test.ts': `import { it } from 'vitest';
    it('a test of another file', () => {});`,
  'setup.ts': `import { expect } from 'vitest';
    import { makeVisible } from ${support('stuck.ts')};
    makeVisible(expect.getState().testPath);`,
  'vitest.config.ts': `import { watchdog } from ${support('stuck.ts')};
    export default { test: { pool: 'forks', maxWorkers: 3, setupFiles: ['setup.ts'], reporters: ['verbose', watchdog(8)] } };`,
};

let folder: string;
let code: unknown;
let said: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gov-watchdog-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  symlinkSync(join(projectRoot, 'node_modules'), join(folder, 'node_modules'));
  await new Promise<void>((resolve) => {
    execFile(
      process.execPath,
      [join(projectRoot, 'node_modules/vitest/vitest.mjs'), 'run'],
      { cwd: folder, env: cleanEnv({ NO_COLOR: '1' }) },
      (error, stdout, stderr) => {
        code = error?.code;
        said = stdout + stderr;
        resolve();
      },
    );
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a test file that does not end', () => {
  it('fails the run, and the other files go on', () => {
    expect(code).toBe(1);
    expect(said).toContain('✓ ends.test.ts > a test of another file');
    expect(said).not.toContain('ends.test.ts has not ended');
  });

  it.each(['spins', 'waits'])('is named: %s', (name) => {
    expect(said).toContain(`${join(folder, name)}.test.ts has not ended after 8 s`);
  });

  it('is shown with the functions that it is in', () => {
    expect(said).toMatch(/^ {2}in spins \(\S*spins\.test\.ts:\d+ as loaded\)$/m);
  });

  it('is shown with what its import waits for', () => {
    expect(said).toMatch(/^ {2}waits for: .*TCPSocketWrap.*\n {2}runs no JavaScript$/m);
  });
});
