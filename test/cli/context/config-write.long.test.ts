import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { readUserConfig } from '../../../src/cli/context/config.ts';
import { updateUserConfig } from '../../../src/cli/context/config-write.ts';
import { takeLock } from '../../../src/client/sending/lock.ts';
import { signedUp } from '../support/account.ts';
import { mountSmall } from '../../faults/full.ts';
import { cleanEnv, emptyDirectory, ended, govHere } from '../support/tool.ts';

/** A program that adds contexts, one change for each. */
const changing = (count: number): string => `
  import { updateUserConfig } from ${JSON.stringify(new URL('../../../src/cli/context/config-write.ts', import.meta.url).href)};
  for (let n = 0; n < ${count}; n += 1)
    await updateUserConfig(process.env, ({ contexts, ...rest }) => ({ ...rest,
      contexts: { ...contexts, [process.env.NAME + (n % 25)]: { kind: 'plane', dataDir: '/x' } } }));`;

describe('changes of the configuration', () => {
  it('concurrent changes of the configuration are all kept', { timeout: 120_000 }, async () => {
    const env = { GOV_CONFIG_DIR: join(emptyDirectory(), 'gov') };
    const [processes, each] = [4, 25];
    const done = await Promise.all(
      Array.from({ length: processes }, (_, at) =>
        ended(
          spawn(process.execPath, ['--input-type=module', '-e', changing(each)], {
            env: cleanEnv({ ...env, NAME: `p${at}-` }),
          }),
        ),
      ),
    );
    expect(done.map(({ code, stderr }) => [code, stderr])).toEqual(done.map(() => [0, '']));
    expect(Object.keys(readUserConfig(env).contexts)).toHaveLength(processes * each);
    expect(existsSync(join(env.GOV_CONFIG_DIR, 'lock'))).toBe(false);
  });

  it(
    'a change of the configuration waits for another process, and names it when it does not end',
    { timeout: 20_000 },
    async () => {
      const env = await signedUp('http://127.0.0.1:1');
      const release = takeLock(join(env.GOV_CONFIG_DIR, 'lock'), (why) => new Error(why));
      const waiting = updateUserConfig(env, (config) => ({ ...config, currentContext: 'acme-sandbox' }));
      setTimeout(release, 200);
      await waiting;
      expect(readUserConfig(env).currentContext).toBe('acme-sandbox');
      const again = takeLock(join(env.GOV_CONFIG_DIR, 'lock'), (why) => new Error(why));
      const before = readFileSync(join(env.GOV_CONFIG_DIR, 'config.json'), 'utf8');
      const { code, stderr } = await govHere(['context', 'use', 'acme'], { env });
      expect([code, stderr]).toEqual([
        6,
        expect.stringContaining(`process ${process.pid} on ${hostname()} uses it`),
      ]);
      expect(readFileSync(join(env.GOV_CONFIG_DIR, 'config.json'), 'utf8')).toBe(before);
      again();
    },
  );

  it('a change of the configuration takes over the lock of a dead process', async () => {
    const env = await signedUp('http://127.0.0.1:1');
    const gone = Number(execFileSync('sh', ['-c', 'echo $$']).toString());
    const owner = { pid: gone, host: hostname(), started: 'then' };
    writeFileSync(join(env.GOV_CONFIG_DIR, 'lock'), JSON.stringify(owner));
    expect((await govHere(['context', 'use', 'acme-sandbox'], { env })).code).toBe(0);
  });

  it('a change of the configuration explains why the directory cannot be made', async () => {
    const root = emptyDirectory();
    writeFileSync(join(root, 'gov'), '');
    const env = { GOV_CONFIG_DIR: join(root, 'gov', 'below') };
    const outcome = await govHere(['context', 'set', 'a', '--base-url', 'https://h'], { env });
    expect(outcome.code).not.toBe(0);
    expect(outcome.stderr).toContain(`${root}/gov/below`);
  });

  it('a change of the configuration leaves the old file when the disk is full', async ({ skip }) => {
    const directory = emptyDirectory();
    const unmount = mountSmall(directory, 1);
    if (unmount === null) return skip('root may not mount a tmpfs here');
    try {
      const env = { GOV_CONFIG_DIR: directory };
      await updateUserConfig(env, () => ({ contexts: { a: { kind: 'plane', dataDir: '/x' } } }));
      const before = readFileSync(join(directory, 'config.json'), 'utf8');
      const page = 4096; // the lock takes one
      const used = execFileSync('du', ['-s', '-B1', directory], { encoding: 'utf8' });
      writeFileSync(join(directory, 'rest'), Buffer.alloc(1024 * 1024 - Number.parseInt(used, 10) - page));
      const { code, stderr } = await govHere(['context', 'use', 'a'], { env });
      expect([code, stderr]).toEqual([1, expect.stringMatching(/cannot write .*: the disk is full/)]);
      expect(readFileSync(join(directory, 'config.json'), 'utf8')).toBe(before);
      // conf removes its draft without waiting for that
      await vi.waitFor(
        () => expect(readdirSync(directory).toSorted()).toEqual(['config.json', 'rest']),
        20_000,
      );
    } finally {
      unmount();
    }
  });

  it(
    'a killed change of the configuration leaves a whole file, which the next change updates',
    { timeout: 120_000 },
    async () => {
      const env = await signedUp('http://127.0.0.1:1');
      for (let round = 0; round < 8; round += 1) {
        const child = spawn(process.execPath, ['--input-type=module', '-e', changing(1_000_000)], {
          env: cleanEnv({ ...env, NAME: 'killed-' }),
        });
        const end = ended(child);
        await vi.waitUntil(() => existsSync(join(env.GOV_CONFIG_DIR, 'lock')), {
          timeout: 20_000,
          interval: 1,
        });
        child.kill('SIGKILL');
        await end;
        const { contexts } = readUserConfig(env);
        expect(contexts).toHaveProperty('acme');
        await updateUserConfig(env, (config) => ({ ...config, currentContext: `acme` }));
      }
    },
  );
});
