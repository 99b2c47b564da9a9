/**
 * Passkeys of the browser (WebAuthn Level 3): it asks its user, and signs a challenge. A passkey signs only for pages of the
 * origin that enrolled it. Tested by `test/console/passkey.test.ts`.
 */
/** Whether this page may use passkeys: only over HTTPS or on localhost, and not at an IP address. */
export const hasPasskeys = (): boolean =>
  isSecureContext && 'PublicKeyCredential' in globalThis && !/^[\d.]+$|^\[/.test(location.hostname);

export const passkeysNeed =
  'Passkeys need HTTPS and a host name, or http://localhost instead of http://127.0.0.1.';

/** Asks for a signature with one of the passkeys of `publicKey`. Throws where there is none. */
export async function assertionOf(publicKey: PublicKeyCredentialRequestOptions) {
  const credential = await ofBrowser(navigator.credentials.get({ publicKey }));
  const response = credential instanceof PublicKeyCredential ? credential.response : null;
  if (!(response instanceof AuthenticatorAssertionResponse))
    throw new Error('expected a signature of the passkey, got none');
  return {
    clientDataJSON: base64url(response.clientDataJSON),
    authenticatorData: base64url(response.authenticatorData),
    signature: base64url(response.signature),
  };
}

const madeHere = 'gov-passkey';

/** The id of the passkey that this browser made last for this page; null for none. */
export const ownCredential = (): string | null => localStorage.getItem(madeHere);

export const keepOwnCredential = (id: string): void => localStorage.setItem(madeHere, id);

export const base64url = (bytes: ArrayBuffer | Uint8Array): string =>
  btoa(Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

/** Rejects with words where the browser or its user refuses: a passkey that is unknown here, or that exists already. */
export async function ofBrowser<Value>(asked: Promise<Value>): Promise<Value> {
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
