/**
 * Usage reports over sockets (contract J1-J3, B13): whatever is changed of one, in whatever order they come and how often,
 * each is stored once and billed once.
 */
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Usage } from '../../src/contract/metering.ts';
import { telemetryFaults, type UsageReport } from '../../src/contract/telemetry.ts';
import { openNote, parseVerifierKey } from '../../src/core/note/signed.ts';
import type { Json } from '../../src/core/json/parse.ts';
import { sumOf } from '../../src/core/planes/metering.ts';
import { mutations, type Mutation } from '../core/json/mutate.ts';
import { engines, startService, type Tenant, type TestService } from '../support/hosted.ts';
import { canonical, enrolledPlane, midLastMonth, type Sender } from '../support/telemetry-plane.ts';

const month = new Date(midLastMonth()).toISOString().slice(0, 7);

describe.each(engines)('usage reports to a service on %s', (engine) => {
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

  const billed = async (): Promise<Usage['items']> =>
    (await tenant.call('GET', `/metering/usage?period=${month}`)).body.items;
  const units = async (): Promise<number> => (await billed()).reduce((sum, { hybrid }) => sum + hybrid, 0);
  const stored = async ({ plane }: Sender): Promise<{ sequence: number; linked: string }[]> =>
    (await tenant.call('GET', `/telemetry/planes/${plane.home.dataPlaneId}/reports?limit=200`)).body.data;

  it('usage reports are accepted with a receipt that anybody can check', async () => {
    const sender = await newPlane();
    const before = await units();
    const { report, answer } = await reported(sender, 9);
    expect([answer.status, answer.body]).toMatchObject([
      202,
      { status: 'accepted', sequence: 1, nextSequence: 2, acceptedTreeSize: report.log.treeSize },
    ]);
    const { cosignerKey } = sender.credentials as unknown as { cosignerKey: string };
    const note = `${report.log.checkpoint}${answer.body.cosignature}`;
    const { verified } = openNote(note, [parseVerifierKey(cosignerKey)]);
    expect(verified[0]?.timestampSeconds).toBeCloseTo(Date.now() / 1000, -2);
    expect((await units()) - before).toBe(sumOf(report.totals));
    expect(await stored(sender)).toMatchObject([
      { sequence: 1, linked: 'linked', periodEnd: report.periodEnd },
    ]);
  });

  it('a repeated usage report is answered byte for byte, and one with other content is rejected', async () => {
    const sender = await newPlane();
    const { report, answer } = await reported(sender, 9);
    const before = await units();
    const again = await sender.send(report);
    const { serverTime: _first, ...first } = answer.body;
    const { serverTime: _second, ...second } = again.body;
    expect([again.status, second]).toEqual([202, { ...first, status: 'duplicate' }]);
    for (const other of [
      { ...report, sentAt: '2026-01-01T00:00:00Z' },
      { ...report, totals: { ...report.totals, audit_event: report.totals.audit_event + 1 } },
      { ...report, reportId: 'urp_00000000000000000000000099' },
    ]) {
      const refused = await sender.send(other);
      expect([refused.status, refused.body.code]).toEqual([400, 'REPORT_CONFLICT']);
    }
    expect([await units(), (await stored(sender)).length]).toEqual([before, 1]);
  });

  it('usage reports are billed alike in any order, with any repeats', async () => {
    const orders = [
      [0, 1, 2, 3, 4],
      [4, 3, 2, 1, 0],
      [2, 2, 0, 4, 0, 1, 3, 1, 4],
      // each twice, in any order
      ...fc.sample(fc.shuffledSubarray([0, 1, 2, 3, 4, 0, 1, 2, 3, 4], { minLength: 10 }), {
        numRuns: 8,
        seed: 5,
      }),
    ];
    for (const order of orders) {
      const sender = await newPlane();
      const before = await units();
      const reports = Array.from({ length: 5 }, () => sender.plane.work(4).report());
      for (const at of order) {
        const { status, body } = await sender.send(reports[at]);
        expect([status, body.status]).toEqual([202, expect.stringMatching(/^(accepted|duplicate)$/)]);
      }
      expect((await units()) - before).toBe(sumOf(sender.plane.totals));
      const rows = await stored(sender);
      expect(rows.map(({ sequence, linked }) => [sequence, linked])).toEqual(
        [5, 4, 3, 2, 1].map((sequence) => [sequence, 'linked']),
      );
      const { body } = await tenant.call('GET', `/telemetry/planes/${sender.plane.home.dataPlaneId}`);
      expect([body.missing, body.lastReport.sequence]).toEqual([0, 5]);
    }
  });

  it('each of many concurrent usage reports is stored once', async () => {
    const sender = await newPlane();
    const before = await units();
    const reports = Array.from({ length: 6 }, () => sender.plane.work(3).report());
    const answers = await Promise.all([...reports, ...reports].map((report) => sender.send(report)));
    expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(202));
    const accepted = answers.filter(({ body }) => body.status === 'accepted');
    expect([accepted.length, (await stored(sender)).length]).toEqual([6, 6]);
    expect((await units()) - before).toBe(sumOf(sender.plane.totals));
    // one more settles what two at once left open
    expect((await reported(sender, 2)).answer.status).toBe(202);
    expect((await stored(sender)).filter(({ linked }) => linked !== 'linked')).toEqual([]);
  });

  it.runIf(engine === 'postgres')(
    'a usage report that two processes get at once is stored once',
    async () => {
      const sender = await newPlane();
      const before = await units();
      const { origin } = await service.again();
      const reports = Array.from({ length: 8 }, () => sender.plane.work(2).report());
      const answers = await Promise.all(
        reports.flatMap((report) => [
          sender.send(report),
          sender.post(`${origin}/api/v1/telemetry/usage`, report),
        ]),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(16).fill(202));
      expect(answers.filter(({ body }) => body.status === 'accepted').length).toBe(8);
      expect((await units()) - before).toBe(sumOf(sender.plane.totals));
      // what neither process saw of the other is settled beside later reports, and they get receipts
      let receipt = '';
      for (let more = 0; more < 2; more++) receipt = (await reported(sender, 1)).answer.body.cosignature;
      expect((await stored(sender)).filter(({ linked }) => linked !== 'linked')).toEqual([]);
      expect(receipt).not.toBe('');
    },
  );

  it('usage reports with any member changed are rejected, and then the original is accepted', async () => {
    const sender = await newPlane();
    for (const operations of [5, 4]) await reported(sender, operations);
    const before = await units();
    const report = sender.plane.work(6).report();
    const [all, free] = partition(changesOf(report), ({ pointer }) => !unbound.test(pointer));
    const refuse = async ({ pointer, what, value }: Mutation, codes: readonly string[]): Promise<void> => {
      const { status, body } = await sender.send(value);
      expect([status, codes.includes(body.code)], `${pointer} ${what}: ${body.code}`).toEqual([400, true]);
      if (body.code !== 'REPORT_INVALID') return;
      expect(telemetryFaults).toContain(body.reason);
      expect(body.errors).toMatchObject([{ in: 'body', code: body.reason }]);
    };
    const asked = engine === 'sqlite' ? all : all.filter((_, at) => at % 4 === 0);
    expect(asked.length).toBeGreaterThan(100);
    for (const change of asked) await refuse(change, malformed);
    expect([await units(), (await stored(sender)).length]).toEqual([before, 2]);
    expect((await sender.send(report)).body).toMatchObject({ status: 'accepted', sequence: 3 });
    const after = await units();
    expect(after - before).toBe(sumOf(report.operations));
    for (const change of [...free, ...asked.filter((_, at) => at % 9 === 0)]) {
      await refuse(change, [...malformed, 'REPORT_CONFLICT']);
    }
    expect([await units(), (await stored(sender)).length]).toEqual([after, 3]);
  }, 60_000);

  it('usage reports are accepted only from their own plane, project and environment', async () => {
    const sender = await newPlane();
    const other = await newPlane();
    const report = sender.plane.work(3).report();
    const stranger = { ...report, dataPlaneId: other.plane.home.dataPlaneId };
    for (const [member, changed] of [
      ['dataPlaneId', stranger],
      ['projectId', { ...report, projectId: tenant.projectId }],
      ['environment', { ...report, environment: 'sandbox' }],
    ] as const) {
      const { status, body } = await sender.send(changed);
      expect([status, body.errors]).toMatchObject([400, [{ pointer: `/${member}`, code: 'NOT_ALLOWED' }]]);
    }
    const theirs = await other.send({ ...report, dataPlaneId: other.plane.home.dataPlaneId });
    expect([theirs.status, theirs.body.code, theirs.body.reason]).toEqual([
      400,
      'REPORT_INVALID',
      'origin_mismatch',
    ]);
  });

  it('usage reports have a limit of bytes: the limit is accepted, one byte more is rejected', async () => {
    const sender = await newPlane();
    const text = canonical(sender.plane.work(3).report());
    const padded = (bytes: number): string => `${' '.repeat(bytes - Buffer.byteLength(text))}${text}`;
    expect((await sender.send(JSON.parse(text), { raw: padded(64 * 1024 + 1) })).status).toBe(413);
    expect((await sender.send(JSON.parse(text), { raw: padded(64 * 1024) })).status).toBe(202);
  });

  it('usage reports whose period ends more than a day ahead are rejected', async () => {
    const { now } = service.services;
    const sender = await newPlane();
    const report = sender.plane.work(3).report();
    const latest = Date.parse(report.periodEnd);
    const at = async (ms: number) => {
      Object.assign(service.services, { now: () => ms });
      return sender.send(report, { timestamp: String(Math.floor(ms / 1000)) });
    };
    try {
      const early = await at(latest - 86_400_001);
      expect([early.status, early.body.errors]).toMatchObject([
        400,
        [{ pointer: '/periodEnd', code: 'TOO_LARGE' }],
      ]);
      expect((await at(latest - 86_400_000)).status).toBe(202);
    } finally {
      Object.assign(service.services, { now });
    }
  });

  it('usage reports are included in the bill of the organization, with the units of the service', async () => {
    const { body } = await tenant.call('GET', '/billing/summary');
    const project = body.projects.find((each: { projectId: string }) => each.projectId === projectId);
    expect(project.hybrid).toEqual({
      audit_event: 0,
      compliance_proof: 0,
      risk_decision: 0,
      replay_verification: 0,
    });
    const beganMs = Date.now() - 60_000;
    // the first seconds of a month belong to a period that began in the one before
    if (new Date(beganMs).getUTCMonth() !== new Date().getUTCMonth()) return;
    const sender = await enrolledPlane(tenant.call, { name: 'ward-now', projectId, beganMs });
    const { report } = await reported(sender, 8);
    const after = (await tenant.call('GET', '/billing/summary')).body.projects.find(
      (each: { projectId: string }) => each.projectId === projectId,
    );
    expect(after.hybrid).toEqual(report.totals);
    expect(after.used.audit_event - project.used.audit_event).toBe(report.totals.audit_event);
  });
});

/** Members that nothing signed says more of; the sequence, where no report before it is held; leaves that count nothing. */
const unbound = /^\/(?:reportId|sequence|sentAt|periodEnd|unmetered|runtime.*)$/;
const malformed = ['VALIDATION_ERROR', 'UNKNOWN_FIELD', 'INVALID_JSON', 'JSON_TOO_COMPLEX', 'REPORT_INVALID'];

async function reported(sender: Sender, operations: number) {
  const report = sender.plane.work(operations).report();
  return { report, answer: await sender.send(report) };
}

/** Every change of a member that makes another text. */
const changesOf = (report: UsageReport) => {
  const text = canonical(report);
  return [...mutations(report as unknown as Json)].filter(({ value }) => canonical(value) !== text);
};

const partition = <Item>(items: readonly Item[], isFirst: (item: Item) => boolean): [Item[], Item[]] => [
  items.filter(isFirst),
  items.filter((item) => !isFirst(item)),
];
