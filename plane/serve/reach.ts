/**
 * Checks step by step whether a plane reaches its service: proxy, DNS name, connection, TLS, HTTP and clock.
 * Each failing step has a name. The service refuses a signed message whose time is more than 300 s off. The
 * check sends only `GET /health/live`, without a credential. Proven by `test/plane/serve/doctor.test.ts`.
 */
import { lookup } from 'node:dns/promises';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { networkError } from '../../src/client/errors.ts';
import { proxyFor, proxyName } from '../../src/client/proxy.ts';
import { fail, ok, warn, type Examine, type CheckResult } from '../../src/host/process/checks.ts';
import { now } from '../../src/host/process/clock.ts';
import type { Variables } from '../../src/host/config/layers.ts';
import { aheadMs } from '../../src/store/append/clock-skew.ts';
import { enrolmentFiles, readEnrolment, type Enrolment } from '../service/enrolment.ts';
import { connectionTo } from '../service/link.ts';

const patienceMs = 5000;
/** Clock differences from which the service refuses a message, and from which the doctor warns. */
const skew = { failMs: 300_000, warnMs: 30_000 } as const;

/**
 * Returns one check for a plane that is not enrolled. Otherwise returns a check per step, up to the first
 * failure.
 */
export async function examineService(
  dataDir: string,
  { examine, env }: { readonly examine: Examine; readonly env: Variables },
): Promise<void> {
  let enrolment: Enrolment | null = null;
  await examine('enrolment', () => {
    enrolment = readEnrolment(dataDir);
    if (enrolment === null) {
      const waits = existsSync(enrolmentFiles(dataDir).asked)
        ? '; a request by file waits for its answer'
        : '';
      return ok(`none: nothing leaves this machine${waits}`);
    }
    const { dataPlaneId, service } = enrolment;
    return ok(service === null ? `${dataPlaneId}, by file` : `${dataPlaneId} at ${service}`);
  });
  const enrolled = enrolment as Enrolment | null;
  if (enrolled === null || enrolled.service === null) return;
  const url = new URL(enrolled.service);
  let proxy: string | undefined;
  let goesOn = true;
  const step = async (name: string, look: () => Promise<CheckResult> | CheckResult): Promise<void> => {
    if (!goesOn) return;
    goesOn = false;
    await examine(name, async () => {
      const found = await look();
      goesOn = found.status !== 'fail';
      return found;
    });
  };
  await step('proxy', () => {
    proxy = proxyFor(url, env);
    return ok(proxy === undefined ? 'none for this address' : `through ${proxyName(proxy)}`);
  });
  const next = (): URL => (proxy === undefined ? url : new URL(proxy));
  await step('service name', () => lookAtName(next()));
  await step('service connection', () => lookAtConnection(next()));
  await step('service', () => lookAtAnswers(enrolled, { env, examine }));
}

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');
const portOf = (url: URL): number =>
  Number(url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : url.port);

async function lookAtName(url: URL): Promise<CheckResult> {
  try {
    const found = await lookup(hostOf(url), { all: true });
    return ok(`${hostOf(url)} is ${found.map(({ address }) => address).join(', ')}`);
  } catch (cause) {
    const { message, hint } = networkError(cause, url.origin);
    return fail(message, hint ?? 'check DNS');
  }
}

/** Opens a connection and closes it. */
async function lookAtConnection(url: URL): Promise<CheckResult> {
  const startedMs = performance.now();
  const cause = await new Promise<unknown>((settle) => {
    const socket = connect({ host: hostOf(url), port: portOf(url), timeout: patienceMs });
    const end = (error: unknown): void => {
      settle(error);
      socket.destroy();
    };
    socket.once('connect', () => end(null));
    socket.once('timeout', () => end(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' })));
    socket.once('error', end);
  });
  if (cause === null) return ok(`${url.host} answers in ${Math.round(performance.now() - startedMs)} ms`);
  const { message, hint } = networkError(cause, url.origin);
  return fail(message, hint ?? 'check the network and firewalls');
}

/** Checks TLS and HTTP on the path that reports take, and compares the clocks. */
async function lookAtAnswers(
  enrolment: Enrolment,
  { env, examine }: { readonly env: Variables; readonly examine: Examine },
): Promise<CheckResult> {
  const connection = connectionTo(enrolment, env);
  try {
    const askedMs = now();
    const shape = {
      headers: {},
      body: undefined,
      timeoutMs: patienceMs,
      maxBytes: 65_536,
      signal: undefined,
    };
    const { status, headers } = await connection.exchange({ ...shape, method: 'GET', path: '/health/live' });
    const answeredMs = now();
    if (headers['gov-api-version'] === undefined) {
      return fail(`${enrolment.service} answers ${status}, and is no gov`, 'look at what stands before it');
    }
    // The header cuts the time to whole seconds.
    const theirsMs = Date.parse(headers['date'] ?? '') + 500;
    await examine('clock', () => lookAtClock(aheadMs({ askedMs, answeredMs, theirsMs })));
    const secure = connection.secure ? 'over TLS' : 'without TLS';
    if (status !== 200) return fail(`${enrolment.service} answers ${status}`, 'ask its operator');
    return connection.secure
      ? ok(`answers ${secure}`)
      : warn(`answers ${secure}: others may read what is counted`, 'use an https address');
  } finally {
    connection.close();
  }
}

function lookAtClock(ahead: number): CheckResult {
  if (Number.isNaN(ahead)) return warn('the service does not say its time', 'look at what stands before it');
  const seconds = Math.round(Math.abs(ahead) / 1000);
  const detail = `the service is ${seconds} s ${ahead < 0 ? 'behind' : 'ahead'}`;
  const advice = 'synchronise this machine’s clock (NTP): reports that are 300 s off are refused';
  if (Math.abs(ahead) >= skew.failMs) return fail(detail, advice);
  return Math.abs(ahead) >= skew.warnMs ? warn(detail, advice) : ok(detail);
}
