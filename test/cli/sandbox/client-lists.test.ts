import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientLists } from '../../../src/cli/sandbox/client-lists.ts';
import { claudeCode } from '../../../src/cli/agents/setup/claude-code.ts';
import { codex } from '../../../src/cli/agents/setup/codex.ts';
import { nothing, type SandboxLists } from '../../../src/cli/agents/setup/edit.ts';
import { starters } from '../../../src/cli/policies/starters.ts';
import { createClient } from '../../../src/client/create.ts';
import { startPolicyPlane, type PolicyPlane } from '../support/policy-plane.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane();
});
afterAll(() => plane.end());

async function lists(): Promise<SandboxLists> {
  const client = createClient({ baseUrl: plane.baseUrl, apiKey: plane.key });
  try {
    return await clientLists(client, new URL(plane.baseUrl).host);
  } finally {
    client.close();
  }
}
async function activate(id: string): Promise<void> {
  plane.write(`${id}.policy`, starters.find((each) => each.id === id)?.text);
  await plane.json(`policy create ${id}.policy`);
  await plane.json(`policy publish ${id} --yes`);
}

const place = { env: {}, etc: '/etc', scope: 'managed' } as const;
const wanted = (sandbox: SandboxLists) => ({ ...nothing, node: '/n', entry: '/e', config: '/c', sandbox });

describe('lists for the sandboxes of clients', () => {
  it('are empty where no policy refuses anything, and then have those of the policies', async () => {
    expect(await lists()).toEqual({ denyRead: [], denyWrite: [], allowedDomains: null });
    await activate('no-secrets');
    await activate('guard-the-guard');
    expect(await lists()).toMatchObject({
      denyRead: expect.arrayContaining(['~/.ssh', '~/.npmrc', '/etc/shadow']),
      denyWrite: expect.arrayContaining(['~/.bashrc', '~/.claude', '~/.codex', '~/.gitconfig']),
      allowedDomains: null,
    });
    await activate('only-these-hosts');
    expect((await lists()).allowedDomains).toEqual(
      expect.arrayContaining(['github.com', '*.github.com', 'registry.npmjs.org']),
    );
  });

  it('become settings of an administrator, which uninstall takes back', () => {
    const sandbox = { denyRead: ['~/.ssh'], denyWrite: ['~/.bashrc'], allowedDomains: ['github.com'] };
    const [edit] = claudeCode.edits(place, wanted(sandbox));
    const text = edit?.add('{"model":"x"}\n', null) ?? '';
    expect(JSON.parse(text).sandbox).toEqual({
      enabled: true,
      failIfUnavailable: true,
      allowUnsandboxedCommands: false,
      autoAllowBashIfSandboxed: false,
      filesystem: { denyRead: ['~/.ssh'], denyWrite: ['~/.bashrc'] },
      network: { allowManagedDomainsOnly: true, allowedDomains: ['github.com'] },
    });
    const [remover] = claudeCode.edits(place, nothing);
    expect(JSON.parse(remover?.remove(text, '{"model":"x"}\n') ?? '')).not.toHaveProperty('sandbox');
    const [open] = claudeCode.edits(place, wanted({ ...sandbox, allowedDomains: null }));
    expect(JSON.parse(open?.add(null, null) ?? '').sandbox).not.toHaveProperty('network');
  });

  it("are not mixed with an administrator's own", () => {
    const [edit] = claudeCode.edits(place, wanted({ denyRead: [], denyWrite: [], allowedDomains: null }));
    expect(() => edit?.add('{"sandbox":{"enabled":false}}', null)).toThrow(
      'expected no sandbox in the settings',
    );
  });

  it('take the mode without a sandbox from Codex, unless an administrator chose modes', () => {
    const [edit] = codex.edits(place, wanted({ denyRead: [], denyWrite: [], allowedDomains: null }));
    expect(edit?.add(null, null)).toContain('allowed_sandbox_modes = ["read-only", "workspace-write"]');
    expect(
      edit?.add('allowed_sandbox_modes = ["read-only"]\n', null).match(/allowed_sandbox_modes/g),
    ).toHaveLength(1);
    const [none] = codex.edits(place, { ...nothing, node: '/n', entry: '/e', config: '/c' });
    expect(none?.add(null, null)).not.toContain('allowed_sandbox_modes');
  });

  it('need the scope of an administrator', async () => {
    const { code, stderr } = await plane.gov('agents install claude-code --scope user --sandbox --dry-run');
    expect([code, stderr]).toEqual([2, expect.stringContaining('expected --sandbox with --scope managed')]);
  });
});
