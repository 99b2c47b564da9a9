/** Verifies `v1a` of Standard Webhooks 1.0.0 as its text says, with nothing of ours; its npm package has only `v1`. */
import { createPublicKey, verify } from 'node:crypto';

/** Whether one of the signatures is that of the key, `whpk_` and 32 bytes in base64. */
export function verifiesV1a(
  publicKey: string,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: string | Uint8Array,
): boolean {
  const x = Buffer.from(publicKey.replace(/^whpk_/, ''), 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) =>
    String(headers[`webhook-${name}`]),
  );
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), Buffer.from(body)]);
  return signatures!
    .split(' ')
    .map((each) => each.split(','))
    .some(([name, text]) => name === 'v1a' && verify(null, content, key, Buffer.from(text!, 'base64')));
}
