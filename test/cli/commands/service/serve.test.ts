/** `gov service …`: what each command prints, does, and ends with. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engines, startService, type Tenant, type TestService } from '../../../support/hosted.ts';
import { missing, server } from '../../../store/postgres/support/described.ts';
import type { TestDatabase } from '../../../store/postgres/support/server.ts';
import { cleanEnv, emptyDirectory, govHere, runner } from '../../support/tool.ts';

const terminal = { columns: 120 } as const;

describe('gov service init', () => {
  it('gov service init makes the directory and names its files and the next step', async () => {
    const dataDir = join(emptyDirectory(), 'service');
    const { code, stdout, stderr } = await govHere(['service', 'init', '--data', dataDir], terminal);
    expect([code, stdout, stderr]).toEqual([
      0,
      expect.stringMatching(
        /made.* hosted service in .*\n {2}logs {5}gov\.local\/…\n {2}address {2}http:\/\/127/,
      ),
      `next: gov service serve --data ${dataDir}\n`,
    ]);
    const again = await govHere(['service', 'init', '--data', dataDir, '-o', 'json']);
    expect(JSON.parse(again.stdout)).toMatchObject({ created: false, dataDir, engine: 'sqlite' });
  });

  it('gov service init stores the identity provider, and refuses an incomplete one', async () => {
    const dataDir = join(emptyDirectory(), 'service');
    const init = ['service', 'init', '--data', dataDir];
    const half = await govHere([...init, '--issuer', 'https://id.example']);
    expect([half.code, half.stderr]).toEqual([
      2,
      expect.stringContaining('--issuer and --client-id together'),
    ]);
    expect(existsSync(dataDir)).toBe(false);
    const { stderr } = await govHere([...init, '--issuer', 'https://id.example', '--client-id', 'gov']);
    expect(stderr).toContain(
      'register at https://id.example as redirect URI of gov: http://localhost:7470/console/callback',
    );
    expect(JSON.parse(readFileSync(join(dataDir, 'service.json'), 'utf8'))).toMatchObject({
      issuer: { url: 'https://id.example', clientId: 'gov' },
    });
  });

  it('gov service init takes no password on the command line', async () => {
    const dataDir = join(emptyDirectory(), 'service');
    const database = 'postgres://gov:hush@127.0.0.1/gov';
    const { code, stderr } = await govHere(['service', 'init', '--data', dataDir, '--database', database]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: --database: expected no password/)]);
    expect(stderr).not.toContain('hush');
  });
});

describe('gov service serve', () => {
  it('gov service serve exits with 0 on SIGTERM, and with 2 for incomplete development issuer flags', async () => {
    const dataDir = join(emptyDirectory(), 'service');
    const own = ['--listen', '127.0.0.1:0', '--metrics-listen', 'off'];
    await govHere(['service', 'init', '--data', dataDir, ...own]);
    const half = await govHere(['service', 'serve', '--data', dataDir, '--dev-issuer-listen', '127.0.0.1:0']);
    expect([half.code, half.stderr]).toEqual([
      2,
      expect.stringContaining('expected together with --dev-issuer'),
    ]);
    const words = [
      'service',
      'serve',
      '--data',
      dataDir,
      '--dev-issuer',
      '--dev-issuer-listen',
      '127.0.0.1:0',
    ];
    const child = spawn(process.execPath, [runner, ...words], { env: cleanEnv() });
    const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)));
    const lines: Record<string, string>[] = [];
    for await (const line of createInterface(child.stderr)) {
      lines.push(JSON.parse(line) as Record<string, string>);
      if (lines.at(-1)?.['msg'] === 'serving') child.kill('SIGTERM');
    }
    expect(await ended).toBe(0);
    expect(lines.map(({ msg }) => msg)).toEqual([
      expect.stringMatching(/^DEVELOPMENT ISSUER/),
      'serving',
      'stopping',
      'stopped',
    ]);
  });
});

describe('gov service doctor', () => {
  it('gov service doctor lists its checks and exits with 3 when one failed', async () => {
    const dataDir = join(emptyDirectory(), 'service');
    await govHere(['service', 'init', '--data', dataDir, '--listen', '127.0.0.1:0']);
    const doctor = ['service', 'doctor', '--data', dataDir];
    const well = await govHere(doctor, terminal);
    expect([well.code, well.stderr]).toEqual([0, 'it can serve\n']);
    expect(well.stdout).toMatch(
      /✓.* configuration .*\n(.*\n)*.*! *.*issuer .*nobody can sign up.*\n.*→ set issuer/,
    );
    const json = await govHere([...doctor, '-o', 'json', '--listen', 'nonsense']);
    expect([json.code, JSON.parse(json.stdout)]).toEqual([
      3,
      { ok: false, checks: [expect.objectContaining({ name: 'configuration', status: 'fail' })] },
    ]);
    const piped = await govHere(doctor);
    expect(piped.stdout.split('\n')[0]?.split('\t').slice(0, 2)).toEqual(['configuration', 'ok']);
  });
});

describe('gov service migrate', () => {
  it('gov service migrate exits with 2 when no database is named', async () => {
    const { code, stderr } = await govHere(['service', 'migrate']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/in --database or GOV_DATABASE; SQLite is migrated/),
    ]);
  });

  describe.skipIf(missing !== null)('on PostgreSQL', () => {
    let database: TestDatabase;
    beforeAll(async () => {
      database = await server.database();
    });
    afterAll(() => database.drop());

    it('gov service migrate reports what it did, and exits with 4 for a role without the right', async () => {
      const env = { GOV_DATABASE: database.owner };
      const migrate = ['service', 'migrate', '--role', 'gov_test_serving'];
      const { code, stdout } = await govHere(migrate, { ...terminal, env });
      expect([code, stdout]).toEqual([
        0,
        expect.stringMatching(/tables are at version \d+ already\n.*role gov_test_serving granted/),
      ]);
      const refused = await govHere(migrate, { env: { GOV_DATABASE: database.serving } });
      expect([refused.code, refused.stderr]).toEqual([
        4,
        expect.stringContaining('does not own the schema gov'),
      ]);
    });
  });
});

describe.each(engines)('the operator’s commands on %s', (engine) => {
  let service: TestService;
  let ada: Tenant;
  let gone: string;
  beforeAll(async () => {
    service = await startService({ engine });
    ada = await service.signUp('ada');
    const made = await ada.call('POST', '/projects', { body: { name: 'gone', environment: 'production' } });
    gone = made.body.id;
    await ada.call('DELETE', `/projects/${gone}`);
  }, 60_000);
  afterAll(() => service.end());

  const run = (...words: string[]) => govHere(['service', ...words, '--data', service.dataDir, '-o', 'json']);

  it.runIf(engine === 'sqlite')(
    'the commands of the operator exit with 6 while the service runs',
    async () => {
      const { code, stderr } = await run('projects');
      expect([code, stderr]).toEqual([6, expect.stringMatching(/holds it; stop that process first/)]);
      await service.close();
    },
  );

  it('the commands of the operator list and restore projects, and set quotas and the customer', async () => {
    const projects = async (...words: string[]) =>
      JSON.parse((await run('projects', ...words)).stdout).projects as Record<string, unknown>[];
    expect((await projects()).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['gone', 'Production', 'Sandbox']),
    );
    expect(await projects('--organization', 'org_none')).toEqual([]);
    const seen = await govHere(['service', 'projects', '--data', service.dataDir], { columns: 80 });
    expect(seen.stdout).toMatch(/ENVIRONMENT {2}DELETED AT\b/);
    const restored = await run('restore', gone);
    expect(JSON.parse(restored.stdout)).toMatchObject({ changed: true, projectId: gone, deletedAt: null });
    const quota = await run('quota', gone, '--set', 'audit_event=7,risk_decision=none');
    expect(JSON.parse(quota.stdout)).toMatchObject({ quotas: { audit_event: 7, risk_decision: null } });
    const fewer = await run('quota', gone, '--set', 'risk_decision=default');
    expect(JSON.parse(fewer.stdout).quotas).toEqual({ audit_event: 7 });
    const customer = await run('customer', ada.orgId, '--set', 'cus_1');
    expect(JSON.parse(customer.stdout)).toMatchObject({ changed: true, customerId: 'cus_1' });
    const cleared = await run('customer', ada.orgId, '--clear');
    expect(JSON.parse(cleared.stdout)).toMatchObject({ changed: true, customerId: null });
  });

  it('the commands of the operator report wrong arguments', async () => {
    const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
      [['restore', 'prj_none'], 5, /no project has the id prj_none/],
      [['quota', 'prj_none', '--set', 'audit_event=1'], 5, /no project has the id/],
      [['quota', gone, '--set', 'audits=1'], 2, /expected a type of audit_event/],
      [['quota', gone, '--set', 'audit_event=-1'], 2, /expected a whole number, none or default/],
      [['quota', gone], 2, /--set/],
      [['customer', ada.orgId], 2, /expected one of --set cus_… and --clear/],
      [['customer', ada.orgId, '--set', 'cus_1', '--clear'], 2, /expected one of/],
      [['customer', ada.orgId, '--set', 'customer'], 2, /--set/],
      [['customer', 'org_none', '--clear'], 5, /no organization has the id org_none/],
    ];
    for (const [words, code, said] of cases) {
      const result = await run(...words);
      expect([words, result.code, result.stderr]).toEqual([words, code, expect.stringMatching(said)]);
    }
  });
});
