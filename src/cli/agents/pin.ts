/**
 * Which key hooks have, and which plane it is for: what `gov agents install` writes into the connection file, so that hooks
 * send no key and take no answer of another program. The keys of the plane come from its directory, or from its address at
 * the time of the installation. Tested by `test/cli/agents/pin.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '../../client/create.ts';
import { GovApiError, GovNetworkError } from '../../client/errors.ts';
import { pinning, type Pinning } from '../../client/pinned.ts';
import type { Variables } from '../context/config.ts';
import type { Context } from '../context/definition.ts';
import type { Session } from '../context/session.ts';
import { keysIn, reach, userConnectionFile, type HookConnection } from './connection-file.ts';

/** Null where TLS proves the plane, where it is of an older version, and where the user may not read its keys. Errors: those of the requests. */
export async function madePin(
  session: Session,
  { key, context }: { readonly key: string; readonly context: Context | undefined },
): Promise<Required<NonNullable<HookConnection['pin']>> | null> {
  const baseUrl = session.baseUrl().value;
  if (new URL(baseUrl).protocol === 'https:') return null;
  const options = { baseUrl, apiKey: key, env: session.webOptions().env ?? {}, retries: 1 };
  const plain = createClient(options);
  try {
    const { id: keyId, projectId, type } = (await plain.getIdentity()).body;
    if (type !== 'api_key') return null;
    const planeKeys = keysIn(
      context?.kind === 'plane'
        ? readFileSync(join(context.dataDir, 'trust'), 'utf8')
        : String((await (await session.client()).getLogKey()).body),
    );
    const pin = { keyId, projectId, planeKeys };
    const pinned = createClient({ ...options, pin: pinning(key, pin) });
    try {
      await pinned.getIdentity();
      return pin;
    } finally {
      pinned.close();
    }
  } catch (cause) {
    const isOlder =
      (cause instanceof GovApiError && (cause.status === 401 || cause.status === 403)) ||
      (cause instanceof GovNetworkError && cause.code === 'UNPROVEN_ANSWER');
    if (isOlder) return null;
    throw cause;
  } finally {
    plain.close();
  }
}

/** Finds the pin of a key of hooks, for programs that use the same key at the same address. */
export const pinOfHooks =
  (env: Variables) =>
  ({ baseUrl, key }: { readonly baseUrl: string; readonly key: string | undefined }): Pinning | null => {
    for (const path of [userConnectionFile(env), '/etc/gov/agents.json'])
      try {
        const found = reach(path);
        const isSame = new URL(found.baseUrl).origin === new URL(baseUrl).origin && found.key === key;
        if (isSame && found.pin !== null) return found.pin;
      } catch {
        // no such file, or nothing in it that this user may read
      }
    return null;
  };
