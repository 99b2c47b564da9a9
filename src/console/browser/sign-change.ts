/**
 * Signs a change of the plane with a passkey, where the plane refuses it without the signature of an approver (contract
 * O23): the challenge is the SHA-256 of the statement. Tested by `test/console/passkey.test.ts`.
 */
import type { Client, UnsignedChange } from '../../client/create.ts';
import type { Approver } from '../../contract/approvers.ts';
import { limits } from '../../contract/limits.ts';
import { assertionOf, base64url, hasPasskeys, ownCredential } from './passkey.ts';

/** Returns the header of the signed request; null where no active passkey of this page can sign. */
export async function changeSignedByPasskey(
  client: Client,
  { change }: UnsignedChange,
): Promise<string | null> {
  if (change === undefined || !hasPasskeys()) return null;
  const passkeys = (await activeApprovers(client)).flatMap(({ approverId, passkey }) =>
    passkey?.origin === location.origin ? [{ approverId, ...passkey }] : [],
  );
  // the statement names its signer, so the browser is asked for one passkey: its own, or the newest
  const signer = passkeys.find(({ credentialId }) => credentialId === ownCredential()) ?? passkeys[0];
  if (signer === undefined) return null;
  const { approverId, credentialId, rpId } = signer;
  const at = new Date().toISOString();
  const passkey = await assertionOf(
    PublicKeyCredential.parseRequestOptionsFromJSON({
      challenge: await hashOf({ ...change, approverId, at }),
      rpId,
      allowCredentials: [{ type: 'public-key', id: credentialId }],
      userVerification: 'required',
      timeout: limits.approverChallengeMinutes * 60_000,
    }),
  );
  return base64url(new TextEncoder().encode(JSON.stringify({ approverId, at, passkey })));
}

async function activeApprovers(client: Client): Promise<readonly Approver[]> {
  const found: Approver[] = [];
  for (let cursor: string | undefined; ;) {
    const query = { status: 'active', limit: limits.pageMax, cursor } as const;
    const { data, nextCursor } = (await client.listApprovers({ query })).body;
    found.push(...data);
    if (nextCursor === null) return found;
    cursor = nextCursor;
  }
}

/** SHA-256 of the canonical JSON (RFC 8785) of a flat object of texts, base64url. */
async function hashOf(statement: Readonly<Record<string, string | null>>): Promise<string> {
  const sorted = Object.fromEntries(Object.entries(statement).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return base64url(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(sorted))));
}
