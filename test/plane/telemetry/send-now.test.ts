/** `gov plane telemetry send`: reports now, beside a serving plane too, and says why what waits does. */
import { beforeEach, expect, it } from 'vitest';
import { sendUsage } from '../../../plane/telemetry/send-now.ts';
import { writeTelemetrySettings } from '../../../plane/service/enrolment.ts';
import { govHere } from '../../cli/support/tool.ts';
import type { Tenant } from '../../support/hosted.ts';
import { eachWithPlane } from '../support/each.ts';
import { startTelemetryPlane, type TestTelemetryPlane, type Wire } from '../support/enrolled.ts';

let wire: Wire;
let ada: Tenant;
let plane: TestTelemetryPlane;
let dataPlaneId = '';

eachWithPlane((world) => ({ ada, wire, plane, dataPlaneId } = world));
beforeEach(() => record());

async function record(): Promise<void> {
  await plane.record(2);
  await plane.sign();
}
const send = () => sendUsage({ dataDir: plane.dataDir, env: {} });
const tool = () => govHere(['plane', 'telemetry', 'send', '--data', plane.dataDir, '-o', 'json']);
const reports = async () => (await ada.call('GET', `/telemetry/planes/${dataPlaneId}/reports`)).body.data;

it('gov plane telemetry send reports all usage until now and answers challenges', async () => {
  expect(await send()).toEqual({
    settled: 2,
    refused: 0,
    reportsWaiting: 0,
    challengesOpen: 0,
    failure: null,
  });
  const [first] = await reports();
  expect(first).toMatchObject({ sequence: 1, attestation: 'verified' });
  await record();
  const { code, stdout } = await tool();
  expect([code, JSON.parse(stdout).failure]).toEqual([0, null]);
  expect((await reports()).map(({ sequence }: { sequence: number }) => sequence)).toEqual([2, 1]);
});

it('gov plane telemetry send waits for the signature of what was just recorded', async () => {
  await send();
  await plane.record(3);
  const sent = send();
  // a report that did not wait would have reached the service with or before this
  expect(await reports()).toHaveLength(1);
  await plane.sign();
  expect(await sent).toMatchObject({ reportsWaiting: 0, failure: null });
  expect(plane.reports().at(-1)?.operations.audit_event).toBe(3);
});

it('gov plane telemetry send makes no second report when the plane sends at the same time', async () => {
  await Promise.all([send(), plane.telemetry.look(), send()]);
  const sequences = (await reports()).map(({ sequence }: { sequence: number }) => sequence);
  expect(sequences).toEqual(sequences.map((_: number, at: number) => sequences.length - at));
  expect(plane.reports()).toHaveLength(sequences.length);
});

it('gov plane telemetry send leaves undelivered messages to the plane and gives the reason', async () => {
  wire.weather = 'refuse';
  const { failure, ...counts } = await send();
  expect(counts).toEqual({ settled: 0, refused: 0, reportsWaiting: 1, challengesOpen: 0 });
  expect(failure).toMatch(/^unreachable: /);
  expect((await tool()).code).toBe(10);
  wire.weather = 'clear';
  expect((await tool()).code).toBe(0);
  expect(await send()).toMatchObject({ reportsWaiting: 0, failure: null });
});

it('gov plane telemetry send distinguishes refused credentials from an unreachable service', async () => {
  await ada.call('DELETE', `/telemetry/planes/${dataPlaneId}`);
  const { code, stdout } = await tool();
  expect([code, JSON.parse(stdout).failure]).toEqual([4, expect.stringMatching(/^credential_refused: /)]);
});

it.each(['manual-file', 'off'] as const)(
  'gov plane telemetry send sends nothing when the mode is %s',
  async (mode) => {
    writeTelemetrySettings(plane.dataDir, { mode });
    const before = wire.connections;
    await expect(send()).rejects.toMatchObject({ code: 'CONFLICT' });
    expect((await tool()).code).toBe(6);
    expect(wire.connections).toBe(before);
  },
);

it('gov plane telemetry send needs an enrolment', async () => {
  const other = await startTelemetryPlane();
  await expect(sendUsage({ dataDir: other.dataDir, env: {} })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await other.end();
});
