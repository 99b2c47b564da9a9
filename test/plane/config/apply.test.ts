import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { said } from '../../service/support/said.ts';
import { heldConfig } from '../../../plane/config/apply.ts';
import { withHeldConfig } from '../../../plane/config/direct.ts';
import { limits } from '../../../src/contract/limits.ts';
import { planeConfigHash } from '../../../src/core/planes/config.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { event } from '../../support/serving.ts';
import { readPlaneFile } from '../../../src/host/data/config.ts';
import {
  bundleOf,
  configure,
  policy,
  riskConfig,
  startConfigured,
  textOf,
  type ConfiguredPlane,
} from '../support/configured.ts';

let plane: ConfiguredPlane;
afterEach(() => plane.end());

/** Other tests may run beside this one. */
const patient = { timeout: 30_000 };

const copyOf = (dataDir: string): string => join(dataDir, 'config-bundle.json');

describe('a configuration of the service', () => {
  it('a service configuration brings everything that was said of a policy', async () => {
    plane = await startConfigured();
    await plane.apply(textOf(bundleOf(2, [policy('said', { ...said, onIndeterminate: 'escalate' })])));
    expect((await plane.call('GET', '/governance/policies/said')).body).toMatchObject({
      ...said,
      active: { onIndeterminate: 'escalate' },
    });
  });

  it('a service configuration brings policies, risk router, redaction and its own event into force', async () => {
    plane = await startConfigured();
    const policies = [
      policy('no-shell', { version: 7 }),
      policy('no-mail', { action: 'escalate', severity: 'high' }),
    ];
    const bundle = bundleOf(12, policies, { riskConfig, settings: { redactionKeys: ['/metadata/patient'] } });
    const { status, body } = await plane.apply(textOf(bundle));
    expect([status, body]).toEqual([
      200,
      {
        bundleVersion: 12,
        bundleHash: planeConfigHash(bundle),
        applied: true,
        added: 2,
        changed: 0,
        archived: 0,
        unchanged: 0,
        riskConfig: true,
        findings: 0,
      },
    ]);
    expect(await plane.inForce()).toEqual(['no-mail 1', 'no-shell 7']);
    const proof = await plane.call('GET', '/governance/policies/no-shell/in-force');
    expect(proof.body).toMatchObject({
      version: 7,
      policySetHash: bundle.policySetHash,
      policyHash: policies[0]!.policyHash,
    });
    expect((await plane.call('GET', '/risk/config')).body.mode).toBe('strict');
    const recorded = await plane.call('POST', '/events', {
      body: event({ metadata: { patient: 'Ada', amount: 1 } }),
    });
    const { body: read } = await plane.call('GET', `/events/${recorded.body.eventId}`);
    expect(read.metadata).toMatchObject({
      amount: 1,
      patient: { redacted: true },
      'gov.redacted': ['/metadata/patient'],
    });
    const [told] = await plane.told('config.change.applied');
    expect(told).toMatchObject({
      actor: { type: 'api_key' },
      resource: { id: bundle.projectId, type: 'config_bundle' },
      metadata: {
        bundleVersion: 12,
        bundleHash: planeConfigHash(bundle),
        from: 'file',
        mode: 'beside',
        previousHash: null,
      },
    });
    const held = await plane.call('GET', '/governance/bundle');
    expect(held.body).toMatchObject({
      bundleVersion: 12,
      plane: { mode: 'beside', from: 'file', refused: null },
    });
    expect(held.body.signed.bundle).toEqual(bundle);
    expect(statSync(copyOf(plane.dataDir)).mode & 0o777).toBe(0o600);
  });

  it('a new configuration archives removed policies and keeps the version numbers of returning ones', async () => {
    plane = await startConfigured();
    await plane.apply(textOf(bundleOf(1, [policy('a'), policy('b'), policy('c', { version: 3 })])));
    const second = bundleOf(5, [
      policy('b'),
      policy('c', { version: 2, action: 'warn' }),
      policy('d', { version: 4 }),
    ]);
    const { body } = await plane.apply(textOf(second));
    expect(body).toMatchObject({ added: 1, changed: 1, archived: 1, unchanged: 1, riskConfig: false });
    expect(await plane.inForce()).toEqual(['b 1', 'c 2', 'd 4']);
    expect((await plane.call('GET', '/governance/policies/a')).body).toMatchObject({ status: 'archived' });
    const { body: c } = await plane.call('GET', '/governance/policies/c');
    expect(c).toMatchObject({ latestVersion: 3, activeVersion: 2, createdBy: 'gov.bundle' });
    const third = bundleOf(6, [policy('a'), policy('b'), policy('c', { version: 3 })]);
    expect((await plane.apply(textOf(third))).body).toMatchObject({
      added: 0,
      changed: 2,
      archived: 1,
      unchanged: 1,
    });
    expect(await plane.inForce()).toEqual(['a 1', 'b 1', 'c 3']);
    const proof = await plane.call('GET', '/governance/policies/a/in-force');
    expect(proof.body.policySetHash).toBe(third.policySetHash);
    await plane.close();
    const report = await fsck({ dataDir: plane.dataDir, deep: true });
    expect(report.problems).toEqual([]);
  });

  it('a plane asks for its configuration no more often than the limit allows', async () => {
    plane = await startConfigured({ intervalSeconds: limits.configIntervalLeastSeconds });
    configure(plane.dataDir, { intervalSeconds: limits.configIntervalLeastSeconds - 1 });
    expect(() => readPlaneFile(join(plane.dataDir, 'plane.json'))).toThrow('/config/intervalSeconds');
  });

  it('a plane with an age limit refuses evaluations while its configuration is older or missing', async () => {
    plane = await startConfigured({ maxAgeSeconds: limits.configAgeLeastSeconds });
    for (const seconds of [limits.configAgeLeastSeconds - 1, limits.configAgeMostSeconds + 1]) {
      configure(plane.dataDir, { maxAgeSeconds: seconds });
      expect(() => readPlaneFile(join(plane.dataDir, 'plane.json'))).toThrow('/config/maxAgeSeconds');
    }
    const context = { tool: { name: 'shell' } };
    const asked = [
      ['/governance/policy/evaluate', { runId: 'r', policies: [], checkpoint: { context } }],
      ['/mcp/tools/evaluate', { tool: { name: 'shell' }, arguments: {} }],
      ['/risk/evaluate', { runId: 'r' }],
    ] as const;
    const answers = async () =>
      Promise.all(asked.map(async ([path, body]) => (await plane.call('POST', path, { body })).body.code));
    const refused = asked.map(() => 'CONFIG_EXPIRED');
    expect(await answers()).toEqual(refused);
    await plane.apply(textOf(bundleOf(1, [], { issuedAt: '2026-01-01T00:00:00.000Z' })));
    expect(await answers()).toEqual(refused);
    const { body: health } = await plane.call('GET', '/health');
    expect(health.reasons).toContainEqual(
      expect.stringMatching('^config_bundle_expired: evaluations are refused'),
    );
    expect((await plane.call('POST', '/events', { body: event() })).status).toBe(201);
    await plane.apply(textOf(bundleOf(2, [], { issuedAt: new Date().toISOString() })));
    expect(await answers()).toEqual(asked.map(() => undefined));
  });

  it('the age of a configuration counts to the millisecond from its issue or the word of the service', async () => {
    plane = await startConfigured();
    const issuedMs = Date.now();
    await plane.apply(textOf(bundleOf(1, [], { issuedAt: new Date(issuedMs).toISOString() })));
    await plane.close();
    await withHeldConfig({ dataDir: plane.dataDir, env: {} }, async ({ config, services }) => {
      let nowMs = issuedMs - 100_001;
      const aged = heldConfig({ ...config, config: { ...config.config, maxAgeSeconds: 100 } }, () => ({
        ...services,
        now: () => nowMs,
      }));
      await aged.open();
      // issued later than now: a clock was moved, and the age is unknown
      expect(aged.expired).not.toBeNull();
      nowMs += 1;
      expect(aged.expired).toBeNull();
      nowMs = issuedMs + 100_000;
      expect(aged.expired).toBeNull();
      nowMs += 1;
      expect(aged.expired).toContain('got version 1, last known to be the newest at');
      aged.agreed();
      nowMs += 100_000;
      expect(aged.expired).toBeNull();
      nowMs += 1;
      expect(aged.expired).not.toBeNull();
    });
  });

  it('a configuration that is already in force changes nothing and records no event', async () => {
    plane = await startConfigured();
    const text = textOf(bundleOf(1, [policy('a')]));
    await plane.apply(text);
    expect((await plane.apply(text)).body).toMatchObject({ applied: false, unchanged: 1 });
    expect(await plane.told('config.change.applied')).toHaveLength(1);
  });

  it('a configuration applies to evaluations at once, and older ones replay under the older policies', async () => {
    plane = await startConfigured();
    await plane.apply(textOf(bundleOf(1, [policy('shell')])));
    const context = { tool: { name: 'shell' } };
    const decide = (runId: string) =>
      plane.call('POST', '/governance/policy/evaluate', {
        body: { runId, policies: ['shell'], checkpoint: { context } },
      });
    const { body: denied } = await decide('before');
    expect(denied.combined).toBe('deny');
    await plane.call('POST', '/events', {
      body: event({
        runId: 'before',
        eventType: 'tool.denied',
        metadata: { evaluationId: denied.evaluationId },
      }),
    });
    await plane.apply(textOf(bundleOf(2, [policy('shell', { version: 2, action: 'warn' })])));
    expect((await decide('after')).body.combined).toBe('warn');
    const { body: proof } = await plane.call('POST', '/proofs', {
      body: { runId: 'before', composed: { layers: ['event_integrity', 'policy_compliance'] } },
    });
    expect(proof.layers).toMatchObject([{ verified: true }, { verified: true }]);
    const { body: job } = await plane.call('POST', '/replay', { body: { runId: 'before' } });
    const ended = async () => (await plane.call('GET', `/jobs/${job.jobId}`)).body;
    await expect.poll(async () => (await ended()).status, patient).toBe('completed');
    expect((await ended()).result.summary).toMatchObject({ mismatch: 0 });
  });
});

