import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startService } from '../../../support/hosted.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane({ extraKeys: { approver: { scopes: ['approvals:decide'] } } });
});
afterAll(() => plane.end());

const open = (code: string) =>
  plane.call('POST', '/console/session', {
    key: null,
    body: { code },
    headers: { origin: plane.origin, 'sec-fetch-site': 'same-origin' },
  });
const identityIn = async (link: string) => {
  const opened = await open(/#code=([\w-]+)$/.exec(link.trim())?.[1] ?? '');
  const cookie = /^[^;]+/.exec(opened.headers['set-cookie']?.[0] ?? '')?.[0] ?? '';
  return plane.call('GET', '/auth/identity', {
    key: null,
    headers: { cookie, 'sec-fetch-site': 'same-origin' },
  });
};

describe('gov console open', () => {
  it('gov console open --print prints a link that signs in as the key of the context, and no key', async () => {
    const { stdout, stderr } = await plane.gov('console open --print', { columns: 100 });
    expect(stdout).toMatch(new RegExp(`^http://localhost:${plane.port}/console/#code=[\\w-]{43}\\n$`));
    expect(stderr).toMatch(/the link works once, until \d{4}-/);
    expect((await identityIn(stdout)).body.scopes).toEqual(['*']);
    expect(stdout + stderr).not.toContain(plane.key);
  });

  it('gov console open prints a link that works and exits with 0 where no browser opens', async () => {
    const bare = { columns: 100, env: { PATH: '/nowhere' } };
    const { code, stdout, stderr } = await plane.gov('console open', bare);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^http:\S+\/console\/#code=[\w-]{43}\n$/)]);
    expect(stderr).toMatch(/^no browser opened: xdg-open is not installed here; open this address in one:\n/);
    expect(stderr).toMatch(/the link works once, until \d{4}-/);
    expect((await identityIn(stdout)).body.scopes).toEqual(['*']);
  });

  it('gov console open --key signs in as the key in a file', async () => {
    const file = join(plane.dataDir, 'other.key');
    writeFileSync(file, `${plane.keys['approver'] ?? ''}\n`, { mode: 0o600 });
    const { stdout } = await plane.gov(`console open --key ${file}`);
    expect((await identityIn(stdout)).body.name).toBe('approver');
  });

  it('gov console open has the link and its end as JSON', async () => {
    const { url, expiresAt } = await plane.json('console open');
    expect(url).toContain('/console/#code=');
    expect(Date.parse(expiresAt) - Date.now()).toBeLessThanOrEqual(120_000);
  });

  it('gov console open keeps 127.0.0.1 where another program listens at the same port of ::1', async ({
    skip,
  }) => {
    const other = createServer();
    const failed = await new Promise((done) => {
      other.once('error', done).listen({ host: '::1', port: plane.port, ipv6Only: true }, () => done(null));
    });
    if (failed !== null) skip('this machine has no IPv6');
    const { stdout } = await plane.gov('console open --print');
    expect(stdout).toContain(`${plane.origin}/console/#code=`);
    await new Promise((done) => other.close(done));
  });
});

describe('gov console open at a service', () => {
  it('gov console open at a service prints its console without a link, also for somebody without a credential', async () => {
    const service = await startService();
    const env = { GOV_BASE_URL: `${service.origin}/sandbox/api/v1`, GOV_API_KEY: '' };
    const { stdout, stderr } = await plane.gov('console open --print', { env });
    expect([stdout, stderr]).toEqual([`http://localhost:${service.port}/console/\n`, 'sign in there\n']);
    const { code, stderr: refused } = await plane.gov('console open --print --key x', { env });
    expect([code, refused]).toEqual([2, expect.stringContaining('--key: people sign in to a service')]);
    await service.end();
  });
});
