/**
 * The environment of a program that `gov run` starts: its run, and where to send telemetry. Source: OpenTelemetry
 * specification, "OpenTelemetry Protocol Exporter" and "Environment Variable Specification".
 * Tested by `test/cli/commands/run/program.test.ts`.
 */
import { projectHeader } from '../../contract/auth-words.ts';
import type { Invocation } from '../context/command.ts';

/** Returns the variables of this process with those of the run. The receiver speaks OTLP over HTTP alone. */
export function environmentOf(
  { io, session, settings }: Pick<Invocation, 'io' | 'session' | 'settings'>,
  runId: string,
): NodeJS.ProcessEnv {
  const { env } = io;
  const project = session.project()?.value;
  const key = session.apiKey()?.value;
  const headers = [
    ...(key === undefined ? [] : [`authorization=${encodeURIComponent(`Bearer ${key}`)}`]),
    ...(project === undefined ? [] : [`${projectHeader}=${encodeURIComponent(project)}`]),
  ];
  const attributes = [env['OTEL_RESOURCE_ATTRIBUTES'], `gov.run=${encodeURIComponent(runId)}`];
  const protocol = env['OTEL_EXPORTER_OTLP_PROTOCOL'] ?? '';
  return {
    ...env,
    GOV_RUN: runId,
    OTEL_EXPORTER_OTLP_ENDPOINT: `${session.baseUrl().value.replace(/\/+$/, '')}/otlp`,
    OTEL_EXPORTER_OTLP_HEADERS: headers.join(','),
    OTEL_EXPORTER_OTLP_PROTOCOL: protocol.startsWith('http/') ? protocol : 'http/protobuf',
    OTEL_RESOURCE_ATTRIBUTES: attributes.filter(Boolean).join(','),
    ...(settings.cacert === undefined ? {} : { OTEL_EXPORTER_OTLP_CERTIFICATE: settings.cacert }),
  };
}
