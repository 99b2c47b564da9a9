import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { Account } from '../support/account.ts';
import { gov } from '../support/tool.ts';

let service: TestService;
let tenant: Tenant;
beforeAll(async () => {
  service = await startService();
  tenant = await service.signUp('ada');
});
afterAll(() => service.end());

describe('the key of hooks on a plane', () => {
  let plane: TestPlane;
  beforeAll(async () => {
    plane = await startPlane();
  });
  afterAll(() => plane.end());

  /** Installs as a user of the plane in its directory. Returns the key that hooks then have. */
  async function installed(): Promise<{ key: string; stderr: string; account: Account }> {
    const account = new Account();
    mkdirSync(join(account.folder, 'config'), { recursive: true });
    const contexts = { p: { kind: 'plane', dataDir: plane.dataDir } };
    const text = JSON.stringify({ contexts, currentContext: 'p' });
    writeFileSync(join(account.folder, 'config/config.json'), text);
    const { code, stderr } = await account.gov(['agents', 'install', 'claude-code', '--scope', 'user']);
    expect(code, stderr).toBe(0);
    const { keyFile } = JSON.parse(readFileSync(join(account.folder, 'config/agents.json'), 'utf8'));
    return { key: readFileSync(keyFile, 'utf8').trim(), stderr, account };
  }

  const refused = [
    [
      'POST',
      '/governance/policies',
      { policyId: 'p', name: 'p', condition: { '==': [1, 1] }, action: 'allow' },
    ],
    ['POST', '/api-keys', { name: 'more', scopes: ['*'] }],
    ['POST', '/erasures', {}],
    ['POST', '/exports', { resource: 'audit_events', format: 'json' }],
  ] as const;

  it('hooks get agent.key, which decides and records and can neither change policies nor make keys', async () => {
    const { key, stderr } = await installed();
    expect([key, stderr]).toEqual([
      readFileSync(join(plane.dataDir, 'agent.key'), 'utf8').trim(),
      expect.not.stringContaining("operator's key"),
    ]);
    const body = { tool: { name: 'Bash' }, arguments: {} };
    expect((await plane.call('POST', '/mcp/tools/evaluate', { key, body })).status).toBe(200);
    for (const [method, path, each] of refused)
      expect((await plane.call(method, path, { key, body: each })).status, path).toBe(403);
    const { body: event } = await plane.call('POST', '/mcp/tools/evaluate', { key, body });
    expect(event.allowed).toBe(true);
  });

  it('a plane that was made before agent.key gets a narrow key through its interface, and uninstall revokes it', async () => {
    rmSync(join(plane.dataDir, 'agent.key'));
    const { key, account } = await installed();
    const keys = async () => (await plane.call('GET', '/api-keys')).body.data;
    const named = (list: { name: string }[]) => list.filter(({ name }) => name === 'agents');
    expect(named(await keys())).toMatchObject([{ scopes: ['tools:evaluate', 'events:write'] }]);
    for (const [method, path, each] of refused)
      expect((await plane.call(method, path, { key, body: each })).status, path).toBe(403);
    expect((await account.gov(['agents', 'uninstall', '--scope', 'user'])).code).toBe(0);
    expect(named(await keys())).toEqual([]);
  });

  it('a repeated request for a key on a plane gets the same key', async () => {
    const headers = { 'idempotency-key': 'again' };
    const body = { name: 'one', scopes: ['events:write'] };
    const [one, other] = [
      await plane.call('POST', '/api-keys', { body, headers }),
      await plane.call('POST', '/api-keys', { body, headers }),
    ];
    expect([one.status, other.body.key]).toEqual([201, one.body.key]);
    const [{ count }] = await plane.sql(
      `SELECT count(*) AS count FROM idempotency WHERE instr(body, '${one.body.key}')`,
    );
    expect(count).toBe(0);
  });
});

describe('the key of hooks on a service', () => {
  it('gov agents install makes one narrow key, keeps it, and uninstall revokes it', async () => {
    const account = new Account();
    const login = ['auth', 'login', '--api-key-stdin', '--base-url', service.origin, '-C', 'acme'];
    expect((await account.gov(login, { input: tenant.keys.sandbox })).code).toBe(0);
    const keys = async () =>
      (await account.json(['keys', 'list'])).data.filter(({ name }: { name: string }) => name === 'agents');
    const install = ['agents', 'install', 'claude-code', '--scope', 'user'];
    expect(await account.gov([...install, '--dry-run'])).toMatchObject({ code: 0 });
    expect(await keys()).toEqual([]);
    for (let times = 0; times < 2; times += 1) {
      const { code, stderr } = await account.gov(install);
      expect(code, stderr).toBe(0);
      expect(stderr).not.toContain("operator's key");
      expect(await keys()).toMatchObject([{ scopes: ['tools:evaluate', 'events:write'] }]);
    }
    const keyFile = join(account.folder, 'config/agents.key');
    expect(account.file('config/agents.key').mode).toBe(0o600);
    const settings = readFileSync(join(account.folder, '.claude/settings.json'), 'utf8');
    expect(settings).toContain(readFileSync(keyFile, 'utf8').trim());
    const call = {
      session_id: 's-1',
      hook_event_name: 'PreToolUse',
      tool_name: 'Bash',
      tool_input: { command: 'ls' },
      tool_use_id: 't-1',
    };
    const config = join(account.folder, 'config/agents.json');
    const words = ['hook', 'claude-code', '--config', config];
    expect(await gov(words, { input: JSON.stringify(call) })).toMatchObject({ code: 0, stdout: '{}\n' });
    expect((await account.gov(['agents', 'uninstall', '--scope', 'user'])).code).toBe(0);
    expect(await keys()).toEqual([]);
    expect([existsSync(keyFile), existsSync(config), existsSync(join(account.folder, '.claude'))]).toEqual([
      false,
      false,
      false,
    ]);
  });
});
