/** Usage by hand, and none at all: what is written out, what is taken in, and that nobody is contacted. */
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exportUsage, shownMessages, takeReceipts } from '../../../plane/telemetry/by-file.ts';
import { outboxFile } from '../../../plane/telemetry/outbox.ts';
import { telemetryStatus } from '../../../plane/telemetry/status.ts';
import type { Message, Receipt, UsageResult } from '../../../src/contract/telemetry.ts';
import type { Tenant } from '../../support/hosted.ts';
import { eachWithPlane } from '../support/each.ts';
import {
  openTelemetryPlane,
  register,
  setClock,
  type TestTelemetryPlane,
  type Wire,
} from '../support/enrolled.ts';

const hourMs = 3_600_000;
let wire: Wire;
let ada: Tenant;
let plane: TestTelemetryPlane;
eachWithPlane((world) => ({ ada, wire, plane } = world), { isBare: true });

async function start(mode: 'manual-file' | 'off') {
  const { token, dataPlaneId } = await register(ada);
  await plane.enrol({ service: wire.origin, token, mode });
  return { dataPlaneId, before: wire.connections };
}

const exported = async (): Promise<Message[]> => {
  const messages: Message[] = [];
  for await (const message of exportUsage(plane.dataDir)) messages.push(message);
  return messages;
};
const imported = async (messages: readonly Message[]): Promise<Receipt[]> => {
  const { status, body, text } = await ada.call('POST', '/telemetry/import', { body: { messages } });
  expect([status, text]).toEqual([200, expect.any(String)]);
  return body.receipts;
};
const challengesIn = (receipts: readonly Receipt[]): number =>
  receipts.filter(({ answer }) => (answer as UsageResult).attestation?.challenge !== undefined).length;
const take = (receipts: readonly unknown[]) =>
  takeReceipts(
    plane.dataDir,
    receipts.map((each) => JSON.stringify(each)),
  );

describe('a plane whose usage is carried by hand', () => {
  it('a plane in manual-file mode contacts nobody, and its messages are accepted days later', async () => {
    const { dataPlaneId, before } = await start('manual-file');
    for (let look = 0; look < 5; look++) {
      await plane.record(2);
      await plane.telemetry.look();
      setClock(Date.now() + hourMs);
    }
    await plane.record(1);
    await plane.sign();
    expect(wire.connections).toBe(before);
    const messages = await exported();
    expect(messages.length).toBeGreaterThanOrEqual(5);
    expect(messages.map(({ body }) => body)).toEqual([...shownMessages(plane.dataDir, 'pending')]);
    setClock(Date.now() + 72 * hourMs);
    const receipts = await imported(messages);
    const challenges = challengesIn(receipts); // the first report is always challenged, others by chance
    expect(challenges).toBeGreaterThanOrEqual(1);
    expect(await take(receipts)).toEqual({
      accepted: messages.length,
      refused: 0,
      challenges,
      unsettled: 0,
      held: null,
    });
    expect(telemetryStatus(plane.dataDir)).toMatchObject({
      reportsWaiting: 0,
      challengesOpen: challenges,
      reasons: [],
    });
    const answers = await exported();
    expect(answers.filter(({ kind }) => kind === 'attestation').length).toBe(challenges);
    expect((await take(await imported(answers))).refused).toBe(0);
    expect(telemetryStatus(plane.dataDir)).toMatchObject({
      reportsWaiting: 0,
      challengesOpen: 0,
      reasons: [],
    });
    const { body } = await ada.call('GET', `/telemetry/planes/${dataPlaneId}`);
    expect(body).toMatchObject({ missing: 0 });
    const totals = await plane.store.totals(plane.project.projectId);
    expect(plane.reports().at(-1)?.totals).toEqual(totals);
    expect(wire.connections).toBe(before);
  });

  it('a plane exports the same bytes until a receipt comes, and accepts a receipt twice', async () => {
    await start('manual-file');
    await plane.record(2);
    const first = await exported();
    const again = await exported();
    expect(again.map(({ body }) => body)).toEqual(first.map(({ body }) => body));
    const receipts = await imported([...first, ...again]);
    expect(receipts.map(({ status }) => status)).toEqual([202, 202]);
    expect(await take(receipts)).toMatchObject({ accepted: 2, refused: 0, unsettled: 0 });
    expect(await take(receipts)).toMatchObject({ accepted: 2, challenges: 0 });
  });

  it('a plane takes no receipt for a message that it did not send, and names the invalid line', async () => {
    await start('manual-file');
    const foreign = { kind: 'usage', id: 'urp_01jq3v5k8hf7wb3c9x2m4n6p8r', status: 202, answer: {} };
    expect(await take([foreign])).toMatchObject({ accepted: 0, refused: 0, challenges: 0, unsettled: 1 });
    await expect(takeReceipts(plane.dataDir, ['', '{"kind":"usage"}'])).rejects.toThrow(
      /^line 2: expected a receipt/,
    );
    await expect(takeReceipts(plane.dataDir, ['[]x'])).rejects.toThrow(/^line 1: /);
  });

  it('a plane stores and shows a message that a receipt refuses', async () => {
    await start('manual-file');
    await plane.record(1);
    const [message] = await exported();
    const { reportId } = JSON.parse(message!.body);
    const answer = { code: 'REPORT_CONFLICT', detail: 'the id is taken' };
    expect(await take([{ kind: 'usage', id: reportId, status: 400, answer }])).toMatchObject({ refused: 1 });
    expect(telemetryStatus(plane.dataDir).reasons).toEqual([
      expect.stringMatching(/^outbox_behind: .*in mode manual-file nobody asks/),
      expect.stringMatching(/^reports_refused: 1 .*REPORT_CONFLICT: the id is taken/),
    ]);
  });
});

