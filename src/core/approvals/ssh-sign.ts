/**
 * Signatures of an Ed25519 key in the form of `ssh-keygen -Y sign` (PROTOCOL.sshsig, RFC 8709), which `ssh.ts` checks.
 * Proven by `test/core/approvals/ssh-sign.test.ts`, with ssh-keygen as the oracle.
 */
import { createPublicKey, hash, sign, type KeyObject } from 'node:crypto';
import { sshString } from './ssh.ts';

const type = 'ssh-ed25519';
const lineChars = 70;

/** `ssh-ed25519 AAAA…` of an Ed25519 key, public or private. */
export const sshPublicKey = (key: KeyObject): string => `${type} ${blobOf(key).toString('base64')}`;

function blobOf(key: KeyObject): Buffer {
  const { x = '' } = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' });
  return Buffer.concat([type, Buffer.from(x, 'base64url')].map(sshString));
}

/** The armored signature of a text in a namespace, over its SHA-512. */
export function sshSignature(
  privateKey: KeyObject,
  { namespace, message }: { readonly namespace: string; readonly message: string },
): string {
  const parts = [namespace, '', 'sha512'];
  const digest = hash('sha512', message, 'buffer');
  const data = Buffer.concat([Buffer.from('SSHSIG'), ...[...parts, digest].map(sshString)]);
  const signature = Buffer.concat([type, sign(null, data, privateKey)].map(sshString));
  const version = Buffer.from([0, 0, 0, 1]);
  const whole = [blobOf(privateKey), ...parts, signature].map(sshString);
  const base64 = Buffer.concat([Buffer.from('SSHSIG'), version, ...whole]).toString('base64');
  const lines = base64.match(new RegExp(`.{1,${lineChars}}`, 'g')) ?? [];
  return `-----BEGIN SSH SIGNATURE-----\n${lines.join('\n')}\n-----END SSH SIGNATURE-----\n`;
}
