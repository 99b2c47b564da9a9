/**
 * System events of deliveries (contract O8): which report left the system, and which could not. Proven by
 * `test/service/reports/deliveries/due.test.ts`.
 */
import type { EventDraft } from '../../../core/events/record.ts';
import { systemEvent } from '../../writes/system.ts';
import type { StoredDelivery } from './document.ts';
import { maskedTarget } from '../../outbox/masked.ts';

interface Context {
  readonly nowMs: number;
  readonly salt: () => string;
}

interface DeliveryEvent {
  readonly deliveryId: string;
  readonly executionId: string;
  readonly delivery: StoredDelivery;
}

const service = { id: 'gov', type: 'service' };

const memberOf = ({ executionId, delivery }: DeliveryEvent) => {
  const { channel, target, format, attempts, lastStatusCode } = delivery;
  return { executionId, channel, target: maskedTarget(channel, target), format, attempts, lastStatusCode };
};

/** A report left the system. */
export const reportDelivered = (
  of: DeliveryEvent & { readonly sha256: string },
  context: Context,
): EventDraft =>
  systemEvent(
    {
      eventType: 'report.delivered',
      action: 'deliver',
      actor: service,
      resource: { id: of.deliveryId, type: 'delivery' },
      metadata: { ...memberOf(of), sha256: of.sha256 },
    },
    context,
  );

/** A delivery failed, and nobody tries it again by itself. */
export const deliveryFailed = (of: DeliveryEvent, context: Context): EventDraft =>
  systemEvent(
    {
      eventType: 'delivery.failed',
      action: 'fail',
      actor: service,
      resource: { id: of.deliveryId, type: 'delivery' },
      metadata: { ...memberOf(of), errorSummary: of.delivery.errorSummary },
    },
    context,
  );

/** Somebody had a failed delivery sent again. */
export const deliveryRetried = (
  of: DeliveryEvent,
  { by, ...context }: Context & { readonly by: { readonly id: string; readonly type: string } },
): EventDraft =>
  systemEvent(
    {
      eventType: 'delivery.retried',
      action: 'retry',
      actor: { id: by.id, type: by.type },
      resource: { id: of.deliveryId, type: 'delivery' },
      metadata: memberOf(of),
    },
    context,
  );
