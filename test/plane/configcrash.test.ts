import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withHeldConfig } from '../../plane/configdirect.ts';
import { planeInit } from '../../plane/init.ts';
import { fsck } from '../../src/host/fsck.ts';
import { bundleOf, configure, policy, riskConfig, serviceProject, signer, textOf } from './configured.ts';

const script = fileURLToPath(new URL('configkill.ts', import.meta.url));
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

  it('has the old one or the new one at every step, whole, with its file, and takes the new one then', async () => {
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
        expect(held.settings()).toEqual(expected.settings);
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
