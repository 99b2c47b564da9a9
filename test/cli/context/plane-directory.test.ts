/** Configurations carried by file: from a service to planes that serve, and to planes that do not. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withHeldConfig } from '../../../plane/config/direct.ts';
import { planeInit } from '../../../plane/data/init.ts';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';
import {
  bundleOf,
  configure,
  policy,
  serve,
  serviceProject,
  signer,
  textOf,
} from '../../plane/support/configured.ts';
import { govHere } from '../support/tool.ts';

let folder: string;
let env: Readonly<Record<string, string>>;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gov-planeconfig-'));
  env = { GOV_CONFIG_DIR: join(folder, 'config') };
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (argv: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  govHere(argv, { env: { ...env, ...more }, cwd: folder });
const json = async (argv: readonly string[], more: Readonly<Record<string, string>> = {}) => {
  const { code, stdout, stderr } = await run([...argv, '-o', 'json'], more);
  return { code, stderr, body: stdout === '' ? null : JSON.parse(stdout) };
};
const fileOf = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return name;
};

/** A plane that trusts the signer of the tests, in `folder/name`. */
async function made(name: string): Promise<string> {
  const dataDir = join(folder, name);
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
  configure(dataDir, { projectId: serviceProject, keys: [signer.verifierKey] });
  return dataDir;
}

describe('gov plane config', () => {
  const first = bundleOf(3, [policy('no-shell', { version: 2 })]);
  const second = bundleOf(4, [
    policy('no-mail', { action: 'escalate', severity: 'high', name: 'Mail \u001b[31m' }),
  ]);

  it('gov plane config applies, shows and verifies at a stopped plane, which has it when it serves', async () => {
    const dataDir = await made('still');
    const data = ['--data', dataDir];
    expect(await run(['plane', 'config', 'show', ...data])).toMatchObject({ code: 5 });
    const file = fileOf('first.json', textOf(first));
    const verified = await json(['plane', 'config', 'verify', file, ...data]);
    expect(verified).toMatchObject({
      code: 0,
      body: {
        taken: true,
        bundleVersion: 3,
        projectId: serviceProject,
        signedBy: 'gov.example/config',
        policies: 1,
      },
    });
    const applied = await json(['plane', 'config', 'apply', file, ...data]);
    expect(applied).toMatchObject({
      code: 0,
      body: { applied: true, added: 1, bundleHash: verified.body.bundleHash },
    });
    const shown = await json(['plane', 'config', 'show', ...data]);
    expect(shown).toMatchObject({
      code: 0,
      body: { bundleVersion: 3, plane: { from: 'file', refused: null } },
    });
    expect(shown.body.signed.bundle).toEqual(first);
    const plane = await serve(dataDir);
    try {
      expect(await plane.inForce()).toEqual(['no-shell 2']);
      const [told] = await plane.told('config.change.applied');
      expect(told).toMatchObject({ actor: { id: 'operator', type: 'operator' } });
    } finally {
      await plane.close();
    }
  });

  it('gov plane config applies and shows at a serving plane, also from standard input', async () => {
    const dataDir = await made('serving');
    const data = ['--data', dataDir];
    const plane = await serve(dataDir);
    try {
      const applied = await run([
        'plane',
        'config',
        'apply',
        fileOf('one.json', textOf(first)),
        ...data,
        '-o',
        'table',
      ]);
      expect(applied).toMatchObject({ code: 0, stderr: '' });
      expect(applied.stdout).toContain('configuration 3 is in force');
      const again = await govHere(['plane', 'config', 'apply', '-', ...data, '-o', 'table'], {
        env,
        cwd: folder,
        input: textOf(second),
      });
      expect(again.stdout).toContain('1 added, 0 changed, 1 archived, 0 unchanged');
      expect(await plane.inForce()).toEqual(['no-mail 1']);
      const shown = await run(['plane', 'config', 'show', ...data, '-o', 'table']);
      expect(shown.code).toBe(0);
      expect(shown.stdout).toContain(`of        ${serviceProject} (production)`);
      expect(shown.stdout).toMatch(/no-mail +1 +escalate +high +Mail/);
      expect(shown.stdout).not.toContain('\u001b[31m');
    } finally {
      await plane.close();
    }
  });

  it('gov plane config apply exits with 3 for a refused file, gives the reason and changes nothing', async () => {
    const dataDir = await made('refusing');
    const data = ['--data', dataDir];
    await run(['plane', 'config', 'apply', fileOf('second.json', textOf(second)), ...data]);
    const cases = {
      'older.json': [textOf(first), 'outdated'],
      'forged.json': [textOf(second).replace('escalate', 'allow'), 'untrusted'],
      'torn.json': [textOf(second).slice(0, 100), 'malformed'],
      'others.json': [
        textOf(bundleOf(9, [], { projectId: 'prj_01jzzzzzzzzzzzzzzzzzzzzzz0' })),
        'other_project',
      ],
    } as const;
    for (const [name, [text, reason]] of Object.entries(cases)) {
      fileOf(name, text);
      for (const verb of ['verify', 'apply']) {
        const refused = await json(['plane', 'config', verb, name, ...data]);
        expect([name, verb, refused.code, refused.body]).toEqual([
          name,
          verb,
          3,
          { taken: false, reason, detail: expect.any(String) },
        ]);
      }
    }
    expect((await json(['plane', 'config', 'show', ...data])).body.bundleVersion).toBe(4);
    const told = await run(['plane', 'config', 'apply', 'older.json', ...data, '-o', 'table']);
    expect(told.stdout).toContain('✗ refused: outdated; the current configuration stays');
  });

  it('gov plane config set writes trust and policy mode into plane.json', async () => {
    const dataDir = join(folder, 'fresh');
    await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
    const set = (...flags: string[]) => json(['plane', 'config', 'set', '--data', dataDir, ...flags]);
    const before = readFileSync(join(dataDir, 'plane.json'), 'utf8');
    expect(await set()).toMatchObject({ code: 2 });
    expect(await set('--project-id', serviceProject)).toMatchObject({ code: 2 });
    expect(await set('--key', 'nobody', '--project-id', serviceProject)).toMatchObject({ code: 2 });
    expect(await set('--every', '1s')).toMatchObject({ code: 2 });
    const { code: refused, stderr } = await run([
      'plane',
      'config',
      'set',
      '--data',
      dataDir,
      '--max-age',
      '1s',
    ]);
    const least = `${join(dataDir, 'plane.json')} /config/maxAgeSeconds: expected an integer ≥ 60, got 1`;
    expect([refused, stderr]).toEqual([2, expect.stringContaining(least)]);
    expect(readFileSync(join(dataDir, 'plane.json'), 'utf8')).toBe(before);
    expect(await set('--max-age', '1h', '--any-age')).toMatchObject({ code: 2 });
    const limited = await run(['plane', 'config', 'set', '--data', dataDir, '--max-age', '24h']);
    expect([limited.code, limited.stderr]).toEqual([
      0,
      expect.stringContaining('this plane knows no service: it refuses every evaluation'),
    ]);
    expect(await set('--any-age')).toMatchObject({ code: 0, body: {} });
    await set('--project-id', serviceProject, '--key', signer.verifierKey);
    const { code, body } = await set('--policies', 'service', '--every', '10m');
    expect([code, body]).toEqual([
      0,
      { projectId: serviceProject, keys: [signer.verifierKey], policies: 'service', intervalSeconds: 600 },
    ]);
    expect(JSON.parse(readFileSync(join(dataDir, 'plane.json'), 'utf8'))).toEqual({
      ...JSON.parse(before),
      config: body,
    });
    expect(statSync(join(dataDir, 'plane.json')).mode & 0o777).toBe(0o600);
    const file = fileOf('trusted.json', textOf(first));
    expect(await json(['plane', 'config', 'apply', file, '--data', dataDir])).toMatchObject({ code: 0 });
  });

  it('gov plane config verify works without a plane when given --key and --project-id', async () => {
    const file = fileOf('alone.json', textOf(first));
    const flags = ['--key', signer.verifierKey, '--project-id', serviceProject];
    expect(await json(['plane', 'config', 'verify', file, ...flags])).toMatchObject({
      code: 0,
      body: { taken: true },
    });
    expect(
      await json(['plane', 'config', 'verify', file, ...flags, '--environment', 'sandbox']),
    ).toMatchObject({
      code: 3,
      body: { reason: 'other_project' },
    });
    expect(await run(['plane', 'config', 'verify', file])).toMatchObject({ code: 2 });
    expect(await run(['plane', 'config', 'verify', 'nowhere.json', ...flags])).toMatchObject({ code: 2 });
  });
});