describe('a plane by hand that is older than what it reported', () => {
  const reported = async (events: number): Promise<Awaited<ReturnType<typeof take>>> => {
    setClock(Date.now() + hourMs);
    await plane.record(events);
    await plane.sign();
    return take(await imported(await exported()));
  };

  it('an older copy of a plane stops signing once a receipt shows what the service has', async () => {
    await start('manual-file');
    await reported(1);
    const copy = `${plane.dataDir}-older`;
    cpSync(plane.dataDir, copy, { recursive: true });
    for (const events of [2, 3]) expect(await reported(events)).toMatchObject({ refused: 0, held: null });
    plane = openTelemetryPlane(copy);
    try {
      expect((await reported(1)).held).toMatch(/^rolled_back: .*gov log recover/);
      await plane.record(1);
      await expect(plane.sign()).rejects.toMatchObject({ code: 'STORAGE_FAULT' });
      expect(telemetryStatus(copy).reasons[0]).toMatch(/^rolled_back: /);
      expect(await exported()).toEqual([]);
    } finally {
      await plane.end();
      rmSync(copy, { recursive: true });
    }
  });

  it('a plane that lost only its outbox continues after the receipt, and reports every unit once', async () => {
    await start('manual-file');
    for (const events of [1, 2]) await reported(events);
    rmSync(outboxFile(plane.dataDir));
    expect(await reported(3)).toMatchObject({ refused: 1, held: null });
    expect(telemetryStatus(plane.dataDir).reasons).toEqual([]);
    expect(await reported(4)).toMatchObject({ refused: 0, held: null });
    const totals = await plane.store.totals(plane.project.projectId);
    expect(plane.reports().at(-1)).toMatchObject({ sequence: 3, totals });
  });
});

describe('a plane whose mode is off', () => {
  it('a plane whose mode is off makes no report, contacts nobody and exports no message', async () => {
    const { before } = await start('off');
    for (let look = 0; look < 3; look++) {
      await plane.record(1);
      await plane.telemetry.look();
      setClock(Date.now() + hourMs);
    }
    expect(wire.connections).toBe(before);
    expect(telemetryStatus(plane.dataDir)).toMatchObject({
      mode: 'off',
      reportsWaiting: 0,
      oldestWaitingAt: null,
    });
    await expect(exported()).rejects.toThrow(/its mode is off/);
    expect([...shownMessages(plane.dataDir, 'last')]).toEqual([]);
    // once it is on, everything is reported
    writeFileSync(join(plane.dataDir, 'telemetry.json'), '{"mode":"auto"}');
    await plane.telemetry.look();
    expect(plane.reports().at(-1)?.operations.audit_event).toBe(3);
    expect(telemetryStatus(plane.dataDir)).toMatchObject({
      mode: 'auto',
      reportsWaiting: 0,
      challengesOpen: 0,
    });
    writeFileSync(join(plane.dataDir, 'telemetry.json'), '{"mode":"off" }');
    const after = wire.connections;
    setClock(Date.now() + hourMs);
    await plane.telemetry.look();
    expect(wire.connections).toBe(after);
  });

  it('a plane that is not enrolled makes no report and contacts nobody', async () => {
    const before = wire.connections;
    await plane.record(1);
    await plane.telemetry.look();
    expect(telemetryStatus(plane.dataDir)).toMatchObject({
      enrolled: false,
      mode: 'auto',
      service: null,
      reasons: [],
    });
    expect(() => [...shownMessages(plane.dataDir, 'pending')]).toThrow(/enrol it with gov plane enroll/);
    expect(wire.connections).toBe(before);
  });
});
