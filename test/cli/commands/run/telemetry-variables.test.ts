import { describe, expect, it } from 'vitest';
import { lostTelemetry } from '../../../../src/cli/start/telemetry-variables.ts';

const plane = 'http://127.0.0.1:7460/api/v1';
const variablesOf = (env: Record<string, string>, baseUrl: string | null = plane): string[] =>
  lostTelemetry(env, baseUrl).map(({ variable }) => variable);

describe('a variable of OpenTelemetry', () => {
  it.each([
    [{ OTEL_SDK_DISABLED: 'TRUE', OTEL_TRACES_EXPORTER: 'none' }, ['OTEL_SDK_DISABLED']],
    [{ OTEL_TRACES_EXPORTER: 'none' }, ['OTEL_TRACES_EXPORTER']],
    [{ OTEL_LOGS_EXPORTER: 'console' }, ['OTEL_LOGS_EXPORTER']],
    [
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector.example/v1/traces' },
      ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'],
    ],
    [{ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'nowhere' }, ['OTEL_EXPORTER_OTLP_LOGS_ENDPOINT']],
    [{ OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: 'grpc' }, ['OTEL_EXPORTER_OTLP_LOGS_PROTOCOL']],
    [{ OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'api-key=x' }, ['OTEL_EXPORTER_OTLP_TRACES_HEADERS']],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, ['OTEL_TRACES_SAMPLER']],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.1' }, ['OTEL_TRACES_SAMPLER']],
  ])('that keeps telemetry from the plane is named: %j', (env, names) => {
    expect(variablesOf(env)).toEqual(names);
  });

  it.each([
    {},
    { OTEL_SDK_DISABLED: 'false', OTEL_TRACES_EXPORTER: 'console,otlp', OTEL_LOGS_EXPORTER: '' },
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:7460/v1/traces' },
    { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json', OTEL_METRICS_EXPORTER: 'none' },
    { OTEL_TRACES_SAMPLER: 'parentbased_always_on' },
    { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1' },
  ])('that keeps nothing from the plane is not named: %j', (env) => {
    expect(variablesOf(env)).toEqual([]);
  });

  it('that names any address is named where there is no plane', () => {
    const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:7460/v1/traces' };
    expect(variablesOf(env, null)).toEqual(['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']);
  });
});
