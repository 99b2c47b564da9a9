import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { startService, type Tenant, type TestService } from '../../../support/hosted.ts';
import { event } from '../../../support/serving.ts';
import { Account } from '../../support/account.ts';

let service: TestService;
let tenant: Tenant;
let account: Account;
beforeAll(async () => {
  service = await startService();
  tenant = await service.signUp('ada');
  account = new Account();
  const login = ['auth', 'login', '--api-key-stdin', '--base-url', service.origin, '-C', 'acme'];
  expect((await account.gov(login, { input: tenant.keys.sandbox })).code).toBe(0);
  const pointers = 'subjectPointers=["/metadata/customer"]';
  expect((await account.gov(['projects', 'update', tenant.projectId, '--set', pointers])).code).toBe(0);
});
afterAll(() => service.end());

const call = (method: string, path: string, body?: unknown) =>
  tenant.call(method, path, { environment: 'sandbox', ...(body === undefined ? {} : { body }) });
const record = async (customer: string): Promise<string> =>
  (await call('POST', '/events', event({ metadata: { customer, note: 'n' } }))).body.eventId;
const read = async (eventId: string) => (await call('GET', `/events/${eventId}`)).body;
const erase = (...words: string[]) => account.gov(['erase', ...words], { columns: 100 });

describe('gov erase', () => {
  it('gov erase asks first, and erases nothing when nobody can answer', async () => {
    const eventId = await record('c0');
    const refused = await erase('--event', eventId);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('this erases 7 values of 1 events and decisions permanently'),
    ]);
    expect((await erase('--event', eventId, '--dry-run')).code).toBe(0);
    expect((await read(eventId)).erased).toBeUndefined();
  });

  it('gov erase removes single fields of an event, and then the rest', async () => {
    const eventId = await record('c1');
    const words = ['erase', '--event', eventId, '--field', '/metadata/note', '--field', '/actor', '--yes'];
    const some = await account.json([...words, '--reason', 'subject_request']);
    expect(some).toEqual({
      erasureIds: [expect.stringMatching(/^ers_/)],
      leaves: 1,
      fields: 3,
      dryRun: false,
      keyDestroyed: false,
    });
    expect(await read(eventId)).toMatchObject({ actor: {}, metadata: { customer: 'c1' }, action: 'execute' });
    const listed = await account.json(['erasures', 'list']);
    expect(listed[0] ?? listed.data[0]).toMatchObject({ reasonCode: 'subject_request', fields: 3 });
    expect((await account.json(['erasures', 'get', some.erasureIds[0]])).targets).toHaveLength(1);
    expect((await erase('--event', eventId, '--yes')).stdout).toContain('erased 4 values');
    expect((await erase('--event', eventId, '--yes')).stdout).toContain('nothing to erase');
  });

  it('gov erase erases everything about a subject, whose name may come from standard input', async () => {
    const events = Array.from({ length: limits.batchEvents }, () =>
      event({ metadata: { customer: 'many' } }),
    );
    expect((await call('POST', '/events/batch', { events })).status).toBe(201);
    const { erasureIds, leaves } = await account.json(['erase', '--subject', '-', '--yes'], {
      input: 'many\n',
    });
    expect(leaves).toBe(limits.batchEvents);
    expect(erasureIds.length).toBeGreaterThan(1);
    expect((await erase('--subject', 'many', '--dry-run')).stdout).toContain('0 values');
    await record('few');
    // nothing is sealed here
    expect((await erase('--subject', 'few', '--yes')).stdout).toContain('no key was destroyed');
    const longest = '𝄞'.repeat(limits.subjectValueChars);
    await record(longest);
    expect((await account.json(['erase', '--subject', longest, '--yes'])).leaves).toBe(1);
  });

  it('gov erase needs a second credential when the project requires one', async () => {
    const set = (value: string) =>
      account.gov(['projects', 'update', tenant.projectId, '--set', `requireTwoPersonErasure=${value}`]);
    expect((await set('true')).code).toBe(0);
    const eventId = await record('c9');
    const { request } = await account.json(['erase', '--event', eventId, '--dry-run']);
    expect((await erase('--event', eventId, '--dry-run')).stdout).toContain('--request key_');
    expect((await erase('--event', eventId, '--yes')).code).toBe(4);
    expect((await erase('--event', eventId, '--request', request, '--yes')).code).toBe(4);
    const body = { name: 'second', scopes: ['erasure:write'] };
    const { key } = (await call('POST', '/api-keys', body)).body;
    const env = { GOV_API_KEY: key, GOV_BASE_URL: `${service.origin}/sandbox/api/v1` };
    const words = ['erase', '--event', eventId, '--request', request, '--yes'];
    expect((await account.gov(words, { env })).code).toBe(0);
    expect((await read(eventId)).action).toBe('');
    expect((await set('false')).code).toBe(0);
  });

  it.each([
    [[]],
    [['--event', 'evt_01jzzzzzzzf84af5g000000004', '--subject', 'x']],
    [['--event', 'run-1']],
    [['--subject', 'x', '--field', '/action']],
    [['--subject', '']],
    [['--subject', 'x'.repeat(limits.subjectValueChars + 1)]],
    [['--subject', 'x', '--reason', 'Because I say so']],
  ])('gov erase refuses %j', async (words) => {
    expect((await erase(...words, '--yes')).code).toBe(2);
  });
});
