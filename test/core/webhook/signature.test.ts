import { describe, expect, it } from 'vitest';
import { webhookHeaders, webhookKey } from '../../../src/core/webhook/signature.ts';

describe('the signature of a webhook', () => {
  it('is that of the reference vector of Standard Webhooks', () => {
    // the first test of the reference implementations, github.com/standard-webhooks/standard-webhooks
    const key = webhookKey('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
    if (key === null) throw new Error('expected a key');
    const body = Buffer.from('{"test": 2432232314}');
    const headers = webhookHeaders(
      { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body, nowMs: 1_614_265_330_999 },
      key,
    );
    expect(headers).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
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
