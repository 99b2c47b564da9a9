/**
 * Decisions with the sealed key of a plane of this machine. The first one makes the key.
 * Tested by `test/cli/approvals/sealed.test.ts`.
 */
import { existsSync } from 'node:fs';
import type { Client } from '../../client/create.ts';
import { GovApiError } from '../../client/errors.ts';
import type { ApprovalOutcome, ApprovalSignature } from '../../contract/approvals.ts';
import { sshPublicKey, sshSignature } from '../../core/approvals/ssh-sign.ts';
import { sshNamespace } from '../../core/approvals/statement.ts';
import type { OpenedKey } from '../../core/approvals/sealed-key.ts';
import type { Invocation } from '../context/command.ts';
import { safe } from '../terminal/safe.ts';
import { makeSealedKey, openKey, ownDataDir, plainFile, sealedFile } from './sealed.ts';
import { signedBy, type SignCall, type Signer } from './sign.ts';

type Place = Pick<Invocation, 'session' | 'settings' | 'io'>;
type DecideCall = Place & SignCall;

/** A decision as it is sent. */
export interface SentDecision {
  readonly client: Client;
  /** Absent: the decision rests on the key of the client. */
  readonly signature?: ApprovalSignature | undefined;
}

/** The data directory of a plane whose approvals need its sealed key; null for other servers, keys and older planes. */
export function decidesSealed(call: Place): string | null {
  const dataDir = ownDataDir(call);
  return dataDir === null || existsSync(plainFile(dataDir)) ? null : dataDir;
}

/** The signature of a decision, and the client that sends it. Errors: as `openKey` and `makeSealedKey`. */
export async function sealedDecision(
  call: DecideCall,
  outcome: ApprovalOutcome,
  dataDir: string,
): Promise<SentDecision> {
  const { session, args, out } = call;
  const key = await keyOf(call, dataDir);
  const client = await session.clientAt(session.baseUrl().value, { token: key.token, dataDir });
  const signer: Signer = {
    publicKey: sshPublicKey(key.privateKey),
    sign: async (message) => sshSignature(key.privateKey, { namespace: sshNamespace, message }),
  };
  try {
    return { client, signature: await signedBy(call, outcome, { client, signer }) };
  } catch (cause) {
    if (!(cause instanceof GovApiError && cause.status === 403)) throw cause;
    const { approvalId } = args;
    const { signatureRequired } = (await client.getApproval({ params: { approvalId } })).body;
    if (signatureRequired) throw cause;
    await out.warn(safe`not signed: ${approvalId} was asked for before this key was enrolled`);
    return { client };
  }
}

async function keyOf({ session, out }: DecideCall, dataDir: string): Promise<OpenedKey> {
  const file = sealedFile(dataDir);
  if (existsSync(file)) return openKey(dataDir);
  const made = await makeSealedKey(await session.client(), dataDir);
  await out.note(safe`enrolled ${made.approver.approverId}; its key is ${file}`);
  return made;
}
