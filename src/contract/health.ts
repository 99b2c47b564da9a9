/** Health probes: overall state, liveness, readiness (contract N8, N9). */
import { Type } from 'typebox';
import { operation } from './operation.ts';
import { timestamp } from './shapes.ts';

const Health = Type.Object({
  status: Type.Union([Type.Literal('ok'), Type.Literal('degraded'), Type.Literal('unavailable')]),
  time: timestamp('Server time'),
  version: Type.Optional(Type.String()),
  reasons: Type.Optional(Type.Array(Type.String(), { description: 'Only with a credential' })),
});

const probe = (path: string, summary: string) =>
  operation({
    method: 'GET',
    path,
    tag: 'Health',
    stability: 'stable',
    origin: 'specification',
    scope: null,
    summary,
    success: { 200: Health, 503: Health },
    statuses: [],
  });

export const health = {
  getHealth: { ...probe('/health', 'Overall state; details with a credential only'), command: 'health' },
  getLiveness: probe('/health/live', 'Check that the event loop runs'),
  getReadiness: probe('/health/ready', 'Check that writes are durable now'),
} as const;
