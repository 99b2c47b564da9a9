/**
 * Variables of OpenTelemetry that keep telemetry from a plane although a program sends it: they switch it off, send a part
 * of it elsewhere, or leave spans out. `gov doctor` and `gov run` name them. Source: OpenTelemetry specification,
 * "Environment Variable Specification" and "OpenTelemetry Protocol Exporter".
 * Tested by `test/cli/commands/run/telemetry-variables.test.ts`.
 */
import type { Variables } from '../context/config.ts';

export interface LostTelemetry {
  readonly variable: string;
  /** What is lost, in words that follow the variable. */
  readonly effect: string;
}

/** Signals with records of agents. */
const signals = ['TRACES', 'LOGS'] as const;
const words = { TRACES: 'spans', LOGS: 'log records' } as const;

/** Returns the variables with what each loses. `baseUrl`: that of the plane; null where there is none. */
export function lostTelemetry(env: Variables, baseUrl: string | null): LostTelemetry[] {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true')
    return [{ variable: 'OTEL_SDK_DISABLED', effect: 'programs send no telemetry' }];
  return [...signals.flatMap((signal) => lostOf(signal, env, baseUrl)), ...sampled(env)];
}

function lostOf(signal: (typeof signals)[number], env: Variables, baseUrl: string | null): LostTelemetry[] {
  const of = (name: string) => {
    const value = env[name]?.trim();
    return value === undefined || value === '' ? undefined : value;
  };
  const lost = (variable: string, effect: string) => [{ variable, effect: `${words[signal]} ${effect}` }];
  const prefix = `OTEL_EXPORTER_OTLP_${signal}`;
  const exporters = of(`OTEL_${signal}_EXPORTER`);
  if (exporters !== undefined && !exporters.split(',').some((each) => each.trim() === 'otlp'))
    return lost(`OTEL_${signal}_EXPORTER`, `are not sent over OTLP, but to ${exporters}`);
  const endpoint = of(`${prefix}_ENDPOINT`);
  const isElsewhere =
    endpoint !== undefined && (baseUrl === null || originOf(endpoint) !== originOf(baseUrl));
  if (isElsewhere) return lost(`${prefix}_ENDPOINT`, `go to ${endpoint}`);
  const protocol = of(`${prefix}_PROTOCOL`);
  if (protocol?.startsWith('http/') === false)
    return lost(`${prefix}_PROTOCOL`, `are sent as ${protocol}, and gov takes HTTP alone`);
  return of(`${prefix}_HEADERS`) === undefined
    ? []
    : lost(`${prefix}_HEADERS`, 'have these headers in place of the key of gov');
}

function sampled(env: Variables): LostTelemetry[] {
  const variable = 'OTEL_TRACES_SAMPLER';
  const sampler = env[variable]?.trim().toLowerCase() ?? '';
  if (sampler.endsWith('always_off')) return [{ variable, effect: 'no span is sent' }];
  const ratio = Number(env['OTEL_TRACES_SAMPLER_ARG'] ?? 1);
  return sampler.endsWith('traceidratio') && ratio < 1
    ? [{ variable, effect: `${ratio * 100} % of the traces are sent` }]
    : [];
}

function originOf(address: string): string | null {
  try {
    return new URL(address).origin;
  } catch {
    return null;
  }
}
