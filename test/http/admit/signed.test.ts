/**
 * Signatures of data planes (contract B10-B12, S11): what is signed is the body as RFC 8785 writes it, so
 * every spelling of it verifies, and no other body does; the time is within 300 s, to the second.
 */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseSigningSecret } from '../../../src/core/planes/signature.ts';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';
import {
  canonical,
  enrolledPlane,
  seconds,
  signatureOf,
  type Sender,
} from '../../support/telemetry-plane.ts';
import { told, until } from '../../service/support/tenants.ts';

let service: TestService;
let tenant: Tenant;
let sender: Sender;
beforeAll(async () => {
  service = await startService();
  tenant = await service.signUp('tenant');
  const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
  sender = await enrolledPlane(tenant.call, { name: 'ward', projectId });
});
afterAll(() => service.end());

const nextReport = () => sender.plane.work(2).report();
const said = async (answer: ReturnType<Sender['send']>): Promise<unknown[]> => {
  const { status, body } = await answer;
  return [status, body.code ?? body.status];
};
/** Posts with these headers and nothing added. */
const post = (report: unknown, headers: Record<string, string>) =>
  tenant.call('POST', '/telemetry/usage', { raw: canonical(report), key: sender.credentials.key, headers });
const signatureHeader = 'x-telemetry-signature';
const timestampHeader = 'x-telemetry-timestamp';

