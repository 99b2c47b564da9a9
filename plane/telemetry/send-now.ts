/**
 * `gov plane telemetry send`: makes a report now and sends all waiting messages.
 * It works with or without a serving plane. Where both send the same message, the service gives both the same
 * response, and the outbox stores one. Proven by `test/plane/telemetry/send-now.test.ts` and
 * `test/plane/telemetry/refused.test.ts`.
 */
import type { Environment } from '../../src/client/proxy.ts';
import { GovError } from '../../src/contract/problems.ts';
import { silentLog } from '../../src/service/call/log.ts';
import { openMaker, untilSigned } from './by-file.ts';
import { readTelemetrySettings } from '../service/enrolment.ts';
import { ServiceLink } from '../service/link.ts';
import { makeReports, type Maker } from './report.ts';
import { holdToReported } from './reported.ts';
import { Sender, type SenderOptions } from './sender.ts';
import { statusOf, type TelemetryStatus } from './status.ts';

export interface SendOptions {
  readonly dataDir: string;
  /** Source of HTTP_PROXY, HTTPS_PROXY and NO_PROXY. */
  readonly env: Environment;
}

export interface SendSummary extends Pick<TelemetryStatus, 'reportsWaiting' | 'challengesOpen'> {
  /** Number of reports and challenge answers with a final result. */
  readonly settled: number;
  /** Number of messages that the service refused during the call. */
  readonly refused: number;
  /** Why messages still wait. Null where none waits. */
  readonly failure: string | null;
}

/**
 * Reports the records up to now, once they are signed, and sends every waiting message. Stops at the first
 * failed attempt. The plane sends the rest with its next attempt. CONFLICT where the mode is not `auto`,
 * NOT_FOUND where the plane is not enrolled.
 */
export async function sendUsage({ dataDir, env }: SendOptions): Promise<SendSummary> {
  const { mode } = readTelemetrySettings(dataDir);
  if (mode !== 'auto') {
    const detail = `expected a plane that sends its reports, but its mode is ${mode}; set mode to auto in telemetry.json`;
    throw new GovError('CONFLICT', detail);
  }
  const { maker: own, close } = openMaker(dataDir);
  const { enrolment, outbox, now } = own;
  try {
    const link = new ServiceLink({ enrolment, env, now });
    const maker: Maker = { ...own, clockAheadMs: () => link.clockAheadMs };
    // Each message gets one attempt, so there are no waits to spread.
    const send: SenderOptions['send'] = (message) => link.send(message);
    const sender = new Sender({ maker, send, random: () => 0, log: silentLog });
    try {
      const startedMs = now();
      await untilSigned(maker);
      await makeReports(maker);
      while (await sender.step());
      const { settled } = sender;
      const { reportsWaiting, challengesOpen } = statusOf(outbox, enrolment.dataPlaneId, {
        mode,
        nowMs: now(),
      });
      const waits = reportsWaiting + challengesOpen > 0;
      const { heldReason } = outbox.held.known();
      // The serving process finds the head in its heads.db before it signs again.
      if (heldReason?.startsWith('rolled_back') === true)
        await holdToReported(dataDir, { remember: true }).catch(() => {});
      const wait = waits ? (outbox.contact().failure ?? 'put_off: it is tried again') : null;
      const failure = heldReason ?? wait;
      const refused = refusedSince(maker, startedMs);
      return { settled, refused, reportsWaiting, challengesOpen, failure };
    } finally {
      link.close();
    }
  } finally {
    close();
  }
}

/** Counts refusals by time and not by difference, because another report may replace an earlier refusal. */
function refusedSince({ outbox, enrolment }: Maker, startedMs: number): number {
  const { refused, challenges } = outbox.summary(enrolment.dataPlaneId, startedMs - 1);
  return refused.reports + challenges.refused;
}
