import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  at,
  build,
  receiverAt,
  startReporting,
  webhookSecret,
  work,
  type Reporting,
} from '../../../service/support/reporting.ts';
import { Account } from '../../support/account.ts';

let on: Reporting;
let account: Account;
beforeAll(async () => {
  on = await startReporting();
  account = new Account({
    GOV_BASE_URL: on.service.baseUrl,
    GOV_API_KEY: on.tenant.keys.production,
  });
  writeFileSync(join(account.folder, 'hook.secret'), `${webhookSecret}\n`, { mode: 0o600 });
});
afterAll(() => on.end());

const create = ['report', 'schedules', 'create', 'executive-summary'];
const weekly = ['--cron', '0 6 * * MON', '--window', 'previous_week', '--timezone', 'Europe/Zurich'];

describe('gov report schedules', () => {
  it('gov report schedules create sends each format to each target, and says when it is due', async () => {
    const hook = `https://127.0.0.1:${on.hookPort}/in`;
    const words = ['--email', 'ada@example.org', '--webhook', hook, '--secret-file', 'hook.secret'];
    const made = await account.json([...create, 'Weekly', ...weekly, '--format', 'csv,json', ...words]);
    expect(made).toMatchObject({ name: 'Weekly', formats: ['csv', 'json'], timezone: 'Europe/Zurich' });
    expect(
      made.deliveries.map(({ channel, format }: Record<string, string>) => `${channel} ${format}`),
    ).toEqual(['email csv', 'email json', 'webhook csv', 'webhook json']);
    const human = await account.gov([...create, 'Another', ...weekly], { columns: 100 });
    expect(human.stderr).toMatch(/its first report is due at .*; see it: gov report schedules get sch_/);
    const list = await account.gov(['report', 'schedules', 'list'], { columns: 200 });
    expect(list.stdout).toContain('Weekly');
    expect(list.stdout).toContain('0 6 * * MON');
  });

  it('gov report schedules create of a custom template sends its formats', async () => {
    const words = ['create', 'Pack', '--section', 'tool-access/tools', '--format', 'csv,json'];
    const { reportTemplateId } = await account.json(['report', 'templates', ...words]);
    const of = ['report', 'schedules', 'create', reportTemplateId, 'Packs', ...weekly];
    const made = await account.json([...of, '--email', 'ada@example.org']);
    expect(made.formats).toEqual(['csv', 'json']);
    expect(made.deliveries.map(({ format }: Record<string, string>) => format)).toEqual(['csv', 'json']);
    const { code, stderr } = await account.gov(['report', 'templates', 'delete', reportTemplateId, '--yes']);
    expect([code, stderr]).toEqual([6, expect.stringContaining(`${made.scheduleId} (Packs) uses it`)]);
  });

  it('gov report schedules update changes what it names, and delete removes', async () => {
    const { scheduleId } = await account.json([...create, 'Mine', ...weekly, '--email', 'ada@example.org']);
    const update = ['report', 'schedules', 'update', scheduleId];
    expect(await account.json([...update, '--disable'])).toMatchObject({ enabled: false, nextRunAt: null });
    const changed = await account.json([
      ...update,
      '--enable',
      '--name',
      'Ours',
      '--email',
      'eve@example.org',
    ]);
    expect(changed).toMatchObject({ enabled: true, name: 'Ours', cron: '0 6 * * MON' });
    expect(changed.deliveries).toMatchObject([{ target: 'e…@example.org', format: 'pdf' }]);
    expect((await account.json([...update, '--without-deliveries'])).deliveries).toEqual([]);
    expect((await account.gov([...update])).code).toBe(2);
    expect((await account.gov([...update, '--enable', '--disable'])).code).toBe(2);
    expect((await account.gov(['report', 'schedules', 'delete', scheduleId, '--yes'])).code).toBe(0);
    expect((await account.gov(['report', 'schedules', 'get', scheduleId])).code).not.toBe(0);
  });

  it.each([
    [
      'an expression that never comes due',
      ['--cron', '0 0 30 2 *', '--window', 'previous_day'],
      'never exists',
    ],
    ['a webhook without a secret', [...weekly, '--webhook', 'https://a.example/'], '--secret-file'],
    ['a secret without a webhook', [...weekly, '--secret-file', 'hook.secret'], '--webhook'],
  ])('gov report schedules create refuses %s', async (_, words, part) => {
    const { code, stderr } = await account.gov([...create, 'Bad', ...words]);
    expect(code).toBe(2);
    expect(stderr).toContain(part);
  });

  it('gov report deliveries list, get and retry show and repeat what failed', async () => {
    const receiver = await receiverAt(
      on,
      (response, _request, count) => void response.writeHead(count === 1 ? 410 : 204).end(),
    );
    const words = ['--webhook', `https://127.0.0.1:${on.hookPort}/in`, '--secret-file', 'hook.secret'];
    const made = await account.json([
      ...create,
      'Daily',
      '--cron',
      '0 6 * * *',
      '--window',
      'previous_day',
      '--format',
      'json',
      ...words,
    ]);
    const due = at(on.service.services, Date.parse(made.nextRunAt));
    await work(due, 'schedules');
    await build(due);
    await work(due, 'deliveries');
    const [failed] = (await account.json(['report', 'deliveries', 'list', '--status', 'failed'])).data;
    expect(failed).toMatchObject({ channel: 'webhook', lastStatusCode: 410 });
    const retried = await account.json(['report', 'deliveries', 'retry', failed.deliveryId]);
    expect(retried.status).toBe('pending');
    await work(due, 'deliveries');
    expect(await account.json(['report', 'deliveries', 'get', failed.deliveryId])).toMatchObject({
      status: 'delivered',
    });
    expect((await account.gov(['report', 'deliveries', 'retry', failed.deliveryId])).code).not.toBe(0);
    await receiver.close();
  });
});
