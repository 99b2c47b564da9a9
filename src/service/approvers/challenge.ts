/**
 * The challenge of a passkey's registration. The service keeps nothing: the challenge is its own ticket,
 *
 *   expiry in Unix milliseconds (8 bytes), 16 random bytes, a MAC (32 bytes), the relying party id
 *
 * where the MAC, under a key of the installation, also covers project, caller and origin.
 * Proven by `test/service/approvers/attacks.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { equalHash } from '../../core/hash.ts';
import type { Caller } from '../call/caller.ts';
import type { Services } from '../port/services.ts';

const headBytes = 24;
const macBytes = 32;

type Tools = Pick<Services, 'fingerprint' | 'now' | 'randomBytes'>;

export function newChallenge(tools: Tools, caller: Caller, of: { origin: string; rpId: string }): Buffer {
  const expiry = Buffer.alloc(8);
  expiry.writeBigUInt64BE(BigInt(tools.now() + limits.approverChallengeMinutes * 60_000));
  const head = Buffer.concat([expiry, tools.randomBytes(16)]);
  return Buffer.concat([head, macOf(tools, caller, { head, ...of }), Buffer.from(of.rpId)]);
}

/** The relying party that a challenge names; null where it was not made for this caller and origin, or has expired. */
export function challengedParty(
  tools: Tools,
  caller: Caller,
  of: { challenge: Buffer; origin: string },
): string | null {
  const { challenge, origin } = of;
  if (challenge.length <= headBytes + macBytes) return null;
  const head = challenge.subarray(0, headBytes);
  const rpId = challenge.subarray(headBytes + macBytes).toString();
  const mac = macOf(tools, caller, { head, origin, rpId });
  if (!equalHash(mac, challenge.subarray(headBytes, headBytes + macBytes))) return null;
  return head.readBigUInt64BE() > BigInt(tools.now()) ? rpId : null;
}

function macOf(
  { fingerprint }: Tools,
  { id, project }: Caller,
  { head, origin, rpId }: { head: Buffer; origin: string; rpId: string },
): Buffer {
  const parts = ['gov.approver-challenge/1', project.projectId, id, origin, rpId, head.toString('hex')];
  return Buffer.from(fingerprint(parts.join('\n')), 'hex');
}
