/**
 * Receiving OpenTelemetry: OTLP/HTTP, outside the table because bodies and errors have the forms of that protocol.
 * Exporters append `/v1/<signal>` to their endpoint, so each operation is also at the root (contract P17).
 * Source: OTLP specification 1.9, section OTLP/HTTP.
 */
import { Type } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { freeObject } from './shapes.ts';

export const otlpSignals = ['traces', 'logs', 'metrics'] as const;
export type OtlpSignal = (typeof otlpSignals)[number];

/** The count of rejected records, by the name that the protocol gives it. */
export const rejectedCounts = {
  traces: 'rejectedSpans',
  logs: 'rejectedLogRecords',
  metrics: 'rejectedDataPoints',
} as const satisfies Readonly<Record<OtlpSignal, string>>;

const receiver = <const Signal extends OtlpSignal>(signal: Signal, summary: string) =>
  operation({
    method: 'POST',
    path: `/otlp/v1/${signal}`,
    tag: 'Audit Events',
    stability: 'beta',
    origin: 'extension',
    scope: 'events:write',
    ...(signal === 'metrics' ? {} : { meters: 'audit_event' }),
    summary,
    body: freeObject,
    bodyBytes: limits.otlpBodyBytes,
    success: {
      200: Type.Object({
        partialSuccess: Type.Optional(
          Type.Object({
            [rejectedCounts[signal]]: Type.String({ pattern: '^[0-9]+$' }),
            errorMessage: Type.String({ description: 'Why the first one was rejected' }),
          }),
        ),
      }),
    },
    statuses: [400, 401, 413, 415, 429, 500, 503],
  });

export const receivers = {
  receiveTraces: receiver('traces', 'Receive spans of agents from an OpenTelemetry exporter'),
  receiveLogs: receiver('logs', 'Receive log records of agents from an OpenTelemetry exporter'),
  receiveMetrics: receiver('metrics', 'Receive metrics: counted, not recorded'),
} as const;

export type ReceiverId = keyof typeof receivers;

export const receiverOf = {
  traces: 'receiveTraces',
  logs: 'receiveLogs',
  metrics: 'receiveMetrics',
} as const satisfies Readonly<Record<OtlpSignal, ReceiverId>>;
