/**
 * Signs decisions with a passkey (WebAuthn): the browser asks its user, and signs the statement that the service states.
 * A passkey signs only for pages of the origin that enrolled it. Tested by `test/console/passkey.test.ts`.
 */
import type { Client } from '../../client/create.ts';
import type { ApprovalOutcome, ShownApproval } from '../../contract/approvals.ts';
import type { Approver } from '../../contract/approvers.ts';
import { limits } from '../../contract/limits.ts';
import { assertionOf, base64url, hasPasskeys, keepOwnCredential, ofBrowser } from '../browser/passkey.ts';
import { readAll } from '../parts/read-all.ts';

interface PasskeyRequest {
  readonly principal: string;
  readonly approval: Pick<ShownApproval, 'requestedAt'>;
  readonly signal: AbortSignal;
}

/** The active passkeys of a principal that can sign this approval on this page, newest first. */
export async function ownPasskeys(
  client: Client,
  { principal, approval, signal }: PasskeyRequest,
): Promise<readonly Approver[]> {
  if (!hasPasskeys()) return [];
  const found: Approver[] = [];
  const ask = async (cursor: string | undefined) => {
    const query = { status: 'active', limit: limits.pageMax, cursor } as const;
    const { data, nextCursor } = (await client.listApprovers({ query, signal })).body;
    return { rows: data, nextCursor };
  };
  await readAll(ask, { most: limits.approvers, seen: (rows) => found.splice(0, found.length, ...rows) });
  return found.filter(
    ({ passkey, principal: owner, enrolledAt }) =>
      owner === principal && passkey?.origin === location.origin && enrolledAt <= approval.requestedAt,
  );
}

/** Creates a passkey and enrols it for the caller. */
export async function enrolPasskey(client: Client, name: string): Promise<void> {
  const { body } = await client.challengeApprover({ body: { name, origin: location.origin } });
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(body);
  const credential = await ofBrowser(navigator.credentials.create({ publicKey }));
  const response = credential instanceof PublicKeyCredential ? credential.response : null;
  if (
    !(credential instanceof PublicKeyCredential) ||
    !(response instanceof AuthenticatorAttestationResponse)
  ) {
    throw new Error('expected a passkey from the browser, got none');
  }
  const key = response.getPublicKey();
  if (key === null)
    throw new Error('expected a passkey with a public key that browsers can read; use another one');
  await client.enrolApprover({
    body: {
      name,
      passkey: {
        id: credential.id,
        clientDataJSON: base64url(response.clientDataJSON),
        authenticatorData: base64url(response.getAuthenticatorData()),
        publicKey: base64url(key),
      },
    },
  });
  keepOwnCredential(credential.id);
}

interface Decision {
  readonly approvalId: string;
  readonly outcome: ApprovalOutcome;
  /** Empty for none. */
  readonly comment: string;
  /** Null: the decision rests on the session alone. */
  readonly signer: Approver | null;
}

/** Sends a decision, signed by the passkey of `signer`. */
export async function sendDecision(client: Client, decision: Decision): Promise<void> {
  const { approvalId, outcome, comment, signer } = decision;
  const params = { approvalId };
  const body = { outcome, ...(comment === '' ? {} : { comment }) };
  if (signer === null) return void (await client.decideApproval({ params, body }));
  const { approverId } = signer;
  const stated = (await client.stateApproval({ params, body: { ...body, approverId } })).body;
  if (stated.passkey === null) throw new Error('expected a statement for a passkey, got one for an SSH key');
  const passkey = await assertionOf(PublicKeyCredential.parseRequestOptionsFromJSON(stated.passkey));
  await client.decideApproval({ params, body: { ...body, signature: { approverId, passkey } } });
}
