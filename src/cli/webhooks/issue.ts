/**
 * Shows the secret of an endpoint once, or writes it to a file made beforehand.
 * Tested by `test/cli/commands/webhooks/create.test.ts`.
 */
import { resolve } from 'node:path';
import type { WebhookEndpoint, WebhookSigning } from '../../contract/webhooks.ts';
import { shellWord } from '../../core/shell-word.ts';
import { refuseOpenPlace, reserveSecretFile, type SecretPlace } from '../context/secret-file.ts';
import type { Invocation } from '../context/command.ts';
import { CliError, exit } from '../program/exit.ts';
import { safe } from '../terminal/safe.ts';
import { plainView } from '../terminal/view.ts';

interface IssuedSecret {
  /** Null with `v1a`: the receiver verifies with the public key. */
  readonly secret: string | null;
  readonly endpoint: WebhookEndpoint;
}

/** Makes the secret and delivers it. */
export async function issueSecret(
  { out, io }: Pick<Invocation, 'out' | 'io'>,
  target: SecretPlace & { readonly signing?: WebhookSigning | undefined },
  make: () => Promise<IssuedSecret>,
): Promise<void> {
  if (target.signing !== 'v1a') refuseOpenPlace(out, target);
  const path = target.out === undefined ? undefined : resolve(io.cwd, target.out);
  const file = path === undefined ? null : reserveSecretFile(path, target);
  const { secret, endpoint } = await make().catch((cause: unknown) => {
    file?.cancel();
    throw cause;
  });
  if (secret === null) {
    file?.cancel();
    return showKey(out, endpoint);
  }
  try {
    file?.write(`${secret}\n`);
  } catch (cause) {
    throw new CliError(
      exit.error,
      `the secret of ${endpoint.endpointId} was made and is lost: ${String(cause)}`,
      {
        code: 'WRITE_FAILED',
        next: [`gov webhooks rotate ${shellWord(endpoint.endpointId)}`],
        cause,
      },
    );
  }
  const shown = path === undefined ? { secret } : { secretFile: path };
  if (out.isJson || out.format === 'yaml') await out.one({ ...shown, endpoint }, plainView([]));
  else {
    const value = { ...shown, ...endpoint };
    await out.one(value, plainView(Object.keys(value), 'endpointId'));
  }
  if (path === undefined) await out.note(safe`gov shows the secret only this once`);
}

async function showKey(out: Invocation['out'], endpoint: WebhookEndpoint): Promise<void> {
  if (out.isJson || out.format === 'yaml') await out.one({ secret: null, endpoint }, plainView([]));
  else await out.one(endpoint, plainView(Object.keys(endpoint), 'endpointId'));
  await out.note(
    safe`there is no secret to keep: the receiver verifies with ${endpoint.publicKeys[0]?.publicKey ?? 'the public key'}`,
  );
}
