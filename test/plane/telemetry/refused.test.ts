/** Something between plane and service that says of reports that were refused, although the service took them. */
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sendUsage } from '../../../plane/telemetry/send-now.ts';
import { telemetryStatus } from '../../../plane/telemetry/status.ts';
import type { Tenant } from '../../support/hosted.ts';
import { eachWithPlane } from '../support/each.ts';
import { register, setClock, type TestTelemetryPlane, type Wire } from '../support/enrolled.ts';

const hourMs = 3_600_000;
const refusal = (reason: string) =>
  JSON.stringify({ code: 'REPORT_INVALID', detail: 'expected more', reason });
let wire: Wire;
let ada: Tenant;
let plane: TestTelemetryPlane;
let dataPlaneId: string;
let liar: Awaited<ReturnType<typeof startLiar>>;

eachWithPlane((world) => ({ ada, wire, plane } = world), { isBare: true });
beforeEach(async () => {
  liar = await startLiar(wire.origin);
  const { token, ...registered } = await register(ada);
  ({ dataPlaneId } = registered);
  await plane.enrol({ service: liar.origin, token });
  await plane.record(2);
  await plane.sign();
});
afterEach(() => liar.close());

async function bodyOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Before the service; says so many times that a report was refused that it passed on. */
async function startLiar(service: string) {
  const pass = async (asked: IncomingMessage, answered: ServerResponse): Promise<void> => {
    const { method, url, headers } = asked;
    const passed = request(`${service}${url}`, { method, headers, agent: false });
    passed.end(await bodyOf(asked));
    const [answer]: IncomingMessage[] = await once(passed, 'response');
    if (answer === undefined) throw new Error('expected an answer');
    const truth = await bodyOf(answer);
    const isReport = url?.endsWith('/telemetry/usage') === true;
    if (isReport) state.reports += 1;
    const isLie = isReport && state.lies-- > 0;
    const type = isLie ? 'application/problem+json' : answer.headers['content-type'];
    const date = new Date().toUTCString(); // of the clock that the test set
    answered.writeHead(isLie ? 400 : (answer.statusCode ?? 500), { date, 'content-type': type });
    answered.end(isLie ? refusal(state.reason) : truth);
  };
  const server = createServer((asked, answered) => void pass(asked, answered));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const state = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Left, and why they say that it was refused. */
    lies: 0,
    reason: 'history_regressed',
    /** That came. */
    reports: 0,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
  return state;
}

const status = () => telemetryStatus(plane.dataDir);
const atService = async () => (await ada.call('GET', `/telemetry/planes/${dataPlaneId}`)).body;

it('a plane continues at once after what the service has, after one refusal', async () => {
  liar.lies = 1;
  await plane.telemetry.look();
  expect(liar.reports).toBe(2);
  expect(status()).toMatchObject({ reportsWaiting: 0, reportsRefused: 0, reasons: [] });
  // and after another one, since a report was accepted in between
  liar.lies = 1;
  setClock(Date.now() + hourMs);
  await plane.telemetry.look();
  expect(liar.reports).toBe(4);
  expect(status()).toMatchObject({ reportsWaiting: 0, reportsRefused: 0, reasons: [] });
});

it('a plane backs off and reports repeated refusals, and continues once they end', async () => {
  liar.lies = 60;
  const began = new Date().toISOString();
  await plane.telemetry.look();
  expect(liar.reports).toBe(2);
  for (let second = 0; second < 1800; second++) {
    setClock(Date.now() + 1000);
    await plane.telemetry.look();
  }
  // as with a service that is away: 9 doublings and then one each 2.5 minutes, by half the bound on average
  expect(liar.reports).toBeGreaterThan(8);
  expect(liar.reports).toBeLessThan(45);
  const reason = expect.stringMatching(
    /^control_plane_unreachable: since .*: answered: it refused reports that follow/,
  );
  expect(status()).toMatchObject({ failingSince: began, reasons: [reason] });
  expect(status().reportsWaiting).toBeGreaterThan(0); // two where one fell due since the last attempt
  liar.lies = 0;
  setClock(Date.now() + 300_001);
  await plane.telemetry.look();
  expect(status()).toMatchObject({ reportsWaiting: 0, failingSince: null, reasons: [] });
  expect(await atService()).toMatchObject({ missing: 0 });
  expect(plane.reports().reduce((sum, { operations }) => sum + operations.audit_event, 0)).toBe(2);
});

it('a finally refused report ends at once, and the count of refusals is never negative', async () => {
  liar.reason = 'totals_sum_mismatch';
  liar.lies = 2;
  await plane.telemetry.look();
  setClock(Date.now() + hourMs);
  await plane.telemetry.look();
  expect(status()).toMatchObject({ reportsRefused: 2 });
  liar.reason = 'history_regressed';
  liar.lies = 60;
  setClock(Date.now() + 1000);
  const sent = await sendUsage({ dataDir: plane.dataDir, env: {} });
  const failure = expect.stringMatching(/^answered: it refused reports that follow/);
  expect(sent).toEqual({ settled: 2, refused: 0, reportsWaiting: 1, challengesOpen: 0, failure });
  expect(status()).toMatchObject({ reportsRefused: 0 }); // replaced by what the service holds
});
