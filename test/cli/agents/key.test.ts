import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { Account } from '../support/account.ts';
import { gov } from '../support/tool.ts';

let service: TestService;
let tenant: Tenant;
beforeAll(async () => {
  service = await startService();
  tenant = await service.signUp('ada');
});
afterAll(() => service.end());

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
