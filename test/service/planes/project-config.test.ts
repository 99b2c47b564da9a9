import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { said } from '../support/said.ts';
import type { HeldPlaneConfig } from '../../../src/contract/plane-config.ts';
import { build } from '../../../src/client/version.ts';
import { limits } from '../../../src/contract/limits.ts';
import { planeConfigHash } from '../../../src/core/planes/config.ts';
import { openNote, parseVerifierKey } from '../../../src/core/note/signed.ts';
import { policySetHash } from '../../../src/core/policies/language/hash.ts';
import { signedConfigOf } from '../../../src/service/planes/project-config.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { enrolledPlane } from '../../support/telemetry-plane.ts';

describe.each(engines)('the configuration of a project at a service on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('ada');
  });
  afterAll(() => service.end());

  const must = async (method: string, path: string, body?: unknown) => {
    const answer = await tenant.call(method, path, body === undefined ? {} : { body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  const held = async (): Promise<HeldPlaneConfig> => must('GET', '/governance/bundle');
  const publish = async (policyId: string, condition: unknown, action = 'deny') => {
    await must('POST', '/governance/policies', {
      policyId,
      name: policyId,
      description: 'Why',
      condition,
      action,
    });
    await must('POST', `/governance/policies/${policyId}/publish`, {});
  };

  it('the configuration has version 1 in a project without any, and is the same each time', async () => {
    const first = await held();
    expect(first).toMatchObject({ bundleVersion: 1, plane: null });
    expect(first.signed?.bundle).toMatchObject({
      schemaVersion: 'gov.bundle/1',
      policies: [],
      policySetHash: policySetHash([]),
      riskConfig: null,
      settings: { redactionKeys: [] },
      engine: 'gov.cond/1',
      environment: 'production',
    });
    expect(await held()).toEqual(first);
  });

  it('the configuration is signed by the service under the name of its configurations', async () => {
    const { signed, bundleHash: hash, bundleVersion } = await held();
    const { configSigner } = service.services.hosting!;
    const { text, verified } = openNote(signed!.signature, [parseVerifierKey(configSigner.verifierKey)]);
    expect(verified[0]?.name).toMatch(/\/config$/);
    expect(text).toBe(`gov.bundle/v1\n${signed!.bundle.projectId}\n${bundleVersion}\n${hash}\n`);
    expect(planeConfigHash(signed!.bundle)).toBe(hash);
  });

  it('the configuration has a greater version after each change of policies, risk router and settings, with the change', async () => {
    const versions = [(await held()).bundleVersion];
    const next = async (): Promise<HeldPlaneConfig> => {
      const now = await held();
      expect(now.bundleVersion).toBeGreaterThan(versions.at(-1) ?? Infinity);
      versions.push(now.bundleVersion);
      return now;
    };
    await publish('no-shell', { 'tool.name': 'shell' });
    expect((await next()).signed?.bundle.policies).toMatchObject([
      {
        policyId: 'no-shell',
        version: 1,
        name: 'no-shell',
        description: 'Why',
        action: 'deny',
        severity: null,
      },
    ]);
    await publish('a-rule', { amount: { '>': 10 } }, 'escalate');
    const both = await next();
    expect(both.signed?.bundle.policies.map(({ policyId }) => policyId)).toEqual(['a-rule', 'no-shell']);
    const inForce = await must('GET', '/governance/policies/a-rule/in-force');
    expect(both.signed?.bundle.policySetHash).toBe(inForce.policySetHash);
    await must('POST', '/governance/policies/no-shell/transition', { targetStatus: 'disabled' });
    expect((await next()).signed?.bundle.policies.map(({ policyId }) => policyId)).toEqual(['a-rule']);
    const { bands: _bands, ...risk } = await must('GET', '/risk/config');
    await must('PUT', '/risk/config', { ...risk, mode: 'strict' });
    expect((await next()).signed?.bundle.riskConfig).toMatchObject({
      algorithm: 'gov.risk/1',
      config: { mode: 'strict' },
    });
    const { projectId } = await must('GET', '/auth/identity');
    await must('PUT', `/projects/${projectId}`, { settings: { redactionKeys: ['/metadata/card'] } });
    expect((await next()).signed?.bundle.settings).toEqual({ redactionKeys: ['/metadata/card'] });
    // a document has it only if the project sets it, so that older planes can read the others
    await must('PUT', `/projects/${projectId}`, { settings: { contentCapture: 'none' } });
    const last = await next();
    expect(last.signed?.bundle.settings).toEqual({
      redactionKeys: ['/metadata/card'],
      contentCapture: 'none',
    });
    await must('POST', '/events', {
      runId: 'r',
      eventType: 'x',
      actor: 'a',
      resource: 'b',
      action: 'c',
      timestamp: '2026-03-01T09:30:00Z',
    });
    expect(await held()).toEqual(last);
  });

  it('a policy of which only a name was said has no member that the first planes do not know', async () => {
    const named = { policyId: 'plain', name: 'Plain' };
    await must('POST', '/governance/policies', { ...named, condition: { n: 2 }, action: 'warn' });
    await must('POST', '/governance/policies/plain/publish', {});
    const { policies = [] } = (await held()).signed?.bundle ?? {};
    const plain = policies.find(({ policyId }) => policyId === 'plain');
    expect(Object.keys(plain ?? {}).join(' ')).toBe(
      'policyId version name description condition action severity policyHash',
    );
  });

  it('the configuration has everything that was said of a policy', async () => {
    const named = { policyId: 'said', ...said };
    const version = { action: 'warn', onIndeterminate: 'escalate' };
    await must('POST', '/governance/policies', { ...named, condition: { n: 1 }, ...version });
    await must('POST', '/governance/policies/said/publish', {});
    const { policies = [] } = (await held()).signed?.bundle ?? {};
    expect(policies.find(({ policyId }) => policyId === 'said')).toMatchObject({ ...said, ...version });
  });

  it('the configuration is of one moment: a version never has two contents, however often it is requested', async () => {
    const seen = new Map<number, string>();
    const state = { busy: true };
    const asking = Array.from({ length: 3 }, async () => {
      while (state.busy) {
        const answer = await tenant.call('GET', '/governance/bundle');
        if (answer.status !== 200) {
          expect(answer.body.code).toBe('OVERLOADED');
          continue;
        }
        const { bundleVersion, bundleHash: hash } = answer.body as HeldPlaneConfig;
        expect(seen.get(bundleVersion) ?? hash).toBe(hash);
        seen.set(bundleVersion, hash);
      }
    });
    const { projectId } = await must('GET', '/auth/identity');
    for (let at = 0; at < 6; at++) {
      await publish(`busy-${at}`, { step: `s${at}` });
      await must('PUT', `/projects/${projectId}`, { settings: { redactionKeys: [`/metadata/k${at}`] } });
    }
    state.busy = false;
    await Promise.all(asking);
    expect(seen.size).toBeGreaterThan(1);
  });

  it('the configuration belongs to its project: another project has another', async () => {
    const other = await service.signUp(`other-${engine}`);
    const { body } = await other.call('GET', '/governance/bundle');
    expect(body.bundleVersion).toBe(1);
    expect(body.signed.bundle.projectId).not.toBe((await held()).signed?.bundle.projectId);
  });

  it('the service gives the configuration to planes of any release, and says how well it supports them', async () => {
    const { projectId } = await must('GET', '/auth/identity');
    const sender = await enrolledPlane(tenant.call, { name: `releases-${engine}`, projectId });
    const { key } = sender.credentials;
    const releases = [
      [build, 'supported'],
      ['99.0.0', 'newer'],
      ['one', 'unknown'],
    ] as const;
    for (const [planeVersion, word] of releases) {
      const runtime = { planeVersion, nodeVersion: 'v24.0.0' };
      const reported = await sender.send(sender.plane.work(3).report({ runtime }));
      expect(reported.status, reported.text).toBe(202);
      expect(reported.headers['gov-plane-support']).toBe(word === 'supported' ? undefined : word);
      const asked = `/telemetry/config?planeVersion=${encodeURIComponent(planeVersion)}`;
      const { status, body } = await service.call('GET', asked, {
        key,
      });
      expect([status, body.planeSupport, body.signed === null]).toEqual([200, word, false]);
    }
  });

  it('only planes accept a configuration, and no service', async () => {
    const { status, body } = await tenant.call('POST', '/governance/bundle', { body: { parts: ['{}'] } });
    expect([status, body.code]).toEqual([403, 'FORBIDDEN']);
  });

  it('policies that are too large for a configuration get 409', async () => {
    const { body: made } = await tenant.call('POST', '/api-keys', {
      body: { name: 'k', scopes: ['telemetry:manage'] },
    });
    expect(made.key ?? made.token).toBeTruthy();
    const wide = (at: number) => ({
      in: [{ var: 'context.a' }, Array.from({ length: 1000 }, (_, n) => `${at}-${n}-${'x'.repeat(50)}`)],
    });
    const rows = Math.ceil(limits.planeConfigBytes / Buffer.byteLength(JSON.stringify(wide(100))));
    for (let at = 0; at < rows; at++) await publish(`wide-${at}`, wide(100 + at));
    const { status, body } = await tenant.call('GET', '/governance/bundle');
    expect([status, body.code]).toEqual([409, 'CONFLICT']);
    await must('POST', '/governance/policies/wide-0/transition', { targetStatus: 'disabled' });
    await must('POST', '/governance/policies/wide-1/transition', { targetStatus: 'disabled' });
    expect((await tenant.call('GET', '/governance/bundle')).status).toBe(200);
  });

  it('every process makes the same plane configuration', async () => {
    if (engine !== 'postgres') return;
    const again = await service.again();
    const project = await again.services.store.project((await held()).signed!.bundle.projectId);
    const { bundleHash: hash } = await signedConfigOf(again.services, project!);
    expect(hash).toBe((await held()).bundleHash);
  });
});
