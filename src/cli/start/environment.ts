/**
 * The environment of a program that `gov run` starts: its run, and where to send telemetry. Source: OpenTelemetry
 * specification, "OpenTelemetry Protocol Exporter" and "Environment Variable Specification".
 * Tested by `test/cli/commands/run/program.test.ts`.
 */
import { projectHeader } from '../../contract/auth-words.ts';
import { limits } from '../../contract/limits.ts';
import { createRunToken, isRunToken, runScopes } from '../../core/run-token.ts';
import type { Invocation } from '../context/command.ts';

type Call = Pick<Invocation, 'io' | 'session' | 'settings'>;

/** The variables and files from which gov takes credentials. Programs that it starts do not get them. */
const credentials =
  'GOV_API_KEY GOV_API_KEY_FILE GOV_ID_TOKEN GOV_ID_TOKEN_FILE GOV_CLIENT_KEY CREDENTIALS_DIRECTORY'.split(
    ' ',
  );

export const withoutCredentials = (env: Readonly<NodeJS.ProcessEnv>): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !credentials.includes(name)));

/**
 * Returns a token of the run, made from the API key that gov uses; null without an API key, such as after a sign-in. It
 * costs one request, which says which key it is.
 */
export async function runTokenOf({ io, session }: Call, runId: string): Promise<string | null> {
  const key = session.apiKey()?.value;
  if (key === undefined || isRunToken(key)) return key ?? null;
  const { type, id: keyId, projectId } = (await (await session.client()).getIdentity()).body;
  if (type !== 'api_key') return null;
  const expiresMs = io.now() + limits.runTokenDays * 86_400_000;
  return createRunToken({ keyId, key }, { runId, projectId, expiresMs, scopes: runScopes });
}

/**
 * Returns the variables of this process with those of the run, and without the credentials of gov. The receiver speaks OTLP
 * over HTTP alone.
 */
export function environmentOf(
  { io, session, settings }: Call,
  { runId, token }: { readonly runId: string; readonly token: string | null },
): NodeJS.ProcessEnv {
  const env = withoutCredentials(io.env);
  const project = session.project()?.value;
  const headers = [
    ...(token === null ? [] : [`authorization=${encodeURIComponent(`Bearer ${token}`)}`]),
    ...(project === undefined ? [] : [`${projectHeader}=${encodeURIComponent(project)}`]),
  ];
  const attributes = [env['OTEL_RESOURCE_ATTRIBUTES'], `gov.run=${encodeURIComponent(runId)}`];
  const protocol = env['OTEL_EXPORTER_OTLP_PROTOCOL'] ?? '';
  return {
    ...env,
    GOV_RUN: runId,
    ...(token === null ? {} : { GOV_API_KEY: token }),
    OTEL_EXPORTER_OTLP_ENDPOINT: `${session.baseUrl().value.replace(/\/+$/, '')}/otlp`,
    OTEL_EXPORTER_OTLP_HEADERS: headers.join(','),
    OTEL_EXPORTER_OTLP_PROTOCOL: protocol.startsWith('http/') ? protocol : 'http/protobuf',
    OTEL_RESOURCE_ATTRIBUTES: attributes.filter(Boolean).join(','),
    ...(settings.cacert === undefined ? {} : { OTEL_EXPORTER_OTLP_CERTIFICATE: settings.cacert }),
  };
}
