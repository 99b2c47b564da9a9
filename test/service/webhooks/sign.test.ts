/** Against the reference library of Standard Webhooks, and the known answer of its specification. */
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { newSecret, signatureHeaders } from '../../../src/service/webhooks/sign.ts';

it('gives the known answer of the reference library', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const message = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    seconds: 1_614_265_330,
    body: '{"test": 2432232314}',
  };
  expect(signatureHeaders(message, [secret])).toEqual({
    'webhook-id': message.id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

it('the reference library verifies every signature, and rejects another body, id or secret', () => {
  fc.assert(
    fc.property(fc.string(), fc.uint8Array({ minLength: 32, maxLength: 32 }), (text, bytes) => {
      const secret = newSecret(() => Buffer.from(bytes));
      const body = JSON.stringify({ text });
      const seconds = Math.floor(Date.now() / 1000);
      const headers = signatureHeaders({ id: 'msg_1', seconds, body }, [secret]);
      expect(new Webhook(secret).verify(body, headers)).toEqual({ text });
      expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow();
      expect(() => new Webhook(secret).verify(body, { ...headers, 'webhook-id': 'msg_2' })).toThrow();
      expect(() => new Webhook(newSecret(() => Buffer.alloc(32, 1))).verify(body, headers)).toThrow();
    }),
    { numRuns: 50 },
  );
});

it('a message carries a signature of each valid secret', () => {
  const [one, other] = [1, 2].map((at) => newSecret(() => Buffer.alloc(32, at)));
  const message = { id: 'msg_1', seconds: Math.floor(Date.now() / 1000), body: '{}' };
  const headers = signatureHeaders(message, [one!, other!]);
  for (const secret of [one!, other!]) expect(new Webhook(secret).verify('{}', headers)).toEqual({});
});
