import { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server';
import { describe, expect, it } from 'vitest';
import { asserted, isRelyingParty, registered, type Passkey } from '../../../src/core/approvals/passkey.ts';
import { userPresent, userVerified, VirtualPasskey } from '../../support/signers.ts';

const origin = 'https://gov.example';
const rpId = 'gov.example';
const challenge = Buffer.from('a statement of thirty-two bytes.');
const text = challenge.toString('base64url');

function enrolled(authenticator: VirtualPasskey): Passkey {
  const result = registered(authenticator.create(text), { challenge, origin, rpId });
  if ('fault' in result) throw new Error(result.fault);
  return result.passkey;
}

/** CBOR of {fmt: "none", attStmt: {}, authData}. */
function attestation(authenticatorData: string): string {
  const data = Buffer.from(authenticatorData, 'base64url');
  const head = Buffer.from('a363666d74646e6f6e656761747453746d74a06861757468446174615900', 'hex').subarray(
    0,
    -1,
  );
  return Buffer.concat([head, Buffer.from([data.length >> 8, data.length & 0xff]), data]).toString(
    'base64url',
  );
}

/** The verdicts of @simplewebauthn/server. */
async function registers(made: ReturnType<VirtualPasskey['create']>): Promise<boolean> {
  const { id, clientDataJSON, authenticatorData } = made;
  const response = { clientDataJSON, attestationObject: attestation(authenticatorData) };
  const credential = { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} } as const;
  const expected = { expectedChallenge: text, expectedOrigin: origin, expectedRPID: rpId };
  const asked = { response: credential, ...expected, supportedAlgorithmIDs: [-7, -8, -257] };
  return verifyRegistrationResponse(asked).then(
    ({ verified }) => verified,
    () => false,
  );
}
async function authenticates(authenticator: VirtualPasskey, response: ReturnType<VirtualPasskey['get']>) {
  const id = authenticator.id.toString('base64url');
  const asked = {
    response: { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} } as const,
    expectedChallenge: text,
    expectedOrigin: origin,
    expectedRPID: rpId,
    credential: { id, publicKey: new Uint8Array(authenticator.coseKey()), counter: 0 },
  };
  return verifyAuthenticationResponse(asked).then(
    ({ verified }) => verified,
    () => false,
  );
}

const lies = [
  ['another origin', { origin: 'https://evil.example' }],
  ['another relying party', { rpId: 'evil.example' }],
  ['no user verification', { flags: userPresent }],
  ['no user presence', { flags: userVerified }],
  ['another type', { type: 'payment.get' }],
] as const;

describe('passkeys', () => {
  it.each(['ES256', 'EdDSA', 'RS256'] as const)(
    'enrols and verifies a passkey of %s, as the oracle does',
    async (algorithm) => {
      const authenticator = new VirtualPasskey(origin, { algorithm });
      const made = authenticator.create(text);
      expect(await registers(made)).toBe(true);
      const passkey = enrolled(authenticator);
      authenticator.counter = 7;
      const signed = authenticator.get(text);
      expect(asserted(signed, passkey, challenge)).toEqual({ counter: 7 });
      expect(await authenticates(authenticator, signed)).toBe(true);
    },
  );

  it.each(lies)('rejects an assertion with %s, as the oracle does', async (_, lie) => {
    const authenticator = new VirtualPasskey(origin);
    const signed = authenticator.get(text, lie);
    expect(asserted(signed, enrolled(authenticator), challenge)).toHaveProperty('fault');
    expect(await authenticates(authenticator, signed)).toBe(false);
  });

  it.each(lies)('rejects a registration with %s, as the oracle does', async (_, lie) => {
    const made = new VirtualPasskey(origin).create(text, lie);
    expect(registered(made, { challenge, origin, rpId })).toHaveProperty('fault');
    expect(await registers(made)).toBe(false);
  });

  it('rejects a page in the frame of another origin', () => {
    const authenticator = new VirtualPasskey(origin);
    for (const client of [{ crossOrigin: true }, { topOrigin: 'https://evil.example' }]) {
      const result = asserted(authenticator.get(text, { client }), enrolled(authenticator), challenge);
      expect(result).toMatchObject({ fault: expect.stringContaining('frame of another origin') });
    }
  });

  it('rejects another challenge, another key, and an assertion with any bit changed', () => {
    const authenticator = new VirtualPasskey(origin);
    const passkey = enrolled(authenticator);
    const signed = authenticator.get(text);
    const other = Buffer.alloc(32, 1);
    expect(asserted(signed, passkey, other)).toMatchObject({ fault: expect.stringContaining('challenge') });
    expect(asserted(signed, enrolled(new VirtualPasskey(origin)), challenge)).toHaveProperty('fault');
    for (const name of ['clientDataJSON', 'authenticatorData', 'signature'] as const) {
      const bytes = Buffer.from(signed[name], 'base64url');
      for (let bit = 0; bit < 8 * bytes.length; bit += 5) {
        const at = bit >> 3;
        bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
        const result = asserted({ ...signed, [name]: bytes.toString('base64url') }, passkey, challenge);
        expect(result, `${name} bit ${bit}`).toHaveProperty('fault');
        bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
      }
    }
  });

  it('rejects a registration whose public key or id the authenticator did not attest', () => {
    const [one, two] = [new VirtualPasskey(origin), new VirtualPasskey(origin)];
    const made = one.create(text);
    const expected = { challenge, origin, rpId };
    for (const swapped of [{ publicKey: two.create(text).publicKey }, { id: two.create(text).id }]) {
      const result = registered({ ...made, ...swapped }, expected);
      expect(result).toMatchObject({ fault: expect.stringContaining('this credential id and public key') });
    }
  });

  it.each([
    ['gov.example', 'https://gov.example', true],
    ['example', 'https://gov.example', true],
    ['localhost', 'http://localhost:7460', true],
    ['gov.example', 'http://gov.example', false],
    ['evil.example', 'https://gov.example', false],
    ['ov.example', 'https://gov.example', false],
    ['gov.example', 'https://gov.example/', false],
    ['gov.example', 'no url', false],
  ])('judges %s as relying party of %s: %s', (party, page, expected) => {
    expect(isRelyingParty(party, page)).toBe(expected);
  });
});