describe('policies of the plane’s own', () => {
  const own = { policyId: 'mine', name: 'Mine', condition: { 'tool.name': 'rm' }, action: 'deny' };
  const createOwn = async (): Promise<void> => {
    expect((await plane.call('POST', '/governance/policies', { body: own })).status).toBe(201);
    expect((await plane.call('POST', '/governance/policies/mine/publish', { body: {} })).status).toBe(200);
  };

  it('own policies stay in force beside those of the service, which the plane cannot change', async () => {
    plane = await startConfigured();
    await createOwn();
    await plane.apply(textOf(bundleOf(1, [policy('a')], { riskConfig })));
    expect(await plane.inForce()).toEqual(['a 1', 'mine 1']);
    for (const [path, body] of [
      ['transition', { targetStatus: 'disabled' }],
      ['versions', { condition: {}, action: 'allow' }],
      ['rollback', { targetVersion: 1 }],
    ] as const) {
      const { status, body: problem } = await plane.call('POST', `/governance/policies/a/${path}`, { body });
      expect([path, status, problem.code]).toEqual(
        path === 'rollback' ? [path, 200, undefined] : [path, 403, 'FORBIDDEN'],
      );
    }
    const { bands: _bands, ...config } = (await plane.call('GET', '/risk/config')).body;
    const put = await plane.call('PUT', '/risk/config', { body: { ...config, mode: 'permissive' } });
    expect([put.status, put.body.code]).toEqual([403, 'FORBIDDEN']);
    const moved = await plane.call('POST', '/governance/policies/mine/transition', {
      body: { targetStatus: 'disabled' },
    });
    expect(moved.status).toBe(200);
  });

  it('own policies are archived when only service policies count, and none comes into force again', async () => {
    plane = await startConfigured({ policies: 'service' });
    await createOwn();
    await plane.apply(textOf(bundleOf(1, [policy('a')])));
    expect(await plane.inForce()).toEqual(['a 1']);
    const again = await plane.call('POST', '/governance/policies/mine/rollback', {
      body: { targetVersion: 1 },
    });
    expect([again.status, again.body.code]).toEqual([403, 'FORBIDDEN']);
  });

  it('own policies leave or return when plane.json chooses another mode, without contact to the service', async () => {
    plane = await startConfigured();
    await createOwn();
    await plane.apply(textOf(bundleOf(1, [policy('a')])));
    plane = await plane.again({ policies: 'service' });
    await expect.poll(() => plane.inForce(), patient).toEqual(['a 1']);
    plane = await plane.again({ policies: 'off' });
    expect((await plane.apply(textOf(bundleOf(2, [])))).body).toMatchObject({ reason: 'switched_off' });
    const freed = await plane.call('POST', '/governance/policies/a/transition', {
      body: { targetStatus: 'disabled' },
    });
    expect(freed.status).toBe(200);
    const modes = (await plane.told('config.change.applied')).map(
      ({ metadata }) => (metadata as { mode: string }).mode,
    );
    expect(modes).toEqual(['beside', 'service']);
  });
});

