import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { withHeldConfig } from '../../../plane/config/direct.ts';
import { planeInit } from '../../../plane/data/init.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import {
  bundleOf,
  configure,
  policy,
  riskConfig,
  serviceProject,
  signer,
  startConfigured,
  textOf,
  type ConfiguredPlane,
} from '../support/configured.ts';

const script = fileURLToPath(new URL('./kill.ts', import.meta.url));
const names = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) =>
    policy(`p-${String(from + at).padStart(3, '0')}`, { version: from + at + 1 }),
  );
const before = bundleOf(1, names(0, 20));
const after = bundleOf(2, names(10, 30), { riskConfig, settings: { redactionKeys: ['/metadata/a'] } });
const operator = { id: 'operator', type: 'operator' };

describe('a plane that is killed while it takes a configuration', () => {
  let folder: string;
  const file = (name: string): string => join(folder, name);
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gov-configkill-'));
    writeFileSync(file('after.json'), textOf(after));
    const dataDir = file('start');
    await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
    configure(dataDir, { projectId: serviceProject, keys: [signer.verifierKey] });
    await withHeldConfig({ dataDir, env: {} }, ({ held }) =>
      held.apply(Buffer.from(textOf(before)), operator),
    );
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Kills before the N-th change of a file, on a directory of its own. */
  function killAt(step: number): { dataDir: string; signal: NodeJS.Signals | null; steps: number } {
    const dataDir = file(`killed-${step}`);
    cpSync(file('start'), dataDir, { recursive: true });
    const child = spawnSync(process.execPath, [script, dataDir, file('after.json'), String(step)], {
      encoding: 'utf8',
    });
    return { dataDir, signal: child.signal, steps: Number(child.stdout) };
  }

  it('a plane killed at any step of taking a configuration has the whole old one or the whole new one', async () => {
    const { steps } = killAt(0);
    expect(steps).toBeGreaterThan(4);
    const versions: (number | undefined)[] = [];
    for (let step = 1; step <= steps; step++) {
      const { dataDir, signal } = killAt(step);
      expect([step, signal]).toEqual([step, 'SIGKILL']);
      await withHeldConfig({ dataDir, env: {} }, async ({ held, services, config }) => {
        const { bundleVersion, signed } = await held.held();
        const expected = bundleVersion === 1 ? before : after;
        versions.push(bundleVersion);
        expect(signed?.bundle).toEqual(expected);
        const { policies } = await services.store.policiesInForce(config.projectId);
        const inForce = policies.map(({ policyHash }) => policyHash);
        expect(inForce).toEqual(expected.policies.map(({ policyHash }) => policyHash));
        expect(held.settings()).toEqual({ contentCapture: 'hashes', ...expected.settings });
        expect(
          readdirSync(dataDir).filter((name) => name.includes('coming') && name.endsWith('.json')),
        ).toEqual([]);
        const { applied } = await held.apply(Buffer.from(textOf(after)), operator);
        expect(applied).toBe(bundleVersion === 1);
      });
      const report = await fsck({ dataDir });
      expect(report.problems).toEqual([]);
      rmSync(dataDir, { recursive: true, force: true });
    }
    // first the old one, then the new one, and each of them somewhere
    expect(versions).toEqual(versions.toSorted());
    expect(new Set(versions)).toEqual(new Set([1, 2]));
  });
});

/** Other tests may run beside this one. */
const patient = { timeout: 30_000 };
const copyOf = (dataDir: string): string => join(dataDir, 'config-bundle.json');

describe('a crash', () => {
  let plane: ConfiguredPlane;
  afterEach(() => plane.end());

  const first = bundleOf(1, [policy('a')]);
  const second = bundleOf(2, [policy('b')]);

  it('a crash before the append leaves the old configuration and removes the file of the new one', async () => {
    plane = await startConfigured();
    await plane.apply(textOf(first));
    await plane.close();
    writeFileSync(join(plane.dataDir, 'config-bundle.coming.json'), textOf(second), { mode: 0o600 });
    plane = await plane.again();
    const { body } = await plane.call('GET', '/governance/bundle');
    expect(body).toMatchObject({ bundleVersion: 1, signed: { bundle: first } });
    expect(() => statSync(join(plane.dataDir, 'config-bundle.coming.json'))).toThrow('ENOENT');
    expect((await plane.apply(textOf(second))).body).toMatchObject({ applied: true });
  });

  it('a crash after the append leaves the new configuration, and its file gets its final name', async () => {
    plane = await startConfigured();
    await plane.apply(textOf(first));
    const old = readFileSync(copyOf(plane.dataDir));
    await plane.apply(textOf(second));
    await plane.close();
    renameSync(copyOf(plane.dataDir), join(plane.dataDir, 'config-bundle.coming.json'));
    writeFileSync(copyOf(plane.dataDir), old, { mode: 0o600 });
    plane = await plane.again();
    const { body } = await plane.call('GET', '/governance/bundle');
    expect(body).toMatchObject({ bundleVersion: 2, signed: { bundle: second } });
  });

  it('a file that cannot be written changes nothing before the append, and loses only the copy after it', async () => {
    plane = await startConfigured();
    await plane.apply(textOf(first));
    const coming = join(plane.dataDir, 'config-bundle.coming.json');
    mkdirSync(coming);
    const refused = await plane.apply(textOf(second));
    expect([refused.status, refused.body.code]).toEqual([503, 'STORAGE_FAULT']);
    expect(await plane.inForce()).toEqual(['a 1']);
    rmSync(coming, { recursive: true });
    rmSync(copyOf(plane.dataDir));
    mkdirSync(copyOf(plane.dataDir));
    expect((await plane.apply(textOf(second))).body).toMatchObject({ applied: true });
    expect(await plane.inForce()).toEqual(['b 1']);
    expect((await plane.call('GET', '/governance/bundle')).body).toMatchObject({
      bundleVersion: 2,
      signed: null,
    });
    rmSync(copyOf(plane.dataDir), { recursive: true });
    expect((await plane.apply(textOf(second))).body).toMatchObject({ applied: false });
    expect((await plane.call('GET', '/governance/bundle')).body.signed.bundle).toEqual(second);
  });

  it('a damaged configuration file leaves policies in force, and health reports it until a new copy exists', async () => {
    plane = await startConfigured();
    await plane.apply(textOf(first));
    await plane.close();
    writeFileSync(copyOf(plane.dataDir), '{"bundle":{}');
    plane = await plane.again();
    expect(await plane.inForce()).toEqual(['a 1']);
    const reasons = async (): Promise<string> =>
      JSON.stringify((await plane.call('GET', '/health')).body.reasons);
    await expect.poll(reasons, patient).toContain('config_bundle_copy_damaged');
    expect((await plane.call('GET', '/health/ready')).status).toBe(200);
    expect((await plane.call('GET', '/governance/bundle')).body).toMatchObject({
      bundleVersion: 1,
      signed: null,
    });
    expect((await plane.apply(textOf(first))).body).toMatchObject({ applied: false });
    expect(await reasons()).not.toContain('config_bundle');
    expect((await plane.call('GET', '/governance/bundle')).body.signed.bundle).toEqual(first);
  });
});
