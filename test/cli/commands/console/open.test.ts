import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
    expect(stdout).toMatch(new RegExp(`^${plane.origin}/console/#code=[\\w-]{43}\\n$`));
    expect(stderr).toMatch(/the link works once, until \d{4}-/);
    expect((await identityIn(stdout)).body.scopes).toEqual(['*']);
    expect(stdout + stderr).not.toContain(plane.key);
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
});