describe('a configuration that is refused', () => {
  const good = bundleOf(5, [policy('a'), policy('b', { version: 2 })]);

  it('a refused configuration changes nothing, keeps the last good one over a restart, and is one event', async () => {
    plane = await startConfigured();
    const own = { policyId: 'mine', name: 'Mine', condition: {}, action: 'warn' };
    await plane.call('POST', '/governance/policies', { body: own });
    await plane.apply(textOf(good));
    const before = await plane.call('GET', '/governance/bundle');
    const forged = { ...good, bundleVersion: 9 };
    const cases: [string, string, number][] = [
      [textOf(good).replace('"deny"', '"warn"'), 'untrusted', 400],
      [JSON.stringify({ bundle: forged, signature: JSON.parse(textOf(good)).signature }), 'untrusted', 400],
      [textOf(bundleOf(4, [])), 'outdated', 409],
      [textOf(bundleOf(5, [])), 'rewritten', 409],
      [textOf(bundleOf(6, [], { projectId: 'prj_01jzzzzzzzzzzzzzzzzzzzzzz0' })), 'other_project', 409],
      [textOf(bundleOf(6, [policy('mine')])), 'policy_taken', 409],
      [textOf(bundleOf(6, [policy('a', { action: 'allow' })])), 'policy_rewritten', 409],
      [textOf(bundleOf(6, [policy('a', { version: 10_001 })])), 'policy_invalid', 400],
      [textOf(bundleOf(6, [], { engine: 'gov.cond/9' })), 'unsupported', 400],
      ['{"bundle":', 'malformed', 400],
    ];
    for (const [text, reason, status] of [...cases, ...cases]) {
      const { body, status: got } = await plane.apply(text);
      expect([body.reason, got]).toEqual([reason, status]);
    }
    expect(await plane.inForce()).toEqual(['a 1', 'b 2']);
    const told = await plane.told('config.change.refused');
    expect(told.map(({ metadata }) => (metadata as { reason: string }).reason)).toEqual(
      cases.map(([, reason]) => reason),
    );
    expect(await plane.told('config.change.applied')).toHaveLength(1);
    plane = await plane.again();
    expect(await plane.inForce()).toEqual(['a 1', 'b 2']);
    expect((await plane.call('GET', '/governance/bundle')).body).toEqual(before.body);
    // a file that a person was told of is no lasting trouble
    expect((await plane.call('GET', '/health')).body).toMatchObject({ status: 'ok' });
  });

  it('a plane accepts an older configuration when a person requests it', async () => {
    plane = await startConfigured();
    await plane.apply(textOf(good));
    const older = bundleOf(2, [policy('c')]);
    const parts = [textOf(older)];
    const { body } = await plane.call('POST', '/governance/bundle', { body: { parts, older: true } });
    expect(body).toMatchObject({ applied: true, bundleVersion: 2, archived: 2, added: 1 });
    const [, told] = await plane.told('config.change.applied');
    expect(told).toMatchObject({ metadata: { bundleVersion: 2, previousVersion: 5 } });
    const again = await plane.call('POST', '/governance/bundle', { body: { parts, older: true } });
    expect(again.body).toMatchObject({ applied: false });
    const rewritten = [textOf(bundleOf(2, [policy('a', { action: 'warn' })]))];
    const refused = await plane.call('POST', '/governance/bundle', {
      body: { parts: rewritten, older: true },
    });
    expect(refused.body).toMatchObject({ reason: 'policy_rewritten' });
  });

  it('a plane that trusts no service refuses every configuration', async () => {
    plane = await startConfigured();
    await plane.close();
    const path = join(plane.dataDir, 'plane.json');
    const { config: _config, ...file } = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify(file));
    plane = await plane.again();
    rmSync(copyOf(plane.dataDir), { force: true });
    const { body } = await plane.apply(textOf(good));
    expect(body).toMatchObject({ reason: 'untrusted' });
    expect((await plane.call('GET', '/governance/bundle')).status).toBe(404);
  });

  it('a plane refuses a configuration with more policies than fit beside its own', async () => {
    plane = await startConfigured();
    const own = { policyId: 'mine', name: 'Mine', condition: { step: 'x' }, action: 'warn' };
    await plane.call('POST', '/governance/policies', { body: own });
    await plane.call('POST', '/governance/policies/mine/publish', { body: {} });
    const all = Array.from({ length: limits.policiesActive }, (_, at) => policy(`p-${at}`));
    const over = await plane.apply(textOf(bundleOf(1, all)));
    expect([over.status, over.body.reason]).toEqual([409, 'too_many_policies']);
    const { body } = await plane.apply(textOf(bundleOf(2, all.slice(1))));
    expect(body).toMatchObject({ applied: true, added: limits.policiesActive - 1 });
  });

  it('a plane refuses a configuration in parts that are too many, too long or too large together', async () => {
    plane = await startConfigured();
    const post = async (parts: readonly string[]) => {
      const { status, body } = await plane.call('POST', '/governance/bundle', { body: { parts } });
      return [status, body.code, body.reason];
    };
    const part = 'x'.repeat(limits.planeConfigPartChars);
    const torn = [400, 'VALIDATION_ERROR', 'malformed'];
    const invalid = [400, 'VALIDATION_ERROR', undefined];
    expect(await post(Array.from({ length: limits.planeConfigParts }, () => 'x'))).toEqual(torn);
    expect(await post(Array.from({ length: limits.planeConfigParts + 1 }, () => 'x'))).toEqual(invalid);
    expect(await post([part])).toEqual(torn);
    expect(await post([`${part}x`])).toEqual(invalid);
    const most = limits.planeConfigBytes / limits.planeConfigPartChars;
    const over = [400, 'VALIDATION_ERROR', 'over_limit'];
    expect(await post([...Array.from({ length: most }, () => part), 'x'])).toEqual(over);
    const raw = (bytes: number) => JSON.stringify({ parts: ['x'] }).padEnd(bytes);
    for (const [bytes, status] of [
      [limits.planeConfigBodyBytes, 400],
      [limits.planeConfigBodyBytes + 1, 413],
    ] as const) {
      const { status: got } = await plane.call('POST', '/governance/bundle', { raw: raw(bytes) });
      expect(got).toBe(status);
    }
  });
});
