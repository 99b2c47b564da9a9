/** Deliveries of reports: what was sent where, and what became of it (contract L9, L10). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { operation } from './operation.ts';
import { Delivery, deliveryStatuses, executionId } from './report-parts.ts';
import { exact, oneOf, page, paging, serviceId, timestamp } from './shapes.ts';

const Listed = Type.Object({
  ...Delivery.properties,
  executionId,
  createdAt: timestamp('When it was requested'),
});
export type ListedDelivery = Static<typeof Listed>;

const params = exact({ deliveryId: serviceId('dlv') });
const row = { tag: 'Reporting', stability: 'beta', origin: 'extension' } as const;
const reads = { ...row, scope: 'reporting:read' } as const;

export const reportDeliveries = {
  listReportDeliveries: operation({
    ...reads,
    method: 'GET',
    path: '/reporting/deliveries',
    command: 'report deliveries list',
    summary: 'List deliveries of reports, newest first',
    query: exact({
      status: Type.Optional(oneOf(deliveryStatuses)),
      executionId: Type.Optional(executionId),
      ...paging,
    }),
    success: { 200: page(Listed) },
    statuses: [400, 401, 402, 403, 500],
  }),
  getReportDelivery: operation({
    ...reads,
    method: 'GET',
    path: '/reporting/deliveries/{deliveryId}',
    command: 'report deliveries get',
    summary: 'Get a delivery: attempts, and why it failed',
    params,
    success: { 200: Listed },
    statuses: [401, 402, 403, 404, 500],
  }),
  retryReportDelivery: operation({
    ...row,
    scope: 'reporting:write',
    method: 'POST',
    path: '/reporting/deliveries/{deliveryId}/retry',
    command: 'report deliveries retry',
    summary: 'Send a failed delivery again, under the same id',
    params,
    success: { 202: Listed },
    statuses: [401, 402, 403, 404, 409, 500],
  }),
} as const;
