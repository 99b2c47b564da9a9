/** The cosigner of data planes. Proven by `test/host/service/hosting.test.ts`. */
import { createPrivateKey, hkdfSync } from 'node:crypto';
import { ed25519Cosigner, type NoteSigner } from '../../core/note/signed.ts';

/**
 * The cosigner `<logName>/cosigner`. HKDF-SHA-256 derives its Ed25519 key from the store key. Every process of
 * an installation is therefore the same cosigner, also after a restore of `keys/`.
 */
export function createCosigner(storeKey: Uint8Array, logName: string): NoteSigner {
  const seed = Buffer.from(hkdfSync('sha256', storeKey, '', 'gov.cosigner/v1', 32));
  const key = Buffer.concat([ed25519Prefix, seed]);
  return ed25519Cosigner(`${logName}/cosigner`, createPrivateKey({ key, format: 'der', type: 'pkcs8' }));
}

/** PKCS #8 prefix of an Ed25519 key (RFC 8410 section 7), before its 32 bytes. */
const ed25519Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
