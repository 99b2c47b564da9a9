/**
 * Signs a change of a plane of this machine with its sealed approver key, after its person saw the request at the terminal.
 * Tested by `test/cli/approvals/sealed.test.ts`.
 */
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
import { readObject, readSecret } from '../context/config.ts';
import { ownBaseUrl } from '../context/place.ts';
import { usage } from '../program/exit.ts';
import { clipped } from '../terminal/clipped.ts';
import { openKey } from './sealed.ts';
import { approverWith } from './sign.ts';

/** Returns the header of the signed request. Errors: as `openKey`. */
export async function signedChange(
  dataDir: string,
  { method, path, body: given, reason }: UnsignedChange,
): Promise<string> {
  const origin = readObject(join(dataDir, 'plane.json'))?.['origin'];
  if (typeof origin !== 'string') throw usage(`${dataDir}: expected plane.json with an origin, got none`);
  // as it is sent: without members that are undefined
  const body: Json | undefined = given === undefined ? undefined : readJson(JSON.stringify(given));
  const shown = body === undefined ? '' : ` ${clipped(canonicalize(body))}`;
  const { privateKey } = await openKey(
    dataDir,
    `${escapedLine(reason)}\n  ${escapedLine(`${method} ${path}${shown}`)}\n`,
  );
  const approverId = await approverIdOf(dataDir, sshPublicKey(privateKey));
  const of = { approverId, at: new Date().toISOString() };
  const message = changeStatement({ method, path, bodyHash: bodyHashOf(body) }, { origin, ...of });
  return writeChangeSignature({
    ...of,
    ssh: sshSignature(privateKey, { namespace: changeNamespace, message }),
  });
}

async function approverIdOf(dataDir: string, publicKey: string): Promise<string> {
  const { createClient } = await import('../../client/create.ts');
  const baseUrl = ownBaseUrl({ name: dataDir, context: { kind: 'plane', dataDir } }).value;
  const client = createClient({ baseUrl, apiKey: readSecret(join(dataDir, 'local.key')) });
  try {
    return (await approverWith(client, publicKey)).approverId;
  } finally {
    client.close();
  }
}
