import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { takeLock } from '../../../src/store/file/lock.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { emptyDirectory, govHere } from '../support/tool.ts';

let plane: TestPlane;
const config = emptyDirectory();
const dataDir = join(config, 'plane');
beforeAll(async () => {
  plane = await startPlane();
  mkdirSync(dataDir);
  takeLock(join(dataDir, 'lock'), process.pid);
  const facts = { pid: process.pid, baseUrl: `${plane.origin}/api/v1` };
  writeFileSync(join(dataDir, 'run.json'), JSON.stringify(facts));
  writeFileSync(join(dataDir, 'plane.json'), JSON.stringify({ environment: 'production' }));
  writeFileSync(join(dataDir, 'local.key'), plane.key, { mode: 0o600 });
  const service = { kind: 'service', baseUrl: 'https://gov.example.com/api/v1' };
  const contexts = { local: { kind: 'plane', dataDir }, acme: service };
  writeFileSync(join(config, 'config.json'), JSON.stringify({ currentContext: 'local', contexts }));
});
afterAll(() => plane.end());

const here = (argv: readonly string[], more: Record<string, string> = {}) =>
  govHere(argv, { env: { GOV_CONFIG_DIR: config, ...more } });

describe('the target of a command', () => {
  it('a write names its context, place and environment in CI and with --verbose, and a read does not', async () => {
    const target = `to context local: data plane ${dataDir}, production\n`;
    const write = ['proofs', 'create', '--run', 'none'];
    expect((await here(write, { CI: '1' })).stderr).toContain(target);
    expect((await here([...write, '-v'])).stderr).toContain(target);
    expect((await here(write)).stderr).not.toContain('to context');
    expect((await here([...write, '-q'], { CI: '1' })).stderr).not.toContain('to context');
    expect((await here(['runs', 'list'], { CI: '1' })).stderr).not.toContain('to context');
  });

  it('a command that a data plane does not have says so, and names a context that has it', async () => {
    for (const words of ['projects list', 'planes list', 'usage show', 'billing portal', 'auth logout']) {
      const { code, stderr } = await here(words.split(' '));
      expect([code, stderr]).toEqual([
        5,
        `error: context local is a data plane, which does not have gov ${words}\n` +
          '  choose a context that has it: -C acme\n',
      ]);
    }
    const missing = await here(['events', 'get', 'evt_01jq3v5k8hf7wb3c9x2m4n6p8r']);
    expect([missing.code, missing.stderr]).toEqual([5, expect.not.stringContaining('does not have')]);
  });

  it('--env is refused by a command that chooses no environment of a service', async () => {
    for (const [words, hint] of [
      ['plane init --data /tmp/none', 'use --environment'],
      ['version', 'leave it out'],
      ['log fsck', 'leave it out'],
    ] as const) {
      const { code, stderr } = await here([...words.split(' '), '--env', 'sandbox']);
      expect([code, stderr]).toEqual([2, expect.stringContaining(hint)]);
    }
  });
});
