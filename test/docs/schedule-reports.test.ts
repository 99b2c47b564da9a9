/** docs/how-to/schedule-reports.md is followed against a plane with a mail server and a folder for files. */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { planeInit } from '../../plane/data/init.ts';
import { planeServe, type RunningPlane } from '../../plane/serve/start.ts';
import { silentLog } from '../../src/service/call/log.ts';
import { Account } from '../cli/support/account.ts';
import { shell } from '../cli/support/tool.ts';
import { cronSecret } from '../service/support/reporting.ts';
import { startMailbox, type Mailbox } from '../host/outbound/mailbox.ts';
import { blocks, page, withoutComment } from './pages.ts';

let mailbox: Mailbox;
let plane: RunningPlane;
let account: Account;
beforeAll(async () => {
  mailbox = await startMailbox();
  const folder = mkdtempSync(join(tmpdir(), 'gov-page-'));
  const dataDir = join(folder, 'plane');
  mkdirSync(join(folder, 'reports'));
  await planeInit({ dataDir, listen: '127.0.0.1:0', metricsListen: 'off' });
  const path = join(dataDir, 'plane.json');
  const file = JSON.parse(readFileSync(path, 'utf8')) as object;
  const smtp = { host: '127.0.0.1', port: mailbox.port, tls: 'none', from: 'Reports <reports@gov.example>' };
  writeFileSync(path, JSON.stringify({ ...file, smtp, deliveryDir: '../reports', scheduler: 'cron' }));
  plane = await planeServe({ dataDir, log: silentLog, env: { GOV_CRON_SECRET: cronSecret } });
  const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
  account = new Account({ GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: key });
  writeFileSync(join(account.folder, 'cron.secret'), cronSecret, { mode: 0o600 });
});
afterAll(async () => {
  await plane.close();
  await mailbox.close();
});

it('every command of the page about scheduled reports does what the page says', async () => {
  const lines = blocks(page('docs/how-to/schedule-reports.md'), 'sh').flatMap((block) => block.split('\n'));
  expect(lines.length).toBeGreaterThan(7);
  for (const line of lines.map(withoutComment).filter((each) => each !== '')) {
    const { code, stderr } = await shell(line, { env: account.env, cwd: account.folder });
    expect([line, code, code === 0 ? '' : stderr]).toEqual([line, 0, '']);
  }
  const { data } = await account.json(['report', 'schedules', 'list', '--all']);
  expect(data.map(({ name }: { name: string }) => name).toReversed()).toEqual([
    'Weekly decisions',
    'Board',
    'Tools',
    'Tools, files',
  ]);
});