describe('gov planes bundle', () => {
  let service: TestService;
  let tenant: Tenant;
  beforeAll(async () => {
    service = await startService();
    tenant = await service.signUp('ada');
  });
  afterAll(() => service.end());

  it('gov planes bundle writes a file that a plane in another place takes', async () => {
    await tenant.call('POST', '/governance/policies', {
      body: { policyId: 'no-rm', name: 'No rm', condition: { 'tool.name': 'rm' }, action: 'deny' },
    });
    await tenant.call('POST', '/governance/policies/no-rm/publish', { body: {} });
    const at = { GOV_BASE_URL: service.baseUrl, GOV_API_KEY: tenant.keys.production };
    const written = await run(['planes', 'bundle', '-O', 'carried.json'], at);
    expect(written).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('wrote carried.json: configuration'),
    });
    expect(statSync(join(folder, 'carried.json')).mode & 0o777).toBe(0o600);
    const piped = await run(['planes', 'bundle'], at);
    expect(piped.stdout).toBe(readFileSync(join(folder, 'carried.json'), 'utf8'));
    const { bundle } = JSON.parse(piped.stdout);
    const dataDir = join(folder, 'away');
    await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
    const { verifierKey } = service.services.hosting!.configSigner;
    configure(dataDir, { projectId: bundle.projectId, keys: [verifierKey] });
    const applied = await json(['plane', 'config', 'apply', 'carried.json', '--data', dataDir]);
    expect(applied).toMatchObject({ code: 0, body: { applied: true, added: 1 } });
    await withHeldConfig({ dataDir, env: {} }, async ({ held }) => {
      expect(held.applied?.bundleVersion).toBe(bundle.bundleVersion);
    });
  });
});
