/** `gov export …` against the real service: what it asks for, brings, and lets anybody verify. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportResources } from '../../../src/contract/exports.ts';
import { startCuttingProxy } from '../../client/exportserver.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { fillProject } from '../../service/support/filled.ts';
import { event } from '../../support/serving.ts';
import { emptyDirectory, gov, govHere, shell, type Result } from '../support/tool.ts';

describe.each(engines)('exports of a service on %s', (engine) => {
  const folder = emptyDirectory();
  let service: TestService;
  let tenant: Tenant;
  let env: Record<string, string>;
  let trusted: readonly string[];

  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('ada');
    await fillProject(tenant.call, { name: 'acme' });
    env = { GOV_BASE_URL: service.baseUrl, GOV_API_KEY: tenant.keys.production };
    const { text } = await tenant.call('GET', '/log/key');
    const keys = text.trim().split('\n');
    trusted = keys.flatMap((key) => ['--key', key]);
  }, 120_000);
  afterAll(() => service.end());

  const tool = (argv: readonly string[]): Promise<Result> =>
    govHere(argv, { env, cwd: folder, now: Date.now() });
  const at = (name: string): string => join(folder, name);
  const json = async (argv: readonly string[]) => {
    const result = await tool([...argv, '-o', 'json']);
    expect(result, argv.join(' ')).toMatchObject({ code: 0 });
    return JSON.parse(result.stdout);
  };

  const logged = exportResources.filter((resource) => resource !== 'jobs');
  it.each(logged)('%s: one command creates, downloads and verifies the export', async (resource) => {
    const file = at(`${resource}.json`);
    const argv = ['export', 'run', '--resource', resource, '--proof', '-O', file, '--verify', ...trusted];
    const verdict = await json(argv);
    expect(verdict).toMatchObject({ verified: true, resource, code: null });
    expect(verdict.manifest.rowCount).toBeGreaterThan(0);
    const { data, manifest } = JSON.parse(readFileSync(file, 'utf8'));
    expect(data).toHaveLength(manifest.rowCount);
  });

  it('jobs, and every resource as CSV, are exported without proof', async () => {
    for (const resource of exportResources) {
      const format = resource === 'causal_graphs' ? 'json' : 'csv';
      const told = await json([
        'export',
        'run',
        '--resource',
        resource,
        '--format',
        format,
        '-O',
        at(resource),
      ]);
      expect(told.rowCount).toBeGreaterThan(0);
      expect(Object.keys(told)).toEqual(['exportId', 'file', 'rowCount', 'sizeBytes', 'sha256']);
    }
    await json(['export', 'run', '--resource', 'jobs', '-O', at('jobs.json')]);
  });

  it('gov export delete ends an export before its time, after a confirmation', async () => {
    const { exportId } = await json(['export', 'create', '--resource', 'jobs', '--wait']);
    const unsure = await tool(['export', 'delete', exportId]);
    expect(unsure).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
    const { code, stderr } = await tool(['export', 'delete', exportId, '--yes']);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`deleted ${exportId}`)]);
    expect(await json(['export', 'get', exportId])).toMatchObject({ status: 'expired' });
    expect((await tool(['export', 'download', exportId, '-O', at('gone.json')])).code).toBe(6);
    expect((await tool(['export', 'delete', 'exp_01kfn3v5k8hf7wb3c9x2m4n6p8', '--yes'])).code).toBe(5);
  });

  it('an export of events with erased fields is verified by the enclosed erasures', async () => {
    const verdict = await json(['proofs', 'verify', at('audit_events.json'), ...trusted]);
    expect(verdict.digests.erased).toBeGreaterThan(0);
  });

  it('an export is verified from a pipe on a machine without configuration', async () => {
    const input = readFileSync(at('audit_events.json'));
    const env2 = { GOV_CONFIG_DIR: emptyDirectory(), HOME: emptyDirectory() };
    const verified = await gov(['proofs', 'verify', '-', ...trusted], { input, env: env2 });
    expect(verified).toMatchObject({ code: 0, stderr: '' });
    const alone = await gov(['proofs', 'verify', '-'], { input, env: env2 });
    expect(alone).toMatchObject({ code: 2, stderr: expect.stringContaining('--key VKEY or --trust FILE') });
  });

  it('the verification of an export finds a changed row and a removed row', async () => {
    const lines = readFileSync(at('audit_events.json'), 'utf8').split('\n');
    writeFileSync(at('changed.json'), lines.join('\n').replace('"billing-agent"', '"building-agent"'));
    writeFileSync(at('shorter.json'), lines.toSpliced(2, 1).join('\n'));
    for (const name of ['changed.json', 'shorter.json']) {
      expect((await tool(['proofs', 'verify', at(name), ...trusted])).code).toBe(3);
    }
  });

  it('export filters leave out rows that were not requested', async () => {
    const argv = ['export', 'run', '--resource', 'audit_events', '--run', 'acme-sealed', '--proof', '-O'];
    await json([...argv, at('run.json'), '--verify', ...trusted]);
    const { data, filters } = JSON.parse(readFileSync(at('run.json'), 'utf8'));
    expect(filters).toEqual({ runId: 'acme-sealed' });
    expect(data.map(({ runId }: { runId: string }) => runId)).toEqual(['acme-sealed']);
  });

  it('an export is created, listed, shown and downloaded by separate commands', async () => {
    const created = await json(['export', 'create', '--resource', 'replays', '--wait']);
    expect(created).toMatchObject({ status: 'completed', resource: 'replays', sha256: expect.any(String) });
    const { exportId, sha256, sizeBytes } = created;
    const listed = await json(['export', 'list', '--resource', 'replays']);
    expect(listed.data[0]).toEqual(created);
    expect(await json(['exports', 'get', exportId])).toEqual(created);
    const told = await json(['export', 'download', exportId, '-O', at('replays.again.json')]);
    expect(told).toMatchObject({ exportId, sha256, sizeBytes });
    const at5 = await tool([
      'export',
      'download',
      exportId.replace(/.$/, exportId.endsWith('a') ? 'b' : 'a'),
    ]);
    expect(at5.code).toBe(5);
  });

  it('an export that the service refuses exits with 2', async () => {
    const csv = await tool(['export', 'create', '--resource', 'audit_events', '--format', 'csv', '--proof']);
    expect(csv.code).toBe(2);
    const graphs = await tool(['export', 'create', '--resource', 'causal_graphs', '--format', 'csv']);
    expect(graphs.code).toBe(2);
  });

  it('an export download continues after ten cut connections', { timeout: 60_000 }, async () => {
    const events = Array.from({ length: 300 }, (_, n) =>
      event({ runId: 'long', metadata: { text: 'x'.repeat(3000), n } }),
    );
    await tenant.call('POST', '/events/batch', { body: { events } });
    const created = await json([
      'export',
      'create',
      '--resource',
      'audit_events',
      '--run',
      'long',
      '--proof',
      '--wait',
    ]);
    const proxy = await startCuttingProxy(service.port, {
      after: Math.floor(created.sizeBytes / 12),
      times: 10,
    });
    const baseUrl = `${proxy.baseUrl.replace(/\/api\/v1$/, '')}${new URL(service.baseUrl).pathname}`;
    const argv = ['export', 'download', created.exportId, '-O', at('long.json'), '--verify', ...trusted];
    const { code } = await govHere(argv, { env: { ...env, GOV_BASE_URL: baseUrl }, now: Date.now() });
    await proxy.close();
    expect([code, proxy.cuts]).toEqual([0, 10]);
  });

  it('gov export run writes rows through a pipe', async () => {
    const line =
      'gov export run --resource audit_events --run long --ndjson -O - -q | head -n 2 | wc -l; echo ${PIPESTATUS[0]}';
    expect(await shell(line, { env })).toMatchObject({
      stdout: expect.stringMatching(/^\s*2\n0\n$/),
      stderr: '',
    });
  });
});
