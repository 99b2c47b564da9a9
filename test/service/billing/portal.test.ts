import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { customers, refusal, startStripe, stripeKey, type StripeServer } from '../../host/identity/stripe.ts';
import { event } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import { asPerson, inProject, said, told } from '../support/tenants.ts';

const [customer = ''] = customers;
const url = 'https://billing.stripe.com/p/session/test_YWNjdF8xTTJKVGtMa2RJd0h1N2l4LF9OY';
const returnUrl = 'https://app.example.com/billing';

describe.each(engines)('billing on %s', (engine) => {
  let stripe: StripeServer;
  let service: TestService;
  let acme: Tenant;
  beforeAll(async () => {
    stripe = await startStripe();
    service = await startService({
      engine,
      env: { GOV_STRIPE_KEY: stripeKey },
      file: {
        billing: { baseUrl: stripe.url },
        returnHosts: ['app.example.com', 'App.Example.net:8443', 'localhost'],
      },
    });
    acme = await service.signUp('Ann');
  });
  afterAll(async () => {
    await service.end();
    await stripe.stop();
  });

  /** What the operator's command does. */
  const setCustomer = async (of: Tenant, customerId: string | null): Promise<void> => {
    const { store } = service.services;
    const organization = await store.organization(of.orgId);
    await store.append({
      projectId: organization!.home.production,
      leaves: [],
      meter: { op: 'none', units: 0 },
      effects: [{ kind: 'setCustomer', organizationId: of.orgId, customerId }],
    });
  };
  const open = (of: Tenant, text: unknown, options = {}): Promise<Answer> =>
    of.call('POST', '/billing/portal', { body: { returnUrl: text }, ...options });

  describe('the portal', () => {
    let customerOf: Tenant;
    beforeAll(async () => {
      customerOf = await service.signUp('Paying');
      await setCustomer(customerOf, customer);
    });

    it('the billing portal of an organization without a customer gets 404', async () => {
      stripe.asked.length = 0;
      expect(said(await open(acme, returnUrl))).toEqual([404, 'NOT_FOUND']);
      expect(stripe.asked).toEqual([]);
      expect(said(await open(acme, 'https://evil.example'))).toEqual([400, 'VALIDATION_ERROR']);
    });

    it('the billing portal opens with the customer of the organization, and the log records who opened it', async () => {
      stripe.asked.length = 0;
      const { status, body } = await open(customerOf, returnUrl);
      expect([status, body]).toEqual([200, { url }]);
      const sent = Object.fromEntries(new URLSearchParams(stripe.asked[0]?.body));
      expect(sent).toEqual({ customer, return_url: returnUrl });
      const [event] = await told(customerOf.call, 'billing.portal_opened');
      expect(event).toMatchObject({
        actor: { type: 'api_key' },
        resource: { id: customerOf.orgId, type: 'organization' },
      });
    });

    it('the billing portal also opens for a person, and a key needs billing:write', async () => {
      const paying = asPerson(service, 'Paying');
      expect((await paying('POST', '/billing/portal', { body: { returnUrl } })).status).toBe(200);
      const scopes = { name: 'r', scopes: ['projects:read'] };
      const { body } = await customerOf.call('POST', '/api-keys', { body: scopes });
      const refused = await open(customerOf, returnUrl, { key: body.key });
      expect([refused.status, refused.body.requiredScope]).toEqual([403, 'billing:write']);
    });

    it('the billing portal opens once under an Idempotency-Key, from any project of the organization', async () => {
      const paying = asPerson(service, 'Paying');
      const made = await paying('POST', '/projects', { body: { name: 'Second', environment: 'production' } });
      const options = { ...inProject(made.body.id), body: { name: 'k' } };
      const { body } = await paying('POST', '/api-keys', options);
      for (const key of [customerOf.keys.production, body.key]) {
        stripe.asked.length = 0;
        const keyed = { key, headers: { 'idempotency-key': 'portal' } };
        const first = await open(customerOf, returnUrl, keyed);
        const again = await open(customerOf, returnUrl, keyed);
        expect([first.status, again.text, stripe.asked.length]).toEqual([200, first.text, 1]);
        expect(again.headers['idempotent-replayed']).toBe('true');
      }
    });

    // S28: where an open redirect would lead
    it.each([
      'https://evil.example/',
      'https://app.example.com.evil.example/',
      'https://evilapp.example.com/',
      'https://app.example.com@evil.example/',
      'https://app.example.com:secret@app.example.com/',
      'https://@app.example.com/',
      'https://app.example.com:8443/',
      'https://app.example.net/',
      'https://app.example.com./',
      'https://app.example.com%2eevil.example/',
      'https://evil.example/?https://app.example.com',
      'https://evil.example#app.example.com',
      'https://evil.example\\@app.example.com/',
      'https://app.example.com\\.evil.example/',
      'https:\\\\app.example.com/',
      'https:/app.example.com/',
      'https:app.example.com',
      'https:///app.example.com/',
      '//app.example.com/',
      '/billing',
      'app.example.com',
      '\thttps://app.example.com/',
      'https://app.example.com/\n',
      'https://app\t.example.com/',
      'https://app。example。com/',
      'https://ａpp.example.com/',
      'https://аpp.example.com/',
      'http://app.example.com/',
      'http://localhost:3000/',
      'javascript:alert(1)',
      'data:text/html,<script>alert(1)</script>',
      'ftp://app.example.com/',
      'file:///etc/passwd',
      'https://127.0.0.1/',
      'https://[::1]/',
      'https://',
      '',
    ])('the billing portal rejects %j as return URL', async (text) => {
      stripe.asked.length = 0;
      const { status, body } = await open(customerOf, text);
      expect([status, body.errors[0].pointer]).toEqual([400, '/returnUrl']);
      expect(stripe.asked).toEqual([]);
    });

    it.each([
      ['https://app.example.com', 'https://app.example.com/'],
      ['https://app.example.com:443/a?b=c#d', 'https://app.example.com/a?b=c#d'],
      ['HTTPS://APP.EXAMPLE.COM/x', 'https://app.example.com/x'],
      ['https://app.example.net:8443/?to=https://evil.example', undefined],
      ['https://app.example.com/?mail=a@b.example', undefined],
      ['https://app.example.com/a/../b', 'https://app.example.com/b'],
    ])('the billing portal accepts %s as return URL', async (text, sent = text) => {
      stripe.asked.length = 0;
      expect((await open(customerOf, text)).status).toBe(200);
      expect(new URLSearchParams(stripe.asked[0]?.body).get('return_url')).toBe(sent);
    });

    it('the billing portal accepts http://localhost as return URL in the sandbox only', async () => {
      const sandbox = { environment: 'sandbox' };
      expect((await open(customerOf, 'http://localhost:3000/x', sandbox)).status).toBe(200);
      expect((await open(customerOf, 'http://localhost/x', sandbox)).status).toBe(200);
      expect((await open(customerOf, 'http://app.example.com/', sandbox)).status).toBe(400);
      expect((await open(customerOf, 'http://127.0.0.1/', sandbox)).status).toBe(400);
      expect((await open(customerOf, 'http://localhost.evil.example/', sandbox)).status).toBe(400);
    });

    it('the billing portal accepts return URLs of the greatest length', async () => {
      const of = (length: number) => `${returnUrl}?${'x'.repeat(length - returnUrl.length - 1)}`;
      expect((await open(customerOf, of(limits.returnUrlChars))).status).toBe(200);
      expect((await open(customerOf, of(limits.returnUrlChars + 1))).status).toBe(400);
    });

    it('the portal gets 503 for an unreachable provider and 500 for a refused key, and shows no secret', async () => {
      const down = refusal(503, { type: 'api_error', message: `down for ${stripeKey}` });
      stripe.next.push(down, down, down);
      const away = await open(customerOf, returnUrl, { headers: { 'idempotency-key': 'again' } });
      expect(said(away)).toEqual([503, 'UNAVAILABLE']);
      expect(away.headers['retry-after']).toBe('5');
      stripe.next.push(refusal(401, { type: 'invalid_request_error', message: `bad ${stripeKey}` }));
      const refused = await open(customerOf, returnUrl);
      expect(said(refused)).toEqual([500, 'INTERNAL']);
      expect(away.text + refused.text).not.toMatch(/sk_test|stripe/i);
      const after = await open(customerOf, returnUrl, { headers: { 'idempotency-key': 'again' } });
      expect([after.status, after.headers['idempotent-replayed']]).toEqual([200, undefined]);
    });

    it('the billing portal of a customer that the provider does not know gets 404', async () => {
      const lost = await service.signUp('Lost');
      await setCustomer(lost, 'cus_unknown');
      expect(said(await open(lost, returnUrl))).toEqual([404, 'NOT_FOUND']);
    });

    it('the home project records that a key of another project opened the billing portal', async () => {
      const paying = asPerson(service, 'Paying');
      const made = await paying('POST', '/projects', { body: { name: 'Third', environment: 'production' } });
      const options = { ...inProject(made.body.id), body: { name: 'k' } };
      const { body } = await paying('POST', '/api-keys', options);
      const before = (await told(customerOf.call, 'billing.portal_opened')).length;
      expect((await open(customerOf, returnUrl, { key: body.key })).status).toBe(200);
      const events = await told(customerOf.call, 'billing.portal_opened');
      expect([events.length, events.at(-1)?.actor.id]).toEqual([before + 1, body.record.keyId]);
    });
  });

  it('the billing summary adds up the use of each project this month', async () => {
    const of = await service.signUp('Summed');
    await of.call('POST', '/events/batch', { body: { events: [event(), event(), event()] } });
    await of.call('POST', '/risk/evaluate', { body: { runId: 'run-1' }, environment: 'sandbox' });
    const { body } = await asPerson(service, 'Summed')('GET', '/billing/summary');
    const none = { audit_event: 0, compliance_proof: 0, risk_decision: 0, replay_verification: 0 };
    expect(body).toMatchObject({
      organizationId: of.orgId,
      period: new Date().toISOString().slice(0, 7),
      hasCustomer: false,
    });
    const used = Object.fromEntries(
      body.projects.map(({ environment, used: units }: Record<string, unknown>) => [environment, units]),
    );
    expect(used).toEqual({
      production: { ...none, audit_event: 3 },
      sandbox: { ...none, risk_decision: 1 },
    });
    await setCustomer(of, customer);
    const after = await asPerson(service, 'Summed')('GET', '/billing/summary');
    expect(after.body.hasCustomer).toBe(true);
  });

  it('the billing summary includes deleted projects, and leaves out projects without use', async () => {
    const of = await service.signUp('Deleting');
    const person = asPerson(service, 'Deleting');
    const production = (await of.call('GET', '/auth/identity')).body.projectId;
    await of.call('POST', '/events', { body: event() });
    expect((await person('DELETE', `/projects/${production}`)).status).toBe(200);
    const made = await person('POST', '/projects', { body: { name: 'Empty', environment: 'production' } });
    await person('DELETE', `/projects/${made.body.id}`);
    const { body } = await person('GET', '/billing/summary');
    expect([body.complete, body.projects.length]).toEqual([true, 2]);
    expect(body.projects[0]).toMatchObject({ projectId: of.projectId, deletedAt: null });
    expect(body.projects[1]).toMatchObject({
      projectId: production,
      name: 'Production',
      environment: 'production',
      used: { audit_event: 1 },
    });
    expect(Date.now() - Date.parse(body.projects[1].deletedAt)).toBeLessThan(60_000);
  });

  describe('retention', () => {
    const put = (body: unknown, environment = 'production') =>
      acme.call('PUT', '/billing/retention', { body, environment: environment as 'production' });

    it('everything is kept until a retention is set, and the log records who set it', async () => {
      const nothing = { retentionDays: null, legalHold: false };
      expect((await acme.call('GET', '/billing/retention')).body).toEqual(nothing);
      const set = { retentionDays: 400, legalHold: true };
      expect((await put(set)).body).toEqual(set);
      expect((await acme.call('GET', '/billing/retention')).body).toEqual(set);
      await put(set);
      const events = await told(acme.call, 'retention.changed');
      expect(events.map(({ metadata }) => metadata['changes'])).toEqual([
        { retentionDays: { from: null, to: 400 }, legalHold: { from: false, to: true } },
      ]);
      const { projectId } = (await acme.call('GET', '/auth/identity')).body;
      const { body } = await acme.call('GET', `/projects/${projectId}`);
      expect(body.settings.retentionDays).toBe(400);
      expect(Object.keys(body.settings)).not.toContain('legalHold');
    });

    it.each([
      ['production', limits.retentionDaysProduction - 1, 400],
      ['production', limits.retentionDaysProduction, 200],
      ['production', null, 200],
      ['sandbox', 1, 200],
      ['sandbox', 0, 400],
      ['sandbox', limits.retentionDays, 200],
      ['sandbox', limits.retentionDays + 1, 400],
    ])(
      'the service accepts or rejects a retention in %s of %s days',
      async (environment, retentionDays, status) => {
        const answer = await put({ retentionDays, legalHold: false }, environment);
        expect(answer.status).toBe(status);
        if (status === 400) expect(answer.body.errors[0].pointer).toBe('/retentionDays');
      },
    );

    it('a new retention replaces the whole earlier one', async () => {
      expect((await put({ retentionDays: 400 })).status).toBe(400);
      expect((await put({ legalHold: true })).status).toBe(400);
    });
  });
});
