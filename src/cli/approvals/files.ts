/**
 * The files with which `ssh-keygen -Y verify` or `openssl` verifies a signed approval, without gov
 * (docs/how-to/approve-with-a-signature.md). Tested by `test/cli/commands/approvals/sign.test.ts`.
 */
import { createPublicKey, hash } from 'node:crypto';
import type { Approval } from '../../contract/approvals.ts';
import type { Approver } from '../../contract/approvers.ts';
import { sshNamespace } from '../../core/approvals/statement.ts';
import { shellWord } from '../../core/shell-word.ts';

type Signature = NonNullable<Approval['signature']>;

/** Contents by name. */
export function signatureFiles(
  { statement, ssh, passkey }: Signature,
  { publicKey, principal }: Pick<Approver, 'publicKey' | 'principal'>,
): Readonly<Record<string, string | Uint8Array>> {
  if (ssh !== null) {
    const allowed = `${principal} namespaces="${sshNamespace}" ${publicKey}\n`;
    return { 'statement.json': statement, 'statement.json.sig': ssh, allowed_signers: allowed };
  }
  if (passkey === null) throw new Error('expected a signature of an SSH key or a passkey, got neither');
  const client = Buffer.from(passkey.clientDataJSON, 'base64url');
  const data = Buffer.from(passkey.authenticatorData, 'base64url');
  const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
  return {
    'statement.json': statement,
    'client-data.json': client,
    // what an authenticator signs (WebAuthn §6.3.3)
    'signed.bin': Buffer.concat([data, hash('sha256', client, 'buffer')]),
    'signature.bin': Buffer.from(passkey.signature, 'base64url'),
    'public.pem': key.export({ format: 'pem', type: 'spki' }),
  };
}

/** The commands that verify the files, in their folder. */
export const verifyCommands = (
  { ssh }: Pick<Signature, 'ssh'>,
  { principal, publicKey }: Pick<Approver, 'principal' | 'publicKey'>,
): string[] => {
  if (ssh !== null)
    return [
      `ssh-keygen -Y verify -f allowed_signers -I ${shellWord(principal)} -n ${sshNamespace} -s statement.json.sig < statement.json`,
    ];
  const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
  const challenge =
    'test "$(jq -r .challenge client-data.json)" = "$(openssl dgst -sha256 -binary statement.json | basenc --base64url | tr -d =)"';
  const verify =
    key.asymmetricKeyType === 'ed25519'
      ? 'openssl pkeyutl -verify -rawin -pubin -inkey public.pem -in signed.bin -sigfile signature.bin'
      : 'openssl dgst -sha256 -verify public.pem -signature signature.bin signed.bin';
  return [challenge, verify];
};
