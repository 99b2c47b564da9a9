/**
 * Signs a change of a plane of this machine, after its person saw the request at the terminal: with the sealed approver key,
 * or where the plane has none, with the SSH key of the user. Tested by `test/cli/approvals/sealed.test.ts`.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { UnsignedChange } from '../../client/create.ts';
import {
  bodyHashOf,
  changeNamespace,
  changeStatement,
  writeChangeSignature,
} from '../../core/approvals/change-statement.ts';
import { sshPublicKey, sshSignature } from '../../core/approvals/ssh-sign.ts';
import { canonicalize, readJson, type Json } from '../../core/json/parse.ts';
import { escapedLine } from '../../core/visible.ts';
import { readObject, readSecret, type Variables } from '../context/config.ts';
import { ownBaseUrl } from '../context/place.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { clipped } from '../terminal/clipped.ts';
import { atTerminal } from './phrase.ts';
import { openKey, sealedFile } from './sealed.ts';
import { activeApprover, approverWith, ownSshKey, sshSigner, type Signer } from './sign.ts';

/**
 * Returns the header of the signed request; null where this user has neither a sealed key nor the SSH key of an approver.
 * Errors: as `openKey`; exit 4 where the person declines.
 */
export async function signedChange(
  dataDir: string,
  { method, path, body: given, reason }: UnsignedChange,
  env: Variables,
): Promise<string | null> {
  const origin = readObject(join(dataDir, 'plane.json'))?.['origin'];
  if (typeof origin !== 'string') throw usage(`${dataDir}: expected plane.json with an origin, got none`);
  // as it is sent: without members that are undefined
  const body: Json | undefined = given === undefined ? undefined : readJson(JSON.stringify(given));
  const shownBody = body === undefined ? '' : ` ${clipped(canonicalize(body))}`;
  const shown = `${escapedLine(reason)}\n  ${escapedLine(`${method} ${path}${shownBody}`)}\n`;
  const signer = await signerOf(dataDir, shown, env);
  if (signer === null) return null;
  const of = { approverId: signer.approverId, at: new Date().toISOString() };
  const message = changeStatement({ method, path, bodyHash: bodyHashOf(body) }, { origin, ...of });
  return writeChangeSignature({ ...of, ssh: await signer.sign(message, changeNamespace) });
}

/** `shown`: the request, for the person. */
async function signerOf(
  dataDir: string,
  shown: string,
  env: Variables,
): Promise<(Pick<Signer, 'sign'> & { readonly approverId: string }) | null> {
  const { createClient } = await import('../../client/create.ts');
  const baseUrl = ownBaseUrl({ name: dataDir, context: { kind: 'plane', dataDir } }).value;
  const client = createClient({ baseUrl, apiKey: readSecret(join(dataDir, 'local.key')) });
  try {
    if (existsSync(sealedFile(dataDir))) {
      const { privateKey } = await openKey(dataDir, shown);
      const { approverId } = await approverWith(client, sshPublicKey(privateKey));
      const sign = async (message: string) =>
        sshSignature(privateKey, { namespace: changeNamespace, message });
      return { approverId, sign };
    }
    const file = ownSshKey(env);
    const signer = file === undefined ? null : sshSigner(file, env);
    const approver = signer === null ? undefined : await activeApprover(client, signer.publicKey);
    if (signer === null || approver === undefined) return null;
    await agreed(shown, `Sign it with ${approver.name}, ${approver.fingerprint}?`);
    return { approverId: approver.approverId, sign: signer.sign };
  } finally {
    client.close();
  }
}

/** An agent of the user signs without a person where ssh-agent holds the key, so the person answers at the terminal. */
async function agreed(shown: string, question: string): Promise<void> {
  const what = 'yes, to sign the change';
  await atTerminal({ what, without: 'run it in a terminal' }, async (terminal) => {
    terminal.write(shown);
    if ((await terminal.ask(`${escapedLine(question)} (yes or no; it does not show): `)) === 'yes') return;
    throw new CliError(exit.denied, 'nothing was changed', { code: 'DECLINED' });
  });
}
