/**
 * The key of hooks. The agent runs as the same user and can read it: it may evaluate and record, and read what proxies
 * need. gov plane init makes one; a service, and a plane without one, make another. Only a plane of an older version has no
 * operation for that, and hooks then use the operator's key, unless the user names another. Tested by `test/cli/agents/key.test.ts`.
 */
import { chmodSync, chownSync, existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createClient, type Client } from '../../client/create.ts';
import { GovApiError } from '../../client/errors.ts';
import { readSecret } from '../context/config.ts';
import type { Context } from '../context/definition.ts';
import type { Session } from '../context/session.ts';
import { usage } from '../program/exit.ts';
import { writeWhole } from '../terminal/output-file.ts';
import type { Scope } from './setup/edit.ts';
import { makeFolder } from '../../files/make-folder.ts';

export interface HookKey {
  readonly key: string;
  readonly file: string;
  /** Set if it was made for hooks. */
  readonly keyId: string | null;
  /** It may do more than hooks need. */
  readonly isOperators: boolean;
}

export interface KeyOptions {
  readonly session: Session;
  readonly context: Context | undefined;
  readonly scope: Scope;
  readonly folder: string;
  /** The file that the user named, as an absolute path. */
  readonly given: string | undefined;
}

export const ownKeyFile = (folder: string): string => join(folder, 'agents.key');

/** Returns a key that the plane accepts. Errors: exit 2 for a named file that cannot be used. */
export async function hookKey(options: KeyOptions): Promise<HookKey> {
  const { session, context, scope, folder, given } = options;
  if (given !== undefined)
    return { key: readSecret(given), file: resolve(given), keyId: null, isOperators: false };
  const own = context?.kind === 'plane' ? join(context.dataDir, 'agent.key') : null;
  if (own !== null && existsSync(own)) {
    const key = readSecret(own);
    // the proxies of a user have this key: a call that hook and proxy decide needs one approval
    const copied = scope === 'user' ? own : kept(key, { scope, folder });
    return { key, file: copied, keyId: null, isOperators: false };
  }
  const client = await session.client();
  const file = ownKeyFile(folder);
  if (existsSync(file) && (await isAccepted(client, readSecret(file))))
    return { key: readSecret(file), file, keyId: null, isOperators: false };
  return newKey(client, options);
}

async function newKey(client: Client, { session, scope, folder }: KeyOptions): Promise<HookKey> {
  const made = await madeKey(client);
  const key = made?.key ?? session.apiKey()?.value;
  if (key === undefined)
    throw usage('expected a key, found none', 'give --key-file, or set GOV_API_KEY_FILE');
  return {
    key,
    file: kept(key, { scope, folder }),
    keyId: made?.keyId ?? null,
    isOperators: made === null,
  };
}

/** Writes the key of an installation; returns its file. */
function kept(key: string, { scope, folder }: Pick<KeyOptions, 'scope' | 'folder'>): string {
  const file = ownKeyFile(folder);
  makeFolder(dirname(file));
  writeWhole(file, Buffer.from(`${key}\n`), 0o600);
  const group = Number(process.env['SUDO_GID'] ?? '0');
  if (scope === 'managed' && group > 0) {
    // the agents of this group read it
    chownSync(file, 0, group);
    chmodSync(file, 0o640);
  }
  return file;
}

/** Null on a plane of an older version, which has no operation for keys, and for a key that may not make others. */
async function madeKey(client: Client): Promise<{ key: string; keyId: string } | null> {
  const scopes = ['tools:evaluate', 'events:write'] as const;
  const body = { name: 'agents', description: 'Hooks, made by gov agents install', scopes: [...scopes] };
  try {
    const answer = await client.createApiKey({ body });
    return { key: answer.body.key, keyId: answer.body.record.keyId };
  } catch (cause) {
    if (cause instanceof GovApiError && (cause.status === 404 || cause.status === 403)) return null;
    throw cause;
  }
}

async function isAccepted(like: Client, key: string): Promise<boolean> {
  const client = createClient({ ...like.options, apiKey: key, project: undefined });
  try {
    await client.evaluateTool({
      body: { tool: { name: 'gov agents install' }, arguments: {}, dryRun: true },
    });
    return true;
  } catch (cause) {
    if (cause instanceof GovApiError && (cause.status === 401 || cause.status === 403)) return false;
    throw cause;
  } finally {
    client.close();
  }
}
