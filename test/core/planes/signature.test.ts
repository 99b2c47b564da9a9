/** Signatures of telemetry: known answers (computed with Python's hmac), every value form, and the time window. */
import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { GovError } from '../../../src/contract/problems.ts';
import { canonicalize, type Json } from '../../../src/core/json/parse.ts';
import {
  checkTelemetryTime,
  newSigningSecret,
  parseSigningSecret,
  signTelemetry,
  verifyTelemetry,
} from '../../../src/core/planes/signature.ts';

const secret = Buffer.from(Array.from({ length: 32 }, (_, at) => at));
const other = Buffer.alloc(32, 7);
const secretText = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';
const timestamp = '1764000000';
const mac = '52b913e400b9750e40cdde80027a4b24430aa1bf1ef227ef26887b5f9b958269';
const message = { secrets: [secret], timestamp, signature: mac, canonical: '{"a":1}' };

describe('a signing secret', () => {
  it('a signing secret is whsec_ and 32 bytes in base64', () => {
    expect(newSigningSecret(secret)).toBe(secretText);
    expect(parseSigningSecret(secretText)).toEqual(secret);
    expect(() => newSigningSecret(Buffer.alloc(31))).toThrow('32 random bytes');
  });

  it.each([
    '',
    'whsec_',
    secretText.slice(6),
    `WHSEC_${secretText.slice(6)}`,
    secretText.slice(0, -1),
    `${secretText} `,
    secretText.replace('8=', '9='),
    `whsec_${Buffer.alloc(33).toString('base64')}`,
    `whsec_${Buffer.alloc(24).toString('base64')}`,
  ])('the signing secret %j is refused, and the error does not repeat it', (text) => {
    const error = thrown(() => parseSigningSecret(text));
    expect(error.code).toBe('VALIDATION_ERROR');
    if (text.length > 10) expect(error.message).not.toContain(text.slice(6, 20));
  });
});

describe('a telemetry signature', () => {
  it('a telemetry signature has the known value', () => {
    expect(signTelemetry(secret, timestamp, '{"a":1}')).toBe(mac);
    expect(signTelemetry(secret, timestamp, '')).toBe(
      '5cfeedace6b2ae2084a50d70b86a5bfc82f9c57a7b5aaf16ad8858347102e92e',
    );
  });

  it('a telemetry signature is the HMAC of time and JCS, different for other text, time or secret', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 1e9, max: 9_999_999_999 }), (value, seconds) => {
        const canonical = canonicalize(value as Json);
        const signature = signTelemetry(secret, String(seconds), canonical);
        expect(signature).toBe(createHmac('sha256', secret).update(`${seconds}.${canonical}`).digest('hex'));
        const sent = { secrets: [secret], timestamp: String(seconds), signature, canonical };
        expect(verifyTelemetry(sent)).toBe(true);
        expect(verifyTelemetry({ ...sent, canonical: `${canonical} ` })).toBe(false);
        expect(verifyTelemetry({ ...sent, timestamp: String(seconds - 1).padStart(10, '0') })).toBe(false);
        expect(verifyTelemetry({ ...sent, secrets: [other] })).toBe(false);
      }),
    );
  });

  it('a telemetry signature is refused for a time in another form', () => {
    expect(() => signTelemetry(secret, '1764000000000', '')).toThrow('ten digits');
  });
});

describe('a signature header', () => {
  const wrong = '0'.repeat(64);
  it.each([
    mac,
    `v1=${mac}`,
    `${wrong},${mac}`,
    `v1=${wrong}, v1=${wrong}, v1=${mac}`,
    `v1=${mac} ${wrong}`,
    ` ${mac} `,
    `v2=abc,v1=${mac}`,
  ])('the signature header %j is accepted', (signature) => {
    expect(verifyTelemetry({ ...message, signature })).toBe(true);
  });

  it.each([
    '',
    ' ',
    ',',
    mac.toUpperCase(),
    mac.slice(0, -1),
    `${mac}0`,
    `v2=${mac}`,
    `v1=v1=${mac}`,
    `v1:${mac}`,
    `${mac}\n`,
    `${wrong},${wrong},${wrong},${mac}`,
    `${mac},${wrong},${wrong},${wrong}`,
    `é${mac}`,
  ])('the signature header %j is refused', (signature) => {
    expect(verifyTelemetry({ ...message, signature })).toBe(false);
  });

  it(`a signature header has at most ${limits.signatureValues} values and ${limits.signatureHeaderChars} characters`, () => {
    const values = (count: number) => [...Array<string>(count - 1).fill('x'), mac].join(',');
    expect(verifyTelemetry({ ...message, signature: values(limits.signatureValues) })).toBe(true);
    expect(verifyTelemetry({ ...message, signature: values(limits.signatureValues + 1) })).toBe(false);
    const long = (chars: number) => mac.padStart(chars, ' ');
    expect(verifyTelemetry({ ...message, signature: long(limits.signatureHeaderChars) })).toBe(true);
    expect(verifyTelemetry({ ...message, signature: long(limits.signatureHeaderChars + 1) })).toBe(false);
  });

  it('a signature is accepted by any of the secrets, and refused when there are none', () => {
    expect(verifyTelemetry({ ...message, secrets: [other, secret] })).toBe(true);
    expect(verifyTelemetry({ ...message, secrets: [secret, other] })).toBe(true);
    expect(verifyTelemetry({ ...message, secrets: [other] })).toBe(false);
    expect(verifyTelemetry({ ...message, secrets: [] })).toBe(false);
  });

  it('signature verification never throws for any input', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.constantFrom(timestamp, '', 'é'),
        fc.string(),
        (signature, time, canonical) => {
          expect(verifyTelemetry({ secrets: [secret], signature, timestamp: time, canonical })).toBe(false);
        },
      ),
    );
  });

  it('a signature with any changed bit is refused', () => {
    for (let digit = 0; digit < 64; digit++) {
      for (const bit of [1, 2, 4, 8]) {
        const turned = (parseInt(mac.charAt(digit), 16) ^ bit).toString(16);
        const signature = mac.slice(0, digit) + turned + mac.slice(digit + 1);
        expect(verifyTelemetry({ ...message, signature })).toBe(false);
      }
    }
  });
});

describe('the time of a message', () => {
  const { telemetrySkewSeconds: skew } = limits;
  const seconds = Number(timestamp);

  it.each([-skew, -1, 0, 1, skew])(
    'a message time %d s from the time of the service is accepted',
    (ahead) => {
      expect(() => checkTelemetryTime(timestamp, (seconds - ahead) * 1000)).not.toThrow();
      expect(() => checkTelemetryTime(timestamp, (seconds - ahead) * 1000 + 999)).not.toThrow();
    },
  );

  it.each([
    [timestamp, seconds + skew + 1],
    [timestamp, seconds - skew - 1],
    [`${timestamp}000`, seconds],
    ['', seconds],
    [` ${timestamp.slice(1)}`, seconds],
    ['1764000e00', seconds],
    ['17640000.0', seconds],
    ['NaN', seconds],
  ])(
    'the message time %j is refused at %d, and the error contains the time of the service',
    (text, nowSeconds) => {
      const error = thrown(() => checkTelemetryTime(text, nowSeconds * 1000 + 999));
      expect(error.code).toBe('TIMESTAMP_OUT_OF_RANGE');
      expect(error.extensions).toEqual({ serverTime: nowSeconds, toleranceSeconds: skew });
    },
  );
});

function thrown(work: () => unknown): GovError {
  try {
    work();
  } catch (error) {
    if (error instanceof GovError) return error;
    throw error;
  }
  throw new Error('expected a refusal, got none');
}
