import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { withHeldConfig } from '../../../plane/config/direct.ts';
import { ConfigSync } from '../../../plane/config/sync.ts';
import { enrolPlane } from '../../../plane/enrolment/exchange.ts';
import { enrolmentFiles, writeTelemetrySettings } from '../../../plane/service/enrolment.ts';
import { planeInit } from '../../../plane/data/init.ts';
import type { HeldPlaneConfig, TelemetryConfig } from '../../../src/contract/plane-config.ts';
import { build } from '../../../src/client/version.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { serve } from '../support/configured.ts';
import { answer, register, startWire, type Weather, type Wire } from '../support/enrolled.ts';

interface At {
  readonly dataDir: string;
  readonly sync: ConfigSync;
  once(): Promise<void>;
  version(): number | null;
  inForce(): Promise<string[]>;
  told(eventType: string): Promise<number>;
}

describe.each(engines)('a plane that asks a service on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let wire: Wire;
  let folder: string;
  let dataDir: string;
  let nowMs = 0;
  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('ada');
    await publish('no-shell', 'deny');
  });
  afterAll(() => service.end());
  beforeEach(async () => {
    wire = await startWire(service);
    folder = mkdtempSync(join(tmpdir(), 'gov-sync-'));
    dataDir = join(folder, 'plane');
    nowMs = Date.now();
    await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
    const { token } = await register(tenant, 'plane');
    await enrolPlane({ dataDir, token, service: wire.origin, env: {}, now: Date.now });
  });
  afterEach(async () => {
    await wire.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function publish(policyId: string, action: string): Promise<void> {
    const condition = { 'tool.name': policyId };
    const made = await tenant.call('POST', '/governance/policies', {
      body: { policyId, name: policyId, condition, action },
    });
    if (made.status !== 201) {
      await tenant.call('POST', `/governance/policies/${policyId}/versions`, { body: { condition, action } });
    }
    const { status, text } = await tenant.call('POST', `/governance/policies/${policyId}/publish`, {
      body: {},
    });
    if (status !== 200) throw new Error(text);
  }
  /** From the next question on; a plane that was enrolled anew opens a connection of its own. */
  let changes = 0;
  const weather = (next: Weather): void => {
    wire.weather = next;
    utimesSync(enrolmentFiles(dataDir).enrolment, ++changes, changes);
  };
  const atService = async (): Promise<HeldPlaneConfig> =>
    (await tenant.call('GET', '/governance/bundle')).body;

  /** A plane that does not serve, with its asking driven by hand. */
  const using = (use: (at: At) => Promise<void>): Promise<void> =>
    withHeldConfig({ dataDir, env: {} }, async ({ held, services, config }) => {
      const now = (): number => nowMs;
      const sync = new ConfigSync({ dataDir, held, sync: config.config ?? {}, env: {}, now, log: silentLog });
      const { store } = services;
      await use({
        dataDir,
        sync,
        once: () => sync.once(),
        version: () => held.applied?.bundleVersion ?? null,
        inForce: async () => {
          const { policies } = await store.policiesInForce(config.projectId);
          return policies.map(({ policyId, version: at, action }) => `${policyId} ${at} ${action}`);
        },
        told: (eventType) => store.countEvents(config.projectId, { runId: 'gov.system', eventType }),
      });
      await sync.stop();
    });

  it('a plane takes each change of its configuration once, exactly as the service gives it', async () => {
    await using(async (at) => {
      await at.once();
      const first = await atService();
      expect(at.version()).toBe(first.bundleVersion);
      await at.once();
      expect(await at.told('config.change.applied')).toBe(1);
      await publish('no-mail', 'escalate');
      await publish('no-shell', 'warn');
      await at.once();
      const { signed, bundleVersion } = await atService();
      expect(at.version()).toBe(bundleVersion);
      expect(await at.inForce()).toEqual(
        signed?.bundle.policies.map((p) => `${p.policyId} ${p.version} ${p.action}`),
      );
      expect(await at.told('config.change.applied')).toBe(2);
      expect(at.sync.reasons()).toEqual([]);
      expect(at.sync.metrics()).toContain(`gov_config_bundle_version ${bundleVersion}`);
    });
    await using(async (at) => {
      expect(at.version()).toBe((await atService()).bundleVersion);
      await at.once();
      expect(await at.told('config.change.applied')).toBe(2);
    });
  });

  it('a plane keeps its configuration when the service is away or broken, and reports since when', async () => {
    await using(async (at) => {
      await at.once();
      const held = at.version();
      const since = new Date(nowMs + 1000).toISOString();
      nowMs += 1000;
      const weathers = [
        'refuse',
        answer(503, { 'content-type': 'application/problem+json' }, '{"code":"OVERLOADED","detail":"busy"}'),
        answer(200, {}, '{}'),
        answer(200, {}, '{"signed":'),
        answer(404),
        answer(200, {}, '<html>'),
      ] as const;
      for (const each of weathers) {
        weather(each);
        // as the loop does
        await at.sync.attempt();
        nowMs += 60_000;
        expect(at.sync.reasons()).toEqual([
          expect.stringMatching(`^config_bundle_not_fetched: since ${since}`),
        ]);
      }
      expect(at.version()).toBe(held);
      weather('clear');
      await at.sync.attempt();
      expect(at.sync.reasons()).toEqual([]);
    });
  });

  it('a plane refuses a configuration that is older or signed by another service, and reports it', async () => {
    await using(async (at) => {
      await at.once();
      const good = await atService();
      const config: TelemetryConfig = {
        bundleVersion: good.bundleVersion,
        bundleHash: good.bundleHash,
        signed: good.signed,
        serviceVersion: build,
        planeSupport: 'supported',
        oldestPlane: '0.0.0',
        serverTime: new Date(nowMs).toISOString(),
      };
      const give = (members: object) =>
        answer(200, { 'content-type': 'application/json' }, JSON.stringify({ ...config, ...members }));
      const forged = {
        ...good.signed,
        bundle: { ...good.signed?.bundle, policies: [], bundleVersion: 1_000_000 },
      };
      weather(give({ signed: forged }));
      await at.sync.attempt();
      const told = at.sync.reasons();
      expect(told).toEqual([
        expect.stringMatching(
          `^config_bundle_refused: untrusted since 2.*Z; version ${good.bundleVersion} stays in force: expected`,
        ),
      ]);
      await at.sync.attempt();
      expect(at.sync.reasons()).toEqual(told);
      expect(await at.told('config.change.refused')).toBe(1);
      await publish('newer', 'deny');
      weather('clear');
      await at.sync.attempt();
      expect(at.sync.reasons()).toEqual([]);
      const newer = at.version();
      weather(give({}));
      await at.sync.attempt();
      expect(at.sync.reasons()).toEqual([expect.stringMatching('^config_bundle_refused: outdated')]);
      expect(at.version()).toBe(newer);
      expect(await at.told('config.change.refused')).toBe(2);
      weather(give({ signed: null, serviceVersion: '9.0.0' }));
      await at.sync.attempt();
      expect(at.sync.reasons().join()).toContain('expected a service of the major version of this plane');
      weather(give({ signed: null, planeSupport: 'old', oldestPlane: '0.3.0' }));
      await at.sync.attempt();
      expect(at.sync.reasons()).toEqual([
        `plane_version_old: this plane is ${build}, and the service is made for planes from 0.3.0 on`,
      ]);
    });
  });

  it('a plane fetches no configuration in manual mode, nor after fetching is switched off', async () => {
    await using(async (at) => {
      writeTelemetrySettings(dataDir, { mode: 'manual-file' });
      const before = wire.connections;
      await at.once();
      expect([at.version(), wire.connections]).toEqual([null, before]);
      writeTelemetrySettings(dataDir, { mode: 'auto' });
      await at.once();
      expect(at.version()).not.toBeNull();
    });
    const path = join(dataDir, 'plane.json');
    writeFileSync(
      path,
      JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), config: { policies: 'off' } }),
    );
    await using(async (at) => {
      const before = wire.connections;
      await at.once();
      expect(wire.connections).toBe(before);
    });
  });

  it('a plane fetches the whole configuration again when its copy was lost', async () => {
    await using(async (at) => {
      await at.once();
      rmSync(join(dataDir, 'config-bundle.json'));
      await at.once();
      expect(at.sync.reasons()).toEqual([]);
      expect(JSON.parse(readFileSync(join(dataDir, 'config-bundle.json'), 'utf8')).bundle.bundleVersion).toBe(
        at.version(),
      );
      expect(await at.told('config.change.applied')).toBe(1);
    });
  });

  it('a serving plane fetches its configuration by itself, and another plane takes the file', async () => {
    const plane = await serve(dataDir);
    try {
      const held = async () => (await plane.call('GET', '/governance/bundle')).body;
      await expect
        .poll(async () => (await held()).bundleVersion, { timeout: 30_000 })
        .toBe((await atService()).bundleVersion);
      expect(await held()).toMatchObject({ plane: { from: 'service', mode: 'beside' } });
      expect((await plane.call('GET', '/health')).body.status).toBe('ok');
    } finally {
      await plane.close();
    }
  });

  it('a serving plane takes a configuration within seconds of its enrolment', async () => {
    const fresh = join(folder, 'fresh');
    await planeInit({ dataDir: fresh, listen: '127.0.0.1:0', metricsListen: 'off' });
    const plane = await serve(fresh);
    try {
      expect((await plane.call('GET', '/governance/bundle')).status).toBe(404);
      const { token } = await register(tenant, 'fresh');
      await enrolPlane({ dataDir: fresh, token, service: wire.origin, env: {}, now: Date.now });
      const status = async () => (await plane.call('GET', '/governance/bundle')).status;
      await expect.poll(status, { timeout: 30_000 }).toBe(200);
    } finally {
      await plane.close();
    }
  });

  it('a service answers for the version that a plane states, and only to the key of that plane', async () => {
    const { current } = JSON.parse(readFileSync(enrolmentFiles(dataDir).enrolment, 'utf8'));
    const ask = (query: string, key: string | null = current.key) =>
      service.call('GET', `/telemetry/config${query}`, { key });
    const { bundleHash } = await atService();
    const known = await ask(`?current=${bundleHash}&planeVersion=${encodeURIComponent(build)}`);
    expect(known.body).toMatchObject({ signed: null, planeSupport: 'supported', serviceVersion: build });
    expect((await ask(`?current=sha256:${'0'.repeat(64)}`)).body).toMatchObject({
      bundleHash,
      planeSupport: 'unknown',
    });
    expect((await ask('?planeVersion=99.0.0')).body).toMatchObject({ planeSupport: 'newer' });
    expect((await ask('?current=x')).status).toBe(400);
    expect((await ask('', null)).status).toBe(401);
    expect((await ask('', tenant.keys.production)).status).toBe(401);
  });
});
