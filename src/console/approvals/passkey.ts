/**
 * Signs decisions with a passkey (WebAuthn): the browser asks its user, and signs the statement that the service states.
 * A passkey signs only for pages of the origin that enrolled it. Tested by `test/console/passkey.test.ts`.
 */
import type { Client } from '../../client/create.ts';
import type { ApprovalOutcome, ShownApproval } from '../../contract/approvals.ts';
import type { Approver } from '../../contract/approvers.ts';
import { limits } from '../../contract/limits.ts';
import { readAll } from '../parts/read-all.ts';

/** Whether this page may use passkeys: only over HTTPS or on localhost, and not at an IP address. */
export const hasPasskeys = (): boolean =>
  isSecureContext && 'PublicKeyCredential' in globalThis && !/^[\d.]+$|^\[/.test(location.hostname);

export const passkeysNeed =
  'Passkeys need HTTPS and a host name, or http://localhost instead of http://127.0.0.1.';

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
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(stated.passkey);
  const credential = await ofBrowser(navigator.credentials.get({ publicKey }));
  const response = credential instanceof PublicKeyCredential ? credential.response : null;
  if (!(response instanceof AuthenticatorAssertionResponse))
    throw new Error('expected a signature of the passkey, got none');
  const passkey = {
    clientDataJSON: base64url(response.clientDataJSON),
    authenticatorData: base64url(response.authenticatorData),
    signature: base64url(response.signature),
  };
  await client.decideApproval({ params, body: { ...body, signature: { approverId, passkey } } });
}

const base64url = (bytes: ArrayBuffer): string =>
  btoa(Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

/** Rejects with words where the browser or its user refuses: a passkey that is unknown here, or that exists already. */
async function ofBrowser<Value>(asked: Promise<Value>): Promise<Value> {
  try {
    return await asked;
  } catch (cause) {
    if (!(cause instanceof DOMException)) throw cause;
    const reason = refusals[cause.name] ?? cause.message;
    throw new Error(`expected a passkey, got none: ${reason}. Nothing was sent; try again.`, { cause });
  }
}

/** By the name of the exception (WebAuthn Level 3, sections 5.1.3 and 5.1.4). */
const refusals: Readonly<Record<string, string>> = {
  NotAllowedError: 'the browser refused, or nobody answered in time',
  InvalidStateError: 'this authenticator holds an enrolled one already',
  SecurityError: 'this address may not use it',
};
