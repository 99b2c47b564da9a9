/**
 * Sessions and tokens of the command line over real sockets on both engines: contract B14, I2, O8, S13, S41.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { engines, startService, type TestService } from '../../support/hosted.ts';
import { eventsOf, sessionOf, withCookie } from '../support/accounts.ts';

afterEach(() => {
  vi.useRealTimers();
});
/** Moves the clock of the process; timers go on as they are. */
const later = (ms: number): void => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms });
};

describe.each(engines)('people who signed in, on %s', (engine) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ engine });
  });
  afterAll(() => service.end());

  const openSession = async (name: string, more: object = {}) =>
    service.call('POST', '/auth/session', { body: { idToken: await service.idToken(name) }, ...more });
  const identity = (options: object) => service.call('GET', '/auth/identity', options);

  describe('a session', () => {
    it('a session is a cookie with every flag, and ends on the server', async () => {
      const tenant = await service.signUp('emmy', { name: 'Emmy Noether', organizationName: 'Ring' });
      const opened = await openSession('emmy');
      expect([opened.status, opened.body]).toEqual([200, { success: true }]);
      const token = sessionOf(opened);
      const { status, body } = await identity(withCookie(token));
      expect([status, body]).toEqual([
        200,
        {
          type: 'person',
          id: expect.stringMatching(/^usr_/),
          name: 'Emmy Noether',
          organizationId: tenant.orgId,
          organizationName: 'Ring',
          projectId: expect.stringMatching(/^prj_/),
          projectName: 'Production',
          environment: 'production',
          scopes: ['*'],
          expiresAt: expect.any(String),
        },
      ]);
      expect(Date.parse(body.expiresAt) - Date.now()).toBeGreaterThan(
        limits.sessionHours * 3_600_000 - 60_000,
      );
      expect((await service.call('GET', '/projects', withCookie(token))).status).toBe(200);
      const closed = await service.call('DELETE', '/auth/session', withCookie(token));
      expect([closed.status, closed.body]).toEqual([200, { success: true }]);
      expect(closed.headers['set-cookie']).toEqual([
        '__Host-gov_session=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0',
      ]);
      expect((await identity(withCookie(token))).body.code).toBe('INVALID_CREDENTIAL');
    });

    it('each sign-in opens another session, and the one before ends', async () => {
      await service.signUp('sofia');
      const first = sessionOf(await openSession('sofia'));
      expect((await identity(withCookie(first))).status).toBe(200);
      const second = sessionOf(await openSession('sofia', withCookie(first)));
      expect(second).not.toBe(first);
      expect((await identity(withCookie(first))).status).toBe(401);
      expect((await identity(withCookie(second))).status).toBe(200);
      // a repeat is a sign-in of its own
      const header = { headers: { 'idempotency-key': 'session-1' } };
      const [third, fourth] = [await openSession('sofia', header), await openSession('sofia', header)];
      expect(sessionOf(third)).not.toBe(sessionOf(fourth));
    });

    it('a session never has a reference that a client chose', async () => {
      await service.signUp('fixed');
      const chosen = 'A'.repeat(43);
      expect((await identity(withCookie(chosen))).status).toBe(401);
      expect(sessionOf(await openSession('fixed', withCookie(chosen)))).not.toBe(chosen);
      expect((await identity(withCookie(chosen))).status).toBe(401);
    });

    it('the session of one person does not end with that of another', async () => {
      await Promise.all([service.signUp('maria'), service.signUp('pierre')]);
      const [one, other] = [sessionOf(await openSession('maria')), sessionOf(await openSession('pierre'))];
      await service.call('DELETE', '/auth/session', withCookie(one));
      expect((await identity(withCookie(other))).status).toBe(200);
    });

    it('a session that is closed twice at once records one end', async () => {
      const tenant = await service.signUp('lise');
      for (let round = 0; round < 5; round += 1) {
        const token = sessionOf(await openSession('lise'));
        const closings = Array.from({ length: 4 }, async () =>
          service.call('DELETE', '/auth/session', withCookie(token)),
        );
        expect((await Promise.all(closings)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      }
      const types = (await eventsOf(tenant)).map(({ eventType }) => eventType);
      expect(types.filter((type) => type === 'session.closed')).toHaveLength(5);
    });

    it('closing a missing session succeeds', async () => {
      for (const options of [{}, withCookie('x'), withCookie('A'.repeat(43))]) {
        const { status, body, headers } = await service.call('DELETE', '/auth/session', options);
        expect([status, body]).toEqual([200, { success: true }]);
        expect(headers['set-cookie']?.[0]).toMatch(/^__Host-gov_session=; .*Max-Age=0$/);
      }
    });

    it('a session opens for a person who has signed up and has just signed in', async () => {
      await service.signUp('vera');
      const nowSeconds = Math.floor(Date.now() / 1000);
      const statusOf = async (body: unknown): Promise<string> => {
        const answer = await service.call('POST', '/auth/session', { body });
        expect(answer.headers['set-cookie']).toBeUndefined();
        return `${answer.status} ${answer.body.code}`;
      };
      const refused = '401 INVALID_CREDENTIAL';
      const token = (claims: object) => service.idToken('vera', claims as never);
      expect(await statusOf({ idToken: await service.idToken('stranger') })).toBe(refused);
      expect(await statusOf({ idToken: await token({ auth_time: nowSeconds - 301 }) })).toBe(refused);
      expect(await statusOf({ idToken: await token({ iat: nowSeconds - 310 }) })).toBe(refused);
      expect(await statusOf({ idToken: await token({ aud: 'other' }) })).toBe(refused);
      expect(await statusOf({ idToken: 'malformed' })).toBe(refused);
      expect(await statusOf({ idToken: '' })).toBe('400 VALIDATION_ERROR');
      expect(await statusOf({ idToken: 'a'.repeat(limits.idTokenChars) })).toBe(refused);
      expect(await statusOf({ idToken: 'a'.repeat(limits.idTokenChars + 1) })).toBe('400 VALIDATION_ERROR');
      expect(await statusOf({ idToken: 7 })).toBe('400 VALIDATION_ERROR');
      expect(await statusOf({})).toBe('400 VALIDATION_ERROR');
    });

    it('a session ends an hour after its last use', async () => {
      await service.signUp('idle');
      const token = sessionOf(await openSession('idle'));
      later(limits.sessionIdleMinutes * 60_000 - 10_000);
      expect((await identity(withCookie(token))).status).toBe(200);
      vi.useRealTimers();
      const unused = sessionOf(await openSession('idle'));
      later(limits.sessionIdleMinutes * 60_000 + 1000);
      expect((await identity(withCookie(unused))).body.code).toBe('INVALID_CREDENTIAL');
    });

    it('the log of the organization records when a session opens and ends', async () => {
      const tenant = await service.signUp('told');
      const first = sessionOf(await openSession('told'));
      const second = sessionOf(await openSession('told', withCookie(first)));
      await service.call('DELETE', '/auth/session', withCookie(second));
      await service.call('DELETE', '/auth/session', withCookie(second));
      const events = (await eventsOf(tenant)).slice(3);
      expect(events.map(({ eventType, metadata }) => [eventType, metadata['reason']])).toEqual([
        ['session.opened', undefined],
        ['session.closed', 'replaced'],
        ['session.opened', undefined],
        ['session.closed', 'signed_out'],
      ]);
      const [opened, closed, again] = events;
      expect(opened).toMatchObject({
        actor: { id: expect.stringMatching(/^usr_/), type: 'person' },
        resource: { id: expect.stringMatching(/^[0-9a-f]{32}$/), type: 'session' },
        metadata: { kind: 'browser', expiresAt: expect.any(String) },
      });
      expect(closed?.resource).toEqual(opened?.resource);
      expect(again?.resource).not.toEqual(opened?.resource);
    });
  });

  describe('a token of the command line', () => {
    const createToken = async (name: string, headers = {}) =>
      service.call('POST', '/auth/tokens', { body: { idToken: await service.idToken(name) }, headers });

    it('a token of the command line acts for its person until it is revoked', async () => {
      const tenant = await service.signUp('linus', { name: 'Linus' });
      const { status, body } = await createToken('linus');
      expect([status, body]).toEqual([
        201,
        {
          token: expect.stringMatching(/^gov_cli_[0-9A-Za-z]{38}$/),
          organizationId: tenant.orgId,
          expiresAt: expect.any(String),
        },
      ]);
      const who = await identity({ key: body.token });
      expect(who.body).toMatchObject({
        type: 'person',
        name: 'Linus',
        scopes: ['*'],
        expiresAt: body.expiresAt,
      });
      const other = (await createToken('linus')).body.token;
      const revoked = await service.call('DELETE', '/auth/tokens', { key: body.token });
      expect([revoked.status, revoked.body]).toEqual([200, { success: true }]);
      expect((await identity({ key: body.token })).body.code).toBe('INVALID_CREDENTIAL');
      expect((await identity({ key: other })).status).toBe(200);
      const events = (await eventsOf(tenant)).slice(3);
      expect(events.map(({ eventType, metadata }) => `${eventType} ${metadata['kind']}`)).toEqual([
        'session.opened cli',
        'session.opened cli',
        'session.closed cli',
      ]);
    });

    it('a token of the command line is returned again under an Idempotency-Key', async () => {
      await service.signUp('repeat');
      const headers = { 'idempotency-key': 'token-1' };
      const body = { idToken: await service.idToken('repeat') };
      const [first, second] = [
        await service.call('POST', '/auth/tokens', { body, headers }),
        await service.call('POST', '/auth/tokens', { body, headers }),
      ];
      expect([second.status, second.text]).toEqual([201, first.text]);
    });

    it('a token is not accepted as a cookie, and a session not as a token', async () => {
      await service.signUp('mixed');
      const { token } = (await createToken('mixed')).body;
      expect((await identity(withCookie(token))).status).toBe(401);
      const session = sessionOf(await openSession('mixed'));
      expect((await identity({ key: session })).status).toBe(401);
      await service.call('DELETE', '/auth/session', withCookie(token));
      expect((await identity({ key: token })).status).toBe(200);
    });

    it('a token of the command line survives without use, and ends after twelve hours', async () => {
      await service.signUp('patient');
      const { token } = (await createToken('patient')).body;
      later(limits.sessionHours * 3_600_000 - 60_000);
      expect((await identity({ key: token })).status).toBe(200);
      later(61_000);
      expect((await identity({ key: token })).body.code).toBe('INVALID_CREDENTIAL');
    });

    it('the revocation of tokens applies only to tokens of the command line', async () => {
      const { keys } = await service.signUp('keyed');
      const session = sessionOf(await openSession('keyed'));
      for (const options of [
        { key: keys.production },
        withCookie(session),
        { key: await service.idToken('keyed') },
      ]) {
        const { status, body } = await service.call('DELETE', '/auth/tokens', options);
        expect([status, body.errors[0].pointer]).toEqual([400, '/Authorization']);
      }
      expect((await identity({ key: keys.production })).status).toBe(200);
      expect((await identity(withCookie(session))).status).toBe(200);
      expect((await service.call('DELETE', '/auth/tokens')).status).toBe(401);
    });
  });
});

it('people stay signed in for as long as is configured', async () => {
  const service = await startService({ file: { sessionHours: 1 } });
  await service.signUp('ada');
  const { body } = await service.call('POST', '/auth/tokens', {
    body: { idToken: await service.idToken('ada') },
  });
  const ms = Date.parse(body.expiresAt) - Date.now();
  expect(ms).toBeGreaterThan(3_590_000);
  expect(ms).toBeLessThanOrEqual(3_600_000);
  await service.end();
});
