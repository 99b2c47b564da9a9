/**
 * The ID token of a sign-in: from the provider's device grant, a file, standard input or the CI job. Never from the
 * command line, which others on the machine can read. Tested by `test/cli/auth/id-token.test.ts`.
 */
import type { Client } from '../../client/create.ts';
import { GovApiError } from '../../client/errors.ts';
import type { AuthConfiguration } from '../../contract/auth.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { readInput } from '../terminal/input.ts';
import type { Io } from '../terminal/io.ts';
import type { Out } from '../terminal/out.ts';
import { safe } from '../terminal/safe.ts';
import type { Session } from '../context/session.ts';
import type { DevicePage } from './device.ts';
import { checkIdToken, isIdToken } from './id-token-shape.ts';
import { Web } from '../context/web.ts';

interface IdTokenFlags {
  readonly idToken: string | undefined;
  readonly ci: boolean;
  readonly open: boolean;
}

interface Surroundings {
  readonly flags: IdTokenFlags;
  readonly session: Session;
  readonly out: Out;
  readonly io: Io;
  readonly signal: AbortSignal;
}

/** Returns the ID token that the flags name. Without a flag, a person signs in at the provider's page. */
export async function idTokenOf(client: Client, call: Surroundings): Promise<string> {
  const { flags, io, signal } = call;
  if (flags.idToken !== undefined && flags.ci) throw usage('expected one of --id-token and --ci, got both');
  if (flags.idToken !== undefined) {
    if (isIdToken(flags.idToken))
      throw usage(
        '--id-token: expected a file, or - for standard input, got a token; others on this machine can read it',
        'treat that token as known to others',
      );
    const { bytes } = await readInput(flags.idToken, { io, signal });
    return checkIdToken(flags.idToken, Buffer.from(bytes).toString());
  }
  const configuration = await configurationOf(client);
  const web = new Web({ ...call.session.webOptions(), signal });
  try {
    if (flags.ci) {
      const { ambientIdToken } = await import('./ambient.ts');
      return await ambientIdToken(io, configuration.clientId, web);
    }
    if (call.out.settings.noInput)
      throw usage(
        'nobody can sign in here: this is a CI job, or --no-input was given',
        'use --ci, --id-token FILE or --api-key-stdin',
      );
    const { deviceIdToken } = await import('./device.ts');
    return await deviceIdToken({ configuration, web, signal, show: (page) => show(page, call) });
  } finally {
    web.close();
  }
}

async function configurationOf(client: Client): Promise<AuthConfiguration> {
  try {
    return (await client.getAuthConfiguration()).body;
  } catch (cause) {
    if (!(cause instanceof GovApiError) || cause.status !== 404) throw cause;
    throw new CliError(exit.usage, 'people cannot sign in at this service: it has no identity provider', {
      code: 'NO_IDENTITY_PROVIDER',
      hint: 'use an API key: gov auth login --api-key-stdin',
      cause,
    });
  }
}

async function show(page: DevicePage, { flags, out, io }: Surroundings): Promise<void> {
  const { address, wholeAddress, userCode, expiresInSeconds } = page;
  const minutes = Math.max(1, Math.floor(expiresInSeconds / 60));
  await out.prompt(safe`Open  ${address}\nCode  ${userCode}\n`);
  if (wholeAddress !== undefined) await out.prompt(safe`or    ${wholeAddress}\n`);
  await out.note(safe`waiting for the sign-in, at most ${minutes} min; Ctrl-C ends it`);
  if (!flags.open) return;
  const { openPage } = await import('../terminal/browser.ts');
  const why = await openPage(wholeAddress ?? address, io.env).catch((cause: unknown) =>
    cause instanceof Error ? cause.message : 'no browser was opened',
  );
  if (why !== null) await out.warn(safe`no browser opened: ${why}`);
}
