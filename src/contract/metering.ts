/** Usage of metered operations, and the thresholds of quotas (contract I7-I10, C6); extensions of the specification. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { meteredTypes, operation } from './operation.ts';
import { exact, nullable, oneOf, timestamp } from './shapes.ts';

const Usage = Type.Object({
  period: Type.String({ pattern: '^[0-9]{4}-[0-9]{2}$', description: 'Calendar month, UTC' }),
  items: Type.Array(
    Type.Object({
      type: oneOf(meteredTypes),
      used: Type.Integer({ minimum: 0 }),
      hybrid: Type.Integer({ minimum: 0, description: 'The part that data planes reported' }),
      limit: nullable(Type.Integer({ minimum: 0, description: 'null: unlimited' })),
      remaining: nullable(Type.Integer({ minimum: 0 })),
      resetAt: timestamp('When the next period begins'),
    }),
  ),
});
export type Usage = Static<typeof Usage>;

const Thresholds = exact({
  percents: Type.Array(Type.Integer({ minimum: 1, maximum: 100 }), {
    minItems: 1,
    maxItems: limits.thresholds,
    uniqueItems: true,
    description: 'Percentages of a quota. An audit event records each one once a month',
  }),
});

const extension = { tag: 'Metering', stability: 'beta', origin: 'extension' } as const;

export const metering = {
  getUsage: operation({
    ...extension,
    method: 'GET',
    path: '/metering/usage',
    scope: 'projects:read',
    summary: 'Get the metered operations of a month and their quotas',
    query: exact({
      period: Type.Optional(
        Type.String({
          pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$',
          maxLength: 7,
          description: 'Default: this month',
        }),
      ),
    }),
    success: { 200: Usage },
    statuses: [400, 401, 500],
  }),
  getThresholds: operation({
    ...extension,
    method: 'GET',
    path: '/metering/thresholds',
    scope: 'projects:read',
    command: 'usage thresholds',
    summary: 'Get the percentages of a quota that the service records as events',
    tagged: true,
    success: { 200: Thresholds },
    statuses: [401, 500],
  }),
  putThresholds: operation({
    ...extension,
    method: 'PUT',
    path: '/metering/thresholds',
    scope: 'projects:write',
    summary: 'Set the percentages of a quota that the service records as events',
    body: Thresholds,
    ifMatch: true,
    success: { 200: Thresholds },
    statuses: [400, 401, 500],
  }),
} as const;
