/**
 * The approver key of a plane of this machine: `approver.sealed` in its data directory, which only a phrase opens. Making it
 * enrols its public half, and makes the API key that sends the decisions, with the operator's key.
 * Tested by `test/cli/approvals/sealed.test.ts`.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '../../client/create.ts';
import type { Approver } from '../../contract/approvers.ts';
import type { Scope } from '../../contract/operation.ts';
import { limits } from '../../contract/limits.ts';
import { openSealedKey, readSealedKey, sealNewKey, type OpenedKey } from '../../core/approvals/sealed-key.ts';
import { sshPublicKey } from '../../core/approvals/ssh-sign.ts';
import { readObject, readSecret } from '../context/config.ts';
import type { Invocation } from '../context/command.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { writeWhole } from '../terminal/output-file.ts';
import { atTerminal, chosenPhrase } from './phrase.ts';

export const approverScopes = [
  'governance:read',
  'approvals:decide',
  'events:read',
] as const satisfies Scope[];

export const sealedFile = (dataDir: string): string => join(dataDir, 'approver.sealed');
/** The unsealed key of planes of older releases, and of those on which no person decides. */
export const plainFile = (dataDir: string): string => join(dataDir, 'approver.key');

/** The data directory of a plane whose approver key gov uses; null where the user named another key or server. */
export function ownDataDir({
  session,
  settings,
  io,
}: Pick<Invocation, 'session' | 'settings' | 'io'>): string | null {
  const named = ['GOV_API_KEY', 'GOV_API_KEY_FILE', 'CREDENTIALS_DIRECTORY'].some((name) => io.env[name]);
  const context = settings.baseUrl === undefined ? session.context()?.context : undefined;
  return named || context?.kind !== 'plane' ? null : context.dataDir;
}

const without =
  'run it in a terminal; or enrol a passkey (gov console open) or an SSH key (gov approvers add)';

/** Whether a person has to decide on this plane, and nobody can yet. */
export async function lacksApprover(client: Client, dataDir: string): Promise<boolean> {
  const isSigned = readObject(join(dataDir, 'plane.json'))?.['presence'] === 'signed';
  if (!isSigned || existsSync(sealedFile(dataDir)) || existsSync(plainFile(dataDir))) return false;
  return (await client.listApprovers({ query: { status: 'active' } })).body.data.length === 0;
}

/**
 * Asks for a phrase, enrols a new key, and writes it. `client`: with the operator's key. An `approver.key` of an older
 * release becomes part of the sealed key, and is removed. A crash before the end leaves a sealed key that nobody enrolled:
 * the next call names it. Errors: exit 2 without a terminal, and 4 where the plane has an approver already.
 */
export async function makeSealedKey(
  client: Client,
  dataDir: string,
): Promise<OpenedKey & { readonly approver: Approver }> {
  const file = sealedFile(dataDir);
  if (existsSync(file)) throw usage(`${file}: expected no file, got one`, 'gov approvers list');
  const phrase = await atTerminal({ what: 'a new phrase', without }, chosenPhrase);
  const key = await decidingKey(client, dataDir);
  const { text, privateKey } = await sealNewKey(phrase, key.token);
  writeWhole(file, Buffer.from(text), 0o600);
  try {
    const body = { name: 'sealed key', principal: key.keyId, ssh: { publicKey: sshPublicKey(privateKey) } };
    const approver = (await client.enrolApprover({ body })).body;
    rmSync(plainFile(dataDir), { force: true });
    return { approver, privateKey, token: key.token };
  } catch (cause) {
    rmSync(file, { force: true });
    if (key.isNew) await client.revokeApiKey({ params: { keyId: key.keyId } }).catch(() => {});
    throw cause;
  }
}

/** Asks for a phrase and makes a key. Returns the text of the file, and the public key, `type base64`. */
export async function newSealedKey(
  token: string,
): Promise<{ readonly text: string; readonly publicKey: string }> {
  const phrase = await atTerminal({ what: 'a new phrase', without }, chosenPhrase);
  const { text, privateKey } = await sealNewKey(phrase, token);
  return { text, publicKey: sshPublicKey(privateKey) };
}

/** The API key that sends the decisions: it differs from the operator's, because the key that asked may not decide. */
async function decidingKey(
  client: Client,
  dataDir: string,
): Promise<{ readonly token: string; readonly keyId: string; readonly isNew: boolean }> {
  const plain = plainFile(dataDir);
  if (existsSync(plain)) {
    const token = readSecret(plain);
    const { createClient } = await import('../../client/create.ts');
    const own = createClient({ ...client.options, apiKey: token, project: undefined });
    try {
      return { token, keyId: (await own.getIdentity()).body.id, isNew: false };
    } finally {
      own.close();
    }
  }
  const body = { name: 'local approver', scopes: [...approverScopes] };
  const made = (await client.createApiKey({ body })).body;
  return { token: made.key, keyId: made.record.keyId, isNew: true };
}

/** Asks for the phrase and opens the key. `before`: what the terminal shows first. Errors: exit 2 for a damaged file, 2 without a terminal, 4 for a wrong phrase. */
export async function openKey(dataDir: string, before = ''): Promise<OpenedKey> {
  const file = sealedFile(dataDir);
  const sealed = readSealedKey(readObject(file));
  if ('fault' in sealed)
    throw usage(`${file}: ${sealed.fault}`, 'put the file back from a backup, or enrol another approver');
  return atTerminal({ what: 'the phrase of the approver', without }, async (terminal) => {
    terminal.write(before);
    for (let left = limits.phraseAttempts; left > 0; left--) {
      const opened = await openSealedKey(sealed, await terminal.ask('Phrase of the approver: '));
      if (opened !== null) return opened;
      terminal.write('this is not the phrase, or the file was changed\n');
    }
    throw new CliError(exit.denied, `expected the phrase of ${file}, got ${limits.phraseAttempts} others`, {
      code: 'WRONG_PHRASE',
    });
  });
}
