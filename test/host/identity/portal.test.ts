import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { GovError } from '../../../src/contract/problems.ts';
import { createPortal, type PortalConfig } from '../../../src/host/identity/portal.ts';
import { silentLog, type Log } from '../../../src/service/call/log.ts';
import { customers, refusal, startStripe, stripeKey, type StripeServer } from './stripe.ts';

const [customer = ''] = customers;
const returnUrl = 'https://app.example.com/billing?from=portal&x=%20';

let stripe: StripeServer;
const lines: string[] = [];
const note = (fields: object, message: string): void =>
  void lines.push(JSON.stringify({ ...fields, message }));
const log: Log = { ...silentLog, warn: note, error: note };

beforeAll(async () => {
  stripe = await startStripe();
});
afterAll(() => stripe.stop());
beforeEach(() => {
  stripe.asked.length = 0;
  stripe.next.length = 0;
  lines.length = 0;
});

const portal = (members: Partial<PortalConfig> = {}) =>
  createPortal({ stripeKey, baseUrl: stripe.url, ...members }, log);
const refused = (opening: Promise<string>): Promise<GovError> =>
  opening.then(
    (url) => Promise.reject(new Error(`expected a refusal, got ${url}`)),
    (error: GovError) => error,
  );

describe('the portal of the payment provider', () => {
  it('the billing portal is opened for a customer with one form-encoded request', async () => {
    const url = await portal().open(customer, returnUrl);
    expect(url).toBe('https://billing.stripe.com/p/session/test_YWNjdF8xTTJKVGtMa2RJd0h1N2l4LF9OY');
    expect(stripe.asked).toHaveLength(1);
    const [{ method, path, headers, body } = stripe.asked[0]!] = stripe.asked;
    expect([method, path]).toEqual(['POST', '/v1/billing_portal/sessions']);
    expect(Object.fromEntries(new URLSearchParams(body))).toEqual({ customer, return_url: returnUrl });
    expect(headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(headers['authorization']).toBe(`Bearer ${stripeKey}`);
    expect(headers['stripe-version']).toMatch(/^20\d\d-\d\d-\d\d/);
  });

  it('the payment provider receives no facts about the machine', async () => {
    const opener = portal();
    await opener.open(customer, returnUrl);
    await opener.open(customer, returnUrl);
    for (const { headers } of stripe.asked) {
      expect(Object.keys(headers).filter((name) => /telemetry|client-user-agent/.test(name))).toEqual([]);
      expect(headers['user-agent']).toMatch(/^gov\/\d+\.\d+\.\d+$/);
    }
  });

  it('the payment provider is called again after an error, with the same idempotency key', async () => {
    stripe.next.push(
      refusal(500, { type: 'api_error', message: 'An unknown error occurred' }),
      refusal(409, { type: 'idempotency_error', message: 'in progress' }),
    );
    await expect(portal().open(customer, returnUrl)).resolves.toMatch(/^https:/);
    const keys = stripe.asked.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    expect(String(keys[0]).length).toBeGreaterThan(20);
  });

  it('the payment provider is not called without limit', async () => {
    for (let n = 0; n < 10; n++) stripe.next.push(refusal(503, { type: 'api_error', message: 'down' }));
    const { code, retryAfterSeconds } = await refused(portal().open(customer, returnUrl));
    expect([code, retryAfterSeconds]).toEqual(['UNAVAILABLE', 5]);
    expect(stripe.asked).toHaveLength(1 + limits.portalRetries);
  });
});

describe('a payment provider', () => {
  it.each([
    ['limits our requests', 429, { type: 'rate_limit_error', code: 'rate_limit' }, 'UNAVAILABLE'],
    ['does not take the key', 401, { type: 'invalid_request_error' }, 'INTERNAL'],
    ['does not let the key do it', 403, { type: 'invalid_request_error' }, 'INTERNAL'],
    ['takes another request', 400, { type: 'invalid_request_error', code: 'url_invalid' }, 'INTERNAL'],
    [
      'does not know the customer',
      400,
      { type: 'invalid_request_error', code: 'resource_missing', param: 'customer' },
      'NOT_FOUND',
    ],
  ])('a payment provider that %s gives %i, and the operator sees why', async (_, status, error, expected) => {
    const message = `Invalid API Key provided: ${stripeKey}`;
    for (let n = 0; n < 3; n++) stripe.next.push(refusal(status, { ...error, message }));
    const { code, message: told } = await refused(portal().open(customer, returnUrl));
    expect(code).toBe(expected);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`"statusCode":${status}`);
    expect(lines[0]).toContain('req_LQ0sZ3fnyWGzVx');
    expect(lines.join() + told).not.toMatch(/sk_test/);
  });

  it('a payment provider with another key gives INTERNAL, and the log contains no part of our key', async () => {
    const { code } = await refused(portal({ stripeKey: 'sk_test_another' }).open(customer, returnUrl));
    expect([code, lines.length]).toEqual(['INTERNAL', 1]);
    expect(lines[0]).not.toMatch(/sk_test/);
  });

  it('a payment provider that is unreachable gives UNAVAILABLE', async () => {
    const gone = await startStripe();
    await gone.stop();
    const { code } = await refused(portal({ baseUrl: gone.url }).open(customer, returnUrl));
    expect(code).toBe('UNAVAILABLE');
  });

  it('a payment provider that does not answer in time gives an error, also in mid-answer', async () => {
    const half = '{"url":"https://billing.stripe.com/p/';
    stripe.next.push(
      () => {},
      (response) => response.write(half),
      () => {},
    );
    const before = performance.now();
    const { code } = await refused(portal({ timeoutMs: 200 }).open(customer, returnUrl));
    expect(code).toBe('UNAVAILABLE');
    expect(performance.now() - before).toBeLessThan(5000);
    expect(stripe.asked.length).toBeGreaterThan(1);
  });

  it.each([
    ['no JSON', (body: string) => `<html>${body}`],
    ['a session without a URL', () => JSON.stringify({ object: 'billing_portal.session' })],
    ['a session with a URL of another kind', () => JSON.stringify({ url: 'javascript:alert(1)' })],
    ['a session whose URL is in clear', () => JSON.stringify({ url: 'http://billing.example.com/' })],
  ])('an answer of the payment provider with %s gives no portal address', async (_, bodyOf) => {
    for (let n = 0; n < 3; n++) stripe.next.push((response) => response.end(bodyOf('')));
    const { code } = await refused(portal().open(customer, returnUrl));
    expect(code).toMatch(/^(INTERNAL|UNAVAILABLE)$/);
  });

  it('an endless answer of a payment provider is not read to its end', async () => {
    const whole = limits.portalAnswerBytes;
    const at = (bytes: number): string => {
      const session = JSON.stringify({ url: 'https://billing.stripe.com/p/1', filler: '' });
      return session.replace('"filler":"', `"filler":"${'x'.repeat(bytes - session.length)}`);
    };
    stripe.next.push((response) => response.end(at(whole)));
    await expect(portal().open(customer, returnUrl)).resolves.toBe('https://billing.stripe.com/p/1');
    for (let n = 0; n < 3; n++) stripe.next.push((response) => response.end(at(whole + 1)));
    expect((await refused(portal().open(customer, returnUrl))).code).toBe('UNAVAILABLE');
  });

  it('a redirect of a payment provider is not followed, because the key would go with it', async () => {
    let visits = 0;
    const elsewhere = createServer((_, response) => {
      visits += 1;
      response.end('{}');
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    const { port } = elsewhere.address() as AddressInfo;
    for (let n = 0; n < 3; n++) {
      stripe.next.push((response) =>
        response.writeHead(307, { location: `http://127.0.0.1:${port}/` }).end(),
      );
    }
    expect((await refused(portal().open(customer, returnUrl))).code).toBe('UNAVAILABLE');
    expect(visits).toBe(0);
    elsewhere.close();
  });
});

describe('a base URL', () => {
  it.each([
    'http://billing.example.com',
    'https://api.stripe.com/v1',
    'https://user@api.stripe.com',
    'ftp://api.stripe.com',
    'api.stripe.com',
  ])('the base URL %s is refused before a key is sent to it', (baseUrl) => {
    expect(() => portal({ baseUrl })).toThrow(/service\.json \/billing\/baseUrl: expected/);
  });

  it.each(['https://stripe.example.com', 'https://stripe.example.com:8443/', 'http://[::1]:12111'])(
    'the base URL %s is accepted',
    (baseUrl) => {
      expect(portal({ baseUrl })).toBeDefined();
    },
  );
});
