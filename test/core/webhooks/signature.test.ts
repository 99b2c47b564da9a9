import * as fc from 'fast-check';
import { verifiesV1a } from './v1a.ts';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import {
  newWebhookKeyPair,
  newWebhookSecret,
  webhookHeaders,
  webhookKey,
  webhookSigner,
} from '../../../src/core/webhooks/signature.ts';

const headersOf = (body: string, ...secrets: string[]): Record<string, string> => {
  const keys = secrets.flatMap((secret) => webhookKey(secret) ?? []);
  return { ...webhookHeaders({ id: 'msg_1', body: Buffer.from(body), nowMs: Date.now() }, keys) };
};

describe('the signature of a webhook', () => {
  it('is that of the reference vector of Standard Webhooks', () => {
    // the first test of the reference implementations, github.com/standard-webhooks/standard-webhooks
    const key = webhookKey('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
    if (key === null) throw new Error('expected a key');
    const body = Buffer.from('{"test": 2432232314}');
    const headers = webhookHeaders({ id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body, nowMs: 1_614_265_330_999 }, [
      key,
    ]);
    expect(headers).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('is accepted by the reference library, which rejects another body, id or secret', () => {
    fc.assert(
      fc.property(fc.string(), fc.uint8Array({ minLength: 32, maxLength: 32 }), (text, bytes) => {
        const secret = newWebhookSecret(() => Buffer.from(bytes));
        const body = JSON.stringify({ text });
        const headers = headersOf(body, secret);
        expect(new Webhook(secret).verify(body, headers)).toEqual({ text });
        expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow();
        expect(() => new Webhook(secret).verify(body, { ...headers, 'webhook-id': 'msg_2' })).toThrow();
        const other = newWebhookSecret(() => Buffer.alloc(32, 1));
        expect(() => new Webhook(other).verify(body, headers)).toThrow();
      }),
      { numRuns: 50 },
    );
  });

  it('is there once for each valid secret', () => {
    const secrets = [1, 2].map((at) => newWebhookSecret(() => Buffer.alloc(32, at)));
    const headers = headersOf('{}', ...secrets);
    for (const secret of secrets) expect(new Webhook(secret).verify('{}', headers)).toEqual({});
  });

  it.each([
    [24, true],
    [64, true],
    [23, false],
    [65, false],
  ])('a secret of %i bytes is a key: %j', (bytes, isKey) => {
    expect(webhookKey(`whsec_${Buffer.alloc(bytes, 7).toString('base64')}`) !== null).toBe(isKey);
  });

  it.each([
    '',
    'whsec_',
    'C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
    'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7o!',
    'whsec_=====',
  ])('another text is no key: %j', (text) => {
    expect(webhookKey(text)).toBe(null);
  });
});

describe('the asymmetric signature of a webhook', () => {
  const body = Buffer.from('{"test": 2432232314}');
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body, nowMs: 1_614_265_330_000 };
  const signed = (secret: string, of = message): Record<string, string> => {
    const key = webhookSigner(secret);
    if (key === null) throw new Error('expected a key');
    return { ...webhookHeaders(of, [key]) };
  };

  it('is that of the vector of Svix, whose key pair it reads', () => {
    // svix-webhooks/server/svix-server, tests of the worker: secret, public key and signature of the same message
    const secret =
      'whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==';
    const seed = Buffer.from(secret.slice(5), 'base64').subarray(0, 32);
    expect(newWebhookKeyPair(() => seed)).toEqual({
      secret,
      publicKey: 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=',
    });
    expect(signed(secret)['webhook-signature']).toBe(
      'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==',
    );
  });

  it('verifies with its public key alone, and not for another body, id, time or key', () => {
    fc.assert(
      fc.property(fc.string(), fc.uint8Array({ minLength: 32, maxLength: 32 }), (text, bytes) => {
        const { secret, publicKey } = newWebhookKeyPair(() => Buffer.from(bytes));
        const sent = Buffer.from(JSON.stringify({ text }));
        const headers = signed(secret, { ...message, body: sent });
        expect(verifiesV1a(publicKey, headers, sent)).toBe(true);
        expect(verifiesV1a(publicKey, headers, Buffer.from(`${sent.toString()} `))).toBe(false);
        expect(verifiesV1a(publicKey, { ...headers, 'webhook-id': 'msg_2' }, sent)).toBe(false);
        expect(verifiesV1a(publicKey, { ...headers, 'webhook-timestamp': '1' }, sent)).toBe(false);
        const other = newWebhookKeyPair(() => Buffer.from(bytes).reverse().fill(7, 0, 1)).publicKey;
        if (other !== publicKey) expect(verifiesV1a(other, headers, sent)).toBe(false);
      }),
      { numRuns: 50 },
    );
  });

  it.each(['whsk_', 'whsk_AAAA', `whsk_${Buffer.alloc(32).toString('base64')}`, 'whpk_AAAA'])(
    'another text is no signing key: %j',
    (text) => {
      expect(webhookSigner(text)).toBe(null);
    },
  );
});
