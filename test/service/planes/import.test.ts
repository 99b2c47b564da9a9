/**
 * Messages that come by file (contract J1-J7): each is judged as on the wire, whatever its time, and gets the receipt that
 * the wire would have given; the same file again changes nothing.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { Challenge, Message, Receipt } from '../../../src/contract/telemetry.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { canonical, enrolledPlane, signatureOf, type Sender } from '../../support/telemetry-plane.ts';

/** Long ago, as a file is. */
const timestamp = '1700000000';

describe.each(engines)('a service on %s takes messages by file', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let projectId: string;
  let planes = 0;
  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('tenant');
    projectId = (await tenant.call('GET', '/auth/identity')).body.projectId;
  });
  afterAll(() => service.end());

  const newPlane = (): Promise<Sender> =>
    enrolledPlane(tenant.call, { name: `ward-${(planes += 1)}`, projectId });
  const message = (sender: Sender, body: unknown, members: Partial<Message> = {}): Message => {
    const text = canonical(body);
    const signed = signatureOf(sender.credentials.signingSecret, text, timestamp);
    return {
      kind: 'usage',
      dataPlaneId: sender.plane.home.dataPlaneId,
      timestamp,
      signature: signed['x-telemetry-signature'] ?? '',
      body: text,
      ...members,
    };
  };
  const bring = async (messages: readonly unknown[]): Promise<Receipt[]> => {
    const { status, body, text } = await tenant.call('POST', '/telemetry/import', { body: { messages } });
    if (status !== 200) throw new Error(text);
    return body.receipts;
  };

  it('the service takes messages from a file in order, and returns the same receipts each time', async () => {
    const sender = await newPlane();
    const reports = Array.from({ length: 3 }, () => sender.plane.work(3).report());
    const messages = reports.map((report) => message(sender, report));
    const [first, ...rest] = await bring(messages);
    expect([first, ...rest].map((each) => [each?.kind, each?.id, each?.status])).toEqual(
      reports.map(({ reportId }) => ['usage', reportId, 202]),
    );
    const { attestation } = (first as Receipt).answer as { attestation: { challenge: Challenge } };
    const { challenge } = attestation;
    expect(Date.parse(challenge.expiresAt) - Date.parse(challenge.issuedAt)).toBe(
      limits.attestationFileHours * 3_600_000,
    );
    const proof = sender.plane.answer(challenge);
    const { challengeId } = challenge;
    const answer = message(sender, proof, { kind: 'attestation', challengeId });
    const [verified] = await bring([answer]);
    expect(verified).toMatchObject({
      kind: 'attestation',
      id: challengeId,
      status: 200,
      answer: { status: 'verified' },
    });
    const again = await bring([...messages, answer]);
    expect(again.map(({ status, answer: said }) => [status, (said as { status: string }).status])).toEqual([
      [202, 'duplicate'],
      [202, 'duplicate'],
      [202, 'duplicate'],
      [200, 'verified'],
    ]);
    expect(again[3]).toEqual(verified);
    // by file and on the wire alike
    expect((await sender.send(reports[1])).body.status).toBe('duplicate');
    expect((await sender.attest(challenge, proof)).body).toEqual(verified?.answer);
  });

  it('the service rejects each wrong message of a file separately', async () => {
    const sender = await newPlane();
    const other = await newPlane();
    const report = sender.plane.work(3).report();
    const good = message(sender, report);
    const gone = await newPlane();
    await tenant.call('DELETE', `/telemetry/planes/${gone.plane.home.dataPlaneId}`);
    const big = 'x'.repeat(limits.usageReportBytes);
    const wrong: [code: string, status: number, message: Message][] = [
      ['INVALID_CREDENTIAL', 401, { ...good, dataPlaneId: 'dpl_01jzzzzzzzzzzzzzzzzzzzzzzz' }],
      ['INVALID_CREDENTIAL', 401, message(gone, gone.plane.work(1).report())],
      ['INVALID_SIGNATURE', 401, { ...good, dataPlaneId: other.plane.home.dataPlaneId }],
      ['INVALID_SIGNATURE', 401, { ...good, timestamp: '1700000001' }],
      ['INVALID_SIGNATURE', 401, { ...good, signature: '0'.repeat(64) }],
      ['INVALID_JSON', 400, { ...good, body: `${good.body}}` }],
      ['PAYLOAD_TOO_LARGE', 413, { ...good, body: JSON.stringify(big) }],
      ['UNKNOWN_FIELD', 400, message(sender, { ...report, more: 1 })],
      ['VALIDATION_ERROR', 400, message(sender, { ...report, projectId: tenant.projectId })],
      ['REPORT_INVALID', 400, message(sender, { ...report, unmetered: 1000 })],
      ['VALIDATION_ERROR', 400, message(sender, report, { kind: 'attestation' })],
    ];
    const receipts = await bring([...wrong.map(([, , each]) => each), good]);
    expect(receipts.map(({ status, answer }) => [(answer as { code?: string }).code, status])).toEqual([
      ...wrong.map(([code, status]) => [code, status]),
      [undefined, 202],
    ]);
    expect(receipts[9]?.answer).toMatchObject({
      status: 400,
      reason: 'totals_sum_mismatch',
      title: expect.any(String),
    });
  });

  it('the service accepts a file up to its limit of bytes', async () => {
    const sender = await newPlane();
    const text = JSON.stringify({ messages: [message(sender, sender.plane.work(1).report())] });
    const padded = async (bytes: number) => {
      const raw = `${' '.repeat(bytes - Buffer.byteLength(text))}${text}`;
      return (await tenant.call('POST', '/telemetry/import', { raw })).status;
    };
    expect(await padded(limits.importTelemetryBytes + 1)).toBe(413);
    expect(await padded(limits.importTelemetryBytes)).toBe(200);
  });

  it('the service accepts a file up to its limit of messages', async () => {
    const sender = await newPlane();
    const report = message(sender, sender.plane.work(1).report());
    const many = Array.from({ length: limits.importMessages }, () => report);
    expect((await bring(many)).filter(({ status }) => status === 202).length).toBe(limits.importMessages);
    const more = await tenant.call('POST', '/telemetry/import', { body: { messages: [...many, report] } });
    expect(more.status).toBe(400);
  });
});
