import { cpSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, it } from 'vitest';
import { emptyDirectory, gov, govHere } from '../../support/tool.ts';
import { unguarded } from '../../../support/unguarded.ts';

const root = emptyDirectory();
const dataDir = join(root, 'plane');
const env = { GOV_CONFIG_DIR: join(root, 'config'), HOME: root };

describe('gov log fsck', () => {
  beforeAll(async () => {
    const argv = ['plane', 'init', '--data', dataDir, '--listen', '127.0.0.1:0', '--metrics-listen', 'off'];
    expect(await gov(argv, { env })).toMatchObject({ code: 0 });
  });

  it('gov log fsck finds a new plane whole, by context or by directory, with exit code 0', async () => {
    const { code, stdout } = await govHere(['log', 'fsck', '--deep', '-o', 'json'], { env });
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { ok: true, problems: [], deep: true }]);
    const told = await govHere(['log', 'fsck', '--data', dataDir, '--color', 'never'], { columns: 100 });
    expect(told).toMatchObject({ code: 0, stdout: expect.stringContaining(`✓ whole  ${dataDir}`) });
    const piped = await govHere(['log', 'fsck', '--data', dataDir], { env });
    expect(piped).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^whole: .*; read \d+ leaves/),
    });
  });

  it('gov log fsck finds an altered record and its place, with exit code 3', async () => {
    const altered = join(root, 'altered');
    cpSync(dataDir, altered, { recursive: true });
    const db = new Database(join(altered, 'gov.db'));
    unguarded(db, () =>
      db.exec("UPDATE leaf SET record = replace(CAST(record AS TEXT), 'production', 'sandbox---')"),
    );
    db.close();
    const { code, stdout } = await govHere(['log', 'fsck', '--data', altered, '-o', 'json'], { env });
    expect([code, JSON.parse(stdout)]).toMatchObject([3, { ok: false, found: expect.any(Number) }]);
    const piped = await govHere(['log', 'fsck', '--data', altered], { env });
    expect(piped.stderr).toMatch(/^broken in \d+ places: /);
    expect(piped.stdout).toMatch(/^prj_[^\t]+\t(record|tile|root)_[a-z]+\t/);
    const told = await govHere(['log', 'fsck', '--data', altered, '--color', 'never'], { env, columns: 100 });
    expect(told.stdout).toContain('✗ BROKEN in ');
  });

  it('gov log fsck exits with 2 when there is nothing to check', async () => {
    const { code, stderr } = await govHere(['log', 'fsck', '--data', root], { env });
    expect(code).toBe(2);
    expect(stderr).toContain(`cannot check ${root}: expected a database at`);
  });
});
