/**
 * `gov plane telemetry send`: reports at once what was recorded, and sends what waits, beside the serving plane or
 * without it. Where both send the same message the service answers both alike, and the outbox takes one answer.
 * Proven by `test/plane/telemetry/send-now.test.ts` and `test/plane/telemetry/refused.test.ts`.
 */
import type { Environment } from '../../src/client/proxy.ts';
import { GovError } from '../../src/contract/problems.ts';
import { silentLog } from '../../src/service/call/log.ts';
import { openMaker, untilSigned } from './by-file.ts';
import { readTelemetrySettings } from '../enrolment/stored.ts';
import { ServiceLink } from '../enrolment/link.ts';
import { makeReports, type Maker } from './report.ts';
import { holdToReported } from './reported.ts';
import { Sender, type SenderOptions } from './sender.ts';
import { statusOf, type TelemetryStatus } from '../serve/status.ts';

export interface SendOptions {
  readonly dataDir: string;
  /** Where HTTP_PROXY, HTTPS_PROXY and NO_PROXY are read. */
  readonly env: Environment;
}

export interface Sent extends Pick<TelemetryStatus, 'reportsWaiting' | 'challengesOpen'> {
  /** Messages that were settled: reports, and answers to challenges. */
  readonly settled: number;
  /** What was refused meanwhile, and still is. */
  readonly refused: number;
  /** Why the rest waits; null where nothing does. */
  readonly failure: string | null;
}

/**
 * A report of what was recorded until now, once it is signed, and every message that waits. An attempt that fails ends
 * it; what waits then goes with the plane's next attempt.
 * CONFLICT where the mode is not `auto`, NOT_FOUND where the plane is not enrolled.
 */
export async function sendUsage({ dataDir, env }: SendOptions): Promise<Sent> {
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
    // one attempt each, so there are no waits to spread
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
      const { heldReason } = outbox.known();
      // the serving process finds the head in its heads.db before it signs again
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

/** By when, not by how many more there are: what was refused before may be replaced meanwhile. */
function refusedSince({ outbox, enrolment }: Maker, startedMs: number): number {
  const { refused, challenges } = outbox.summary(enrolment.dataPlaneId, startedMs - 1);
  return refused.reports + challenges.refused;
}
