/**
 * System events of webhook endpoints (contract O8): where data may leave to, and who decided it. Of the address the log
 * has the host, because path and query may contain secrets. Proven by `test/service/webhooks/handlers.test.ts`.
 */
import type { DisabledReason } from '../../contract/webhooks.ts';
import type { EventDraft } from '../../core/events/record.ts';
import type { EventContext } from '../access/project-events.ts';
import { systemEvent } from '../writes/system.ts';
import type { EndpointData } from './endpoint.ts';

type Change = 'created' | 'updated' | 'deleted' | 'rotated';
const actions: Readonly<Record<Change, string>> = {
  created: 'create',
  updated: 'update',
  deleted: 'delete',
  rotated: 'rotate',
};

export const endpointChanged = (
  change: Change,
  { endpointId, data, enabled }: { endpointId: string; data: EndpointData; enabled: boolean },
  { by, ...context }: EventContext,
): EventDraft =>
  systemEvent(
    {
      eventType: `webhook_endpoint.${change}`,
      action: actions[change],
      actor: { id: by.id, type: by.type },
      resource: { id: endpointId, type: 'webhook_endpoint' },
      metadata: {
        host: new URL(data.url).host,
        events: [...data.events],
        enabled,
        // the log shows which key was that of the service
        ...(data.publicKey === undefined ? {} : { publicKey: data.publicKey }),
      },
    },
    context,
  );

/** The service disabled an endpoint. */
export const endpointDisabled = (
  { endpointId, reason }: { endpointId: string; reason: DisabledReason },
  context: { nowMs: number; salt: () => string },
): EventDraft =>
  systemEvent(
    {
      eventType: 'webhook_endpoint.disabled',
      action: 'disable',
      actor: { id: 'gov', type: 'service' },
      resource: { id: endpointId, type: 'webhook_endpoint' },
      metadata: { reason },
    },
    context,
  );
