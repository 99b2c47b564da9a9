/**
 * Sign-in at the identity provider from a machine without a browser: the device authorization grant (RFC 8628) of OpenID
 * Connect, with the client that the service names. The service checks the ID token, not this code.
 * Tested by `test/cli/auth/device.long.test.ts` against a real provider.
 */
import * as oauth from 'oauth4webapi';
import { GovNetworkError } from '../../client/errors.ts';
import { isLoopback } from '../../client/proxy.ts';
import { pause } from '../../client/retry.ts';
import type { AuthConfiguration } from '../../contract/auth.ts';
import { limits } from '../../contract/limits.ts';
import { CliError, exit } from '../program/exit.ts';
import type { Web } from '../context/web.ts';

/** The page and code to show to a person. The texts come from the provider. */
export interface DevicePage {
  readonly address: string;
  /** The address that contains the code, if the provider has one. */
  readonly wholeAddress: string | undefined;
  readonly userCode: string;
  readonly expiresInSeconds: number;
}

export interface DeviceOptions {
  readonly configuration: AuthConfiguration;
  readonly web: Web;
  readonly signal: AbortSignal;
  readonly show: (page: DevicePage) => Promise<void>;
}

const defaultIntervalSeconds = 5;
const slowDownSeconds = 5;

/**
 * Returns the ID token after the person has signed in. Errors: exit 2 if the provider has no device grant, 4 if the
 * person refuses, 8 if the code expires first, 10 if the response is not that of an identity provider.
 */
export async function deviceIdToken(options: DeviceOptions): Promise<string> {
  const { configuration, web, signal, show } = options;
  const issuer = new URL(configuration.issuer);
  const client = { client_id: configuration.clientId };
  const request = {
    signal,
    // an unencrypted request must not leave this machine
    [oauth.allowInsecureRequests]: isLoopback(issuer.hostname),
    [oauth.customFetch]: web.fetch.bind(web),
  };
  try {
    const server = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, request),
    );
    if (server.device_authorization_endpoint === undefined) throw noDeviceGrant(configuration.issuer);
    const asked = await oauth.deviceAuthorizationRequest(
      server,
      client,
      oauth.None(),
      // asks the person to sign in again after an older sign-in, which the service would reject
      { scope: configuration.scopes.join(' '), max_age: String(limits.signInAgeSeconds) },
      request,
    );
    const device = await oauth.processDeviceAuthorizationResponse(server, client, asked);
    await show({
      address: device.verification_uri,
      wholeAddress: device.verification_uri_complete,
      userCode: device.user_code,
      expiresInSeconds: device.expires_in,
    });
    return await poll(device, signal, async () => {
      const answered = await oauth.deviceCodeGrantRequest(
        server,
        client,
        oauth.None(),
        device.device_code,
        request,
      );
      return oauth.processDeviceCodeResponse(server, client, answered);
    });
  } catch (cause) {
    throw explained(cause, configuration.issuer);
  }
}

type TokenAnswer = Awaited<ReturnType<typeof oauth.processDeviceCodeResponse>>;

/** Polls until the person has answered (RFC 8628 section 3.5). */
async function poll(
  device: oauth.DeviceAuthorizationResponse,
  signal: AbortSignal,
  ask: () => Promise<TokenAnswer>,
): Promise<string> {
  const deadline = performance.now() + device.expires_in * 1000;
  let intervalSeconds = device.interval ?? defaultIntervalSeconds;
  while (performance.now() + intervalSeconds * 1000 <= deadline) {
    await pause(intervalSeconds * 1000, signal);
    try {
      const { id_token: idToken } = await ask();
      if (idToken !== undefined) return idToken;
      throw new CliError(
        exit.network,
        'expected an ID token from the identity provider, got a response without one',
        {
          code: 'NO_ID_TOKEN',
          hint: 'allow the scope openid for this client at the provider',
        },
      );
    } catch (cause) {
      intervalSeconds += slowerBy(cause);
    }
  }
  throw codeEnded();
}

/** Returns the seconds to add to the interval if the client should poll again; rethrows any other error. */
function slowerBy(cause: unknown): number {
  if (cause instanceof GovNetworkError && cause.retryable) return slowDownSeconds;
  if (!(cause instanceof oauth.ResponseBodyError)) throw cause;
  if (cause.error === 'authorization_pending') return 0;
  if (cause.error === 'slow_down') return slowDownSeconds;
  throw cause;
}

const codeEnded = (): CliError =>
  new CliError(exit.pending, 'nobody signed in before the code expired', {
    code: 'PENDING',
    next: ['gov auth login'],
  });

const noDeviceGrant = (issuer: string): CliError =>
  new CliError(exit.usage, `the identity provider ${issuer} does not support the device grant`, {
    code: 'NO_DEVICE_GRANT',
    hint: 'get an ID token another way and pass it with --id-token FILE, or use an API key: --api-key-stdin',
  });

/** Describes an error of the provider. Returns the tool's own errors unchanged. */
function explained(cause: unknown, issuer: string): unknown {
  if (cause instanceof oauth.ResponseBodyError) {
    if (cause.error === 'expired_token') return codeEnded();
    const said = `${cause.error}${cause.error_description === undefined ? '' : `: ${cause.error_description}`}`;
    if (cause.error === 'access_denied')
      return new CliError(exit.denied, `the sign-in was refused at ${issuer}`, {
        code: 'ACCESS_DENIED',
        cause,
      });
    return new CliError(exit.denied, `the identity provider ${issuer} refused: ${said}`, {
      code: 'REFUSED',
      cause,
    });
  }
  const isProtocol =
    cause instanceof oauth.OperationProcessingError ||
    cause instanceof oauth.UnsupportedOperationError ||
    cause instanceof oauth.WWWAuthenticateChallengeError;
  if (!isProtocol) return cause;
  return new CliError(
    exit.network,
    `expected an identity provider at ${issuer}, got another response: ${cause.message}`,
    {
      code: 'INVALID_RESPONSE',
      hint: 'the service names this issuer; check the address and any proxy on the way',
      cause,
    },
  );
}
