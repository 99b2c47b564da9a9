/** What becomes of a message when the service is away, slow, wrong, or answers and the answer is lost. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { telemetryStatus } from '../../../plane/telemetry/status.ts';
import type { Tenant } from '../../support/hosted.ts';
import { eachWithPlane } from '../support/each.ts';
import { answer, setClock, type TestTelemetryPlane, type Wire } from '../support/enrolled.ts';

const hourMs = 3_600_000;
let wire: Wire;
let ada: Tenant;
let plane: TestTelemetryPlane;
let dataPlaneId = '';

eachWithPlane((world) => ({ ada, wire, plane, dataPlaneId } = world));
beforeEach(() => plane.record(2));

const problem = (status: number, body: Record<string, unknown>, headers = {}) =>
  answer(status, { 'content-type': 'application/problem+json', ...headers }, JSON.stringify(body));
const status = () => telemetryStatus(plane.dataDir);
const atService = async () => (await ada.call('GET', `/telemetry/planes/${dataPlaneId}`)).body;
/** Another report is due. */
const later = () => setClock(Date.now() + hourMs);
/** Without a wait, whatever was asked for. */
const afterWaits = () => setClock(Date.now() + 3_600_001);

describe('a service that is away', () => {
  it.each([
    ['refuses connections', 'refuse', /unreachable: could not reach .*: the connection closed/],
    ['hangs', 'hang', /unreachable: .* did not answer within 0\.3 s/],
    ['answers 503', answer(503), /answered: HTTP status 503/],
    [
      'answers as another program',
      answer(404, {}, '<html>'),
      /answered: HTTP status 404, which is no answer/,
    ],
    [
      'redirects',
      answer(302, { location: 'http://127.0.0.1:1/' }),
      /redirected: to http:\/\/127\.0\.0\.1:1\//,
    ],
    ['answers 202 with something else', answer(202, {}, '{"ok":true}'), /answered: HTTP status 202/],
    [
      'answers for another report',
      answer(202, {}, '{"reportId":"urp_01jq3v5k8hf7wb3c9x2m4n6p8r","cosignature":""}'),
      /answered: HTTP status 202/,
    ],
    ['breaks off', { answer: 'HTTP/1.1 202 OK\r\ncontent-length: 100\r\n\r\n{' }, /unreachable: /],
  ] as const)(
    'a plane keeps its report when the service %s, shows the reason and delivers the report later',
    async (_, weather, reason) => {
      wire.weather = weather;
      if (weather === 'hang') await plane.restart(300);
      await plane.telemetry.look();
      expect(status()).toMatchObject({
        reportsWaiting: 1,
        failingSince: new Date().toISOString(),
        reasons: [expect.stringMatching(/^control_plane_unreachable: since 2026-/)],
      });
      expect(status().reasons[0]).toMatch(reason);
      expect(plane.telemetry.reasons()).toEqual(status().reasons);
      expect(plane.telemetry.metrics()).toContain('gov_telemetry_failing 1');
      await plane.record(1); // goes on
      wire.weather = 'clear';
      if (weather === 'hang') await plane.restart();
      afterWaits();
      await plane.telemetry.look();
      expect(status()).toMatchObject({ reportsWaiting: 0, reasons: [], failingSince: null });
      expect(status().lastContactAt).toBe(new Date().toISOString());
      const units = plane.reports().reduce((sum, { operations }) => sum + operations.audit_event, 0);
      expect([units, (await atService()).missing]).toEqual([3, 0]);
    },
  );

  it('a plane contacts an unreachable service ever less often, but keeps trying', async () => {
    wire.weather = 'refuse';
    const attempts: number[] = [];
    const began = Date.now();
    for (let second = 0; second < 1800; second++) {
      const before = wire.connections;
      await plane.telemetry.look();
      if (wire.connections > before) attempts.push(second);
      setClock(Date.now() + 1000);
    }
    // full jitter: half the bound on average, so about 9 doublings and then one each 2.5 minutes
    expect(attempts.length).toBeGreaterThan(8);
    expect(attempts.length).toBeLessThan(45);
    const gaps = attempts.slice(1).map((at, index) => at - (attempts[index] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(301);
    expect(status().failingSince).toBe(new Date(began).toISOString());
  });

  it('a plane does not contact the service before the time that the service names', async () => {
    wire.weather = answer(503, { 'retry-after': '600' });
    await plane.telemetry.look();
    const asked = wire.connections;
    for (const waited of [1, 300, 298]) {
      setClock(Date.now() + waited * 1000);
      await plane.telemetry.look();
      expect(wire.connections).toBe(asked);
    }
    wire.weather = 'clear';
    setClock(Date.now() + 2000);
    await plane.telemetry.look();
    expect(status().reportsWaiting).toBe(0);
  });

  it('a plane contacts the service again after the clock was set back in between', async () => {
    wire.weather = 'refuse';
    await plane.telemetry.look();
    setClock(Date.now() - 24 * hourMs);
    wire.weather = 'clear';
    await plane.telemetry.look();
    expect(status().reportsWaiting).toBe(0);
    setClock(Date.now() + 24 * hourMs);
  });
});

describe('a service that answers', () => {
  it('a plane does not believe a receipt that the key of the service did not sign', async () => {
    const path = join(plane.dataDir, 'keys/telemetry.json');
    const enrolment = JSON.parse(readFileSync(path, 'utf8'));
    const { verifierKey } = (await import('../../../plane/enrolment/exchange.ts')).planeIdentity(
      plane.dataDir,
    );
    const [name, , key] = verifierKey.split('+');
    expect(key).toBeDefined();
    writeFileSync(path, JSON.stringify({ ...enrolment, cosignerKey: verifierKey, configKey: null }));
    await plane.telemetry.look();
    const kept = plane.read((outbox) => outbox.lastHanded(dataPlaneId));
    expect(kept).toMatchObject({ state: 'accepted', reason: expect.stringMatching(/^receipt_invalid: /) });
    expect(kept?.reason).toContain(name?.slice(0, 20));
  });

  it('a plane sends the same bytes again when an answer is lost, and the challenge is not lost', async () => {
    wire.weather = { loseAfter: 1 }; // what it holds is asked first
    await plane.telemetry.look();
    const first = plane.reports();
    expect(status()).toMatchObject({ reportsWaiting: 1, challengesOpen: 0 });
    wire.weather = 'clear';
    afterWaits();
    await plane.telemetry.look();
    const kept = plane.read((outbox) => outbox.report(dataPlaneId, first[0]?.reportId ?? ''));
    expect(JSON.parse(kept?.body ?? '')).toEqual(first[0]);
    expect(JSON.parse(kept?.receipt ?? '')).toMatchObject({ status: 'duplicate' });
    expect((await atService()).lastReport.sequence).toBe(plane.reports().length);
    const { body } = await ada.call('GET', `/telemetry/planes/${dataPlaneId}/reports`);
    const list = Object.values(body).find(Array.isArray) as { sequence: number; attestation: string }[];
    expect(list.find(({ sequence }) => sequence === 1)?.attestation).toBe('verified');
  });

  it('a plane sends the same attestation again when the answer to it is lost', async () => {
    wire.weather = { loseAfter: 2 };
    await plane.telemetry.look(); // the receipt of the first report comes, with its challenge
    const first = plane.reports()[0]!;
    const challengeOf = () => plane.read((outbox) => outbox.challengesOf(dataPlaneId, first.reportId).at(0));
    const open = challengeOf();
    expect(open).toMatchObject({ state: 'open', answer: expect.any(String) });
    expect((await atService()).lastReport.attestation).toBe('verified');
    wire.weather = 'clear';
    setClock(Date.now() + 300_001);
    await plane.restart();
    await plane.telemetry.look();
    expect(challengeOf()).toMatchObject({ state: 'answered', reason: null, answer: open?.answer });
  });

  it('a finally refused report is shown, and the next report is sent', async () => {
    wire.weather = problem(400, {
      code: 'REPORT_INVALID',
      detail: 'expected more',
      reason: 'totals_sum_mismatch',
    });
    await plane.telemetry.look();
    expect(status()).toMatchObject({
      reportsWaiting: 0,
      reportsRefused: 1,
      reasons: [
        expect.stringMatching(/^reports_refused: 1 .*REPORT_INVALID \(totals_sum_mismatch\): expected more/),
      ],
    });
    wire.weather = 'clear';
    later();
    await plane.telemetry.look();
    expect(status()).toMatchObject({ reportsWaiting: 0, reportsRefused: 1, failingSince: null });
    expect((await atService()).lastReport.sequence).toBe(2);
  });

  it.each([
    [400, 'VALIDATION_ERROR'],
    [402, 'ENTITLEMENT_REQUIRED'],
    [404, 'NOT_FOUND'],
    [413, 'PAYLOAD_TOO_LARGE'],
    [429, 'RATE_LIMITED'],
    [500, 'INTERNAL'],
  ])('%i %s loses nothing: the plane sends the report again', async (code, name) => {
    wire.weather = problem(code, { code: name, detail: 'so it is' });
    await plane.telemetry.look();
    expect(status()).toMatchObject({ reportsWaiting: 1, reportsRefused: 0 });
    expect(status().reasons[0]).toContain(`answered: ${name}: so it is`);
    wire.weather = 'clear';
    afterWaits();
    await plane.telemetry.look();
    expect(status()).toMatchObject({ reportsWaiting: 0, reasons: [] });
  });

  it('a plane reports by how much its clock is off, and delivers the report once the clock is set', async () => {
    const right = Date.now();
    const serverTime = Math.floor(right / 1000);
    setClock(right + 1000_000);
    wire.weather = problem(401, {
      code: 'TIMESTAMP_OUT_OF_RANGE',
      detail: 'late',
      serverTime,
      toleranceSeconds: 300,
    });
    await plane.telemetry.look();
    const there = new Date(serverTime * 1000).toISOString();
    expect(status().reasons[0]).toContain(
      `clock_skew: this clock is 1000 s ahead of the service, where it is ${there}`,
    );
    wire.weather = 'clear';
    afterWaits();
    await plane.telemetry.look();
    expect(status().reasons).toEqual([]);
  });

  it('a plane reports refused credentials separately, and tries again', async () => {
    wire.weather = problem(401, { code: 'INVALID_SIGNATURE', detail: 'expected another' });
    await plane.telemetry.look();
    expect(status().reasons[0]).toMatch(
      /credential_refused: INVALID_SIGNATURE: expected another; rotate with/,
    );
    wire.weather = 'clear';
    afterWaits();
    await plane.telemetry.look();
    expect(status().reasons).toEqual([]);
  });
});
