/** A service whose scheduler is the test, with a real mail server and a real receiver of webhooks. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processDeliveries } from '../../../src/service/reports/deliveries/due.ts';
import { DeliverySlots } from '../../../src/service/reports/deliveries/slots.ts';
import type { Services } from '../../../src/service/port/services.ts';
import type { Bounds, Counts } from '../../../src/service/reports/bounds.ts';
import { processSchedules } from '../../../src/service/reports/schedules/due.ts';
import { processReports } from '../../../src/service/reports/worker.ts';
import { makeAuthority, type Issued } from '../../support/certificates.ts';
import { startService, type EngineName, type Tenant, type TestService } from '../../support/hosted.ts';
import { startMailbox, type Mailbox, type MailboxOptions } from '../../host/outbound/mailbox.ts';
import { startReceiver, type Receiver } from '../../support/network/receiver.ts';

export const cronSecret = 'a secret of the scheduler of a test'.replaceAll(' ', '-');
export const webhookSecret = `whsec_${randomBytes(32).toString('base64')}`;

export interface Reporting {
  readonly service: TestService;
  readonly tenant: Tenant;
  /** The production project of the tenant. */
  readonly projectId: string;
  readonly mailbox: Mailbox;
  readonly certificate: Issued;
  /** An address that the service may call. */
  readonly hookPort: number;
  end(): Promise<void>;
}

export async function startReporting({
  engine = 'sqlite',
  mailbox: mailboxOptions = {},
}: { engine?: EngineName; mailbox?: MailboxOptions } = {}): Promise<Reporting> {
  const authority = makeAuthority(mkdtempSync(join(tmpdir(), 'gov-reporting-')));
  const certificate = authority.issue('peer');
  const mailbox = await startMailbox({ certificate, ...mailboxOptions });
  // keeps a port for the receivers of tests, which come and go
  const probe = await startReceiver(certificate);
  await probe.close();
  const service = await startService({
    engine,
    env: { GOV_SCHEDULER: 'cron', GOV_CRON_SECRET: cronSecret },
    file: {
      smtp: {
        host: '127.0.0.1',
        port: mailbox.port,
        from: 'Reports <reports@gov.example>',
        ca: authority.certFile,
      },
      outboundAllow: [`127.0.0.1:${probe.port}`],
      outboundCa: authority.certFile,
    },
  });
  const tenant = await service.signUp('ada');
  const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
  return {
    service,
    tenant,
    projectId,
    mailbox,
    certificate,
    hookPort: probe.port,
    end: async () => {
      await service.end();
      await mailbox.close();
    },
  };
}

/** A receiver at the address that the service may call. */
export const receiverAt = (
  { certificate, hookPort }: Reporting,
  answer?: Parameters<typeof startReceiver>[1],
): Promise<Receiver> => startReceiver(certificate, answer, { port: hookPort });

/** The services of a process whose clock stands at this time. */
export const at = (services: Services, nowMs: number): Services => ({ ...services, now: () => nowMs });

const works = { schedules: processSchedules, deliveries: processDeliveries } as const;

/** Does all due work once. */
export async function work(
  services: Services,
  name: keyof typeof works,
  { isOver = () => false, slots = new DeliverySlots() }: Partial<Bounds & { slots: DeliverySlots }> = {},
): Promise<Counts> {
  const counts: Counts = { processed: 0, succeeded: 0, failed: 0, skipped: 0, createdIds: [] };
  await works[name](services, counts, { isOver, slots });
  return counts;
}

export const build = (services: Services) => processReports(services, { untilMs: Infinity, most: Infinity });