describe('a signed body', () => {
  it('a signed body verifies in every spelling, and is stored in one', async () => {
    const report = nextReport();
    const turned = Object.fromEntries(Object.entries(report).toReversed());
    const escaped = JSON.stringify(report).replaceAll('g', '\\u0067');
    const spellings = [
      JSON.stringify(turned),
      JSON.stringify(report, null, 2),
      ` ${escaped}\n`,
      canonical(report).replace(/"treeSize":(\d+)/g, '"treeSize":$1.0e0'),
    ];
    for (const [at, raw] of spellings.entries()) {
      expect(await said(sender.send(report, { raw }))).toEqual([202, at === 0 ? 'accepted' : 'duplicate']);
    }
  });

  it('a signature covers the RFC 8785 form of a body, and no other text of it', async () => {
    const report = nextReport();
    const spelled = JSON.stringify(report, null, 1);
    const timestamp = seconds();
    const { signingSecret } = sender.credentials;
    const over = (text: string) => ({
      raw: spelled,
      key: sender.credentials.key,
      headers: signatureOf(signingSecret, text, timestamp),
    });
    const wrong = tenant.call('POST', '/telemetry/usage', over(spelled));
    expect(await said(wrong)).toEqual([401, 'INVALID_SIGNATURE']);
    const own = createHmac('sha256', parseSigningSecret(signingSecret))
      .update(`${timestamp}.${canonical(report)}`)
      .digest('hex');
    const headers = { [signatureHeader]: own, [timestampHeader]: timestamp };
    expect(await said(post(report, headers))).toEqual([202, 'accepted']);
  });

  it('a signed body is rejected with one byte changed, by another secret, and for another time', async () => {
    const report = nextReport();
    const changed = { ...report, sentAt: '2026-01-01T00:00:00Z' };
    expect(await said(sender.send(report, { raw: canonical(changed) }))).toEqual([401, 'INVALID_SIGNATURE']);
    const secret = `whsec_${Buffer.alloc(32).toString('base64')}`;
    expect(await said(sender.send(report, { secret }))).toEqual([401, 'INVALID_SIGNATURE']);
    const later = { [timestampHeader]: seconds(Date.now() + 5000) };
    expect(await said(sender.send(report, { headers: later }))).toEqual([401, 'INVALID_SIGNATURE']);
    expect(await said(sender.send(report))).toEqual([202, 'accepted']);
  });

  it('a signed body is rejected before its schema is checked, and strictly parsed before that', async () => {
    const secret = `whsec_${Buffer.alloc(32).toString('base64')}`;
    expect(await said(sender.send({ no: 'report' }, { secret }))).toEqual([401, 'INVALID_SIGNATURE']);
    expect(await said(sender.send({ no: 'report' }))).toEqual([400, 'VALIDATION_ERROR']);
    const twice = sender.send({ a: 1 }, { raw: '{"a":1,"a":1}' });
    expect(await said(twice)).toEqual([400, 'INVALID_JSON']);
  });

  it('a signed body may have up to three signatures, of which one is right', async () => {
    const report = nextReport();
    const timestamp = seconds();
    const right = signatureOf(sender.credentials.signingSecret, canonical(report), timestamp)[
      signatureHeader
    ];
    const wrong = '0'.repeat(64);
    const send = (value: string) =>
      said(post(report, { [signatureHeader]: value, [timestampHeader]: timestamp }));
    expect(await send(`${wrong},${wrong},${wrong},${right}`)).toEqual([401, 'INVALID_SIGNATURE']);
    expect(await send(`v1=${wrong}, v1=${wrong}`)).toEqual([401, 'INVALID_SIGNATURE']);
    expect(await send(`${wrong} v1=${right}`)).toEqual([202, 'accepted']);
    expect(await send(`v1=${wrong}, ${wrong}, v1=${right}`)).toEqual([202, 'duplicate']);
    expect(await send(`v1=${right}`)).toEqual([202, 'duplicate']);
  });

  it('a signed body needs both headers in their forms', async () => {
    const report = nextReport();
    const timestamp = seconds();
    const good = signatureOf(sender.credentials.signingSecret, canonical(report), timestamp);
    const hex = good[signatureHeader] ?? '';
    const bad: [name: string, headers: Record<string, string>][] = [
      [signatureHeader, { [timestampHeader]: timestamp }],
      [timestampHeader, { [signatureHeader]: hex }],
      ...['', hex.toUpperCase(), hex.slice(1), `${hex}0`, `v2=${hex}`, `t=1,v1=${hex}`, 'x'].map(
        (value): [string, Record<string, string>] => [signatureHeader, { ...good, [signatureHeader]: value }],
      ),
      ...['', '1', `${timestamp}000`, `0x${timestamp.slice(2)}`, `+${timestamp.slice(1)}`, ` `].map(
        (value): [string, Record<string, string>] => [timestampHeader, { ...good, [timestampHeader]: value }],
      ),
    ];
    for (const [name, headers] of bad) {
      const { status, body } = await post(report, headers);
      expect([status, body.code, body.detail]).toEqual([
        401,
        'INVALID_SIGNATURE',
        expect.stringMatching(new RegExp(`^${name}: expected `)),
      ]);
    }
    expect(await said(post(report, good))).toEqual([202, 'accepted']);
  });

  it('a signed body is at most 300 s old or ahead', async () => {
    const { now } = service.services;
    const ms = Math.floor(Date.now() / 1000) * 1000 + 500;
    const at = Math.floor(ms / 1000);
    Object.assign(service.services, { now: () => ms });
    try {
      const report = nextReport();
      for (const skew of [-301, 301, -86_400, 31_536_000]) {
        const { status, body } = await sender.send(report, { timestamp: String(at + skew) });
        expect([status, body.code]).toEqual([401, 'TIMESTAMP_OUT_OF_RANGE']);
        expect([body.serverTime, body.toleranceSeconds]).toEqual([at, 300]);
      }
      expect(await said(sender.send(report, { timestamp: String(at - 300) }))).toEqual([202, 'accepted']);
      expect(await said(sender.send(report, { timestamp: String(at + 300) }))).toEqual([202, 'duplicate']);
    } finally {
      Object.assign(service.services, { now });
    }
  });

  it('a rejected signature is recorded in the log of the project, with its plane', async () => {
    const { dataPlaneId } = sender.plane.home;
    const events = await until(
      () => told(tenant.call, 'authentication.failed'),
      (found) => found.some(({ actor }) => actor.id === dataPlaneId),
    );
    expect(events.at(-1)).toMatchObject({
      actor: { id: dataPlaneId, type: 'data_plane' },
      resource: { id: 'reportUsage', type: 'operation' },
    });
  });

  it('a rotation needs a signed body too', async () => {
    expect(
      (await sender.post('/telemetry/credentials/rotate', {}, { secret: `whsec_${'A'.repeat(43)}=` })).status,
    ).toBe(401);
    const rotated = await sender.post('/telemetry/credentials/rotate', { overlapSeconds: 60 });
    expect(rotated.status).toBe(201);
    // old key with new secret, new key with old secret: both pairs are good while they overlap
    const { key, signingSecret } = rotated.body;
    expect(await said(sender.send(nextReport(), { secret: signingSecret }))).toEqual([202, 'accepted']);
    expect(await said(sender.send(nextReport(), { key }))).toEqual([202, 'accepted']);
  });
});
